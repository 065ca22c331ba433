#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bytes and accesses of every workload equal its closed form exactly; sectors of the gathers are 4.0 and 32.0."""
import json
import os
import subprocess

from harness import WORKLOAD, case, check, equal, finish, observed

RUNS = [
    ["gather"], ["gather", "--elements", "4096", "--launches", "3"],
    ["vecadd", "--elements", "100000"], ["vecadd", "--elements", "1", "--launches", "1"],
    ["vecadd", "--elements", "1024", "--block", "128"],
    ["reduction", "--elements", "65536"], ["histogram", "--elements", "65536"],
    ["divergent", "--elements", "8192"], ["loop", "--launches", "200"], ["spaces", "--elements", "4096"],
    ["threads", "--launches", "5"], ["contexts", "--launches", "5"],
]


def counted(summary, field):
    """{(kernel, space, access): value} of one field, zeroes left out."""
    names = {kernel["id"]: kernel["mangled"] for kernel in summary["kernels"]}
    found = {}
    for metric in summary["metrics"]:
        if metric["name"] == f"bandwidth.{field}" and metric["value"] != 0:
            found[names[metric["kernel"]], metric["space"], metric["access"]] = metric["value"]
    return found


def expected(arguments):
    text = subprocess.run([WORKLOAD, "--expected"] + arguments, capture_output=True, check=True).stdout
    return json.loads(text)


def compare(arguments, **more):
    done, summary = observed([WORKLOAD] + arguments, options=["--strict"], **more)
    equal(done.returncode, 0, "exit code of " + done.stderr.decode())
    wanted = expected(arguments)
    accesses, sizes, launches = {}, {}, {}
    for kernel in wanted["kernels"]:
        launches[kernel["mangled"]] = kernel["launches"]
        for entry in kernel["accesses"]:
            if entry["accesses"]:
                accesses[kernel["mangled"], entry["space"], entry["access"]] = entry["accesses"]
                sizes[kernel["mangled"], entry["space"], entry["access"]] = entry["bytes"]
    equal(counted(summary, "accesses"), accesses, "accesses")
    equal(counted(summary, "requested_bytes"), sizes, "requested bytes")
    equal({k["mangled"]: k["launches"] for k in summary["kernels"] if k["launches"]}, launches, "launches")
    for kernel in summary["kernels"]:
        equal(kernel["launches_instrumented"], kernel["launches"], f"instrumented launches of {kernel['name']}")
    return summary


for run in RUNS:
    case("counts " + " ".join(run))(lambda run=run: compare(run))


def constants(form):
    # The workload has other constants for each launch and looks at each result.
    summary = compare(["spaces", "--elements", "1024", "--launches", "6"], env=dict(os.environ, EGPU_CONSTANTS=form))
    (kernel,) = summary["kernels"]
    equal(kernel["launches_constants_in_bank"], 6 if form == "bank" else 0, "launches that read a bank of constants")
    equal(any(note.startswith("constants in the constant bank (256 bytes") for note in kernel["notes"]), form == "bank",
          f"the note in {kernel['notes']}")


for each in ("bank", "address"):
    case(f"constants updated between launches: {each}")(lambda each=each: constants(each))


@case("sectors of the gathers")
def sectors():
    done, summary = observed([WORKLOAD, "gather", "--elements", "65536"], probes=["coalescing"])
    equal(done.returncode, 0, "exit code")
    names = {kernel["id"]: kernel["name"] for kernel in summary["kernels"]}
    loads = {}
    for metric in summary["metrics"]:
        if metric.get("opcode", "").startswith("ld"):
            loads.setdefault(names[metric["kernel"]], {})[metric["name"]] = metric["value"]
    for name, wanted in (("gather_sequential", 4.0), ("gather_strided", 32.0)):
        check(name in loads, f"no loads of {name}")
        equal(loads[name]["coalescing.sectors"] / loads[name]["coalescing.requests"], wanted, f"sectors per load of {name}")
    equal([finding["kernel"] for finding in summary["findings"]],
          [key for key, name in names.items() if name == "gather_strided"], "kernels with findings")
    check(summary["findings"][0]["line"].startswith("gather.cu:"), "the finding names the source line")


@case("latency is measured in simulated cycles")
def latency():
    done, summary = observed([WORKLOAD, "vecadd", "--elements", "4096"], probes=["latency"])
    equal(done.returncode, 0, "exit code")
    histograms = [metric for metric in summary["metrics"] if metric["name"] == "latency.load_latency"]
    equal(len(histograms), 2, "histograms (two loads)")
    for histogram in histograms:
        equal(sum(histogram["values"]), 2 * 4096 // 32, "timed loads: warps x launches")
        equal(histogram["values"][0], 0, "loads that took no time")


def launch_times(arguments):
    done, summary = observed([WORKLOAD] + arguments, probes=["kernel-times"], options=["--strict"])
    equal(done.returncode, 0, "exit code of " + done.stderr.decode())
    launched = {kernel["id"]: kernel["launches"] for kernel in summary["kernels"] if kernel["launches"]}
    check(launched, "kernels were launched")
    values = {}
    for metric in summary["metrics"]:
        values.setdefault(metric["name"], {})[metric["kernel"]] = metric.get("value", sum(metric.get("values", [])))
    equal(values["kernel-times.launches"], launched, "launches that were followed to their end")
    equal(values["kernel-times.kernel_time"].keys(), launched.keys(), "kernels")
    check(all(time > 0 for time in values["kernel-times.kernel_time"].values()), "launches take time")
    equal(summary["launches_not_followed"], 0, "launches that were not followed")


for run in RUNS:
    case("launches are followed to their end: " + " ".join(run))(lambda run=run: launch_times(run))


@case("three probes at once count what each counts alone")
def together():
    arguments = [WORKLOAD, "reduction", "--elements", "32768"]
    _, all_three = observed(arguments, probes=["bandwidth", "coalescing", "latency"])

    def values(summary, probe):
        return sorted((m["name"], m.get("space", ""), m.get("access", ""), m.get("line", "") or "", m.get("opcode", ""), m["value"])
                      for m in summary["metrics"] if m["name"].startswith(probe) and "value" in m)

    for probe in ("bandwidth", "coalescing"):
        _, alone = observed(arguments, probes=[probe])
        equal(values(all_three, probe), values(alone, probe), probe)


finish()
