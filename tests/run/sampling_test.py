#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Probes in one thread block or warp in N: which these are is worked out here from the rule in configs/README.md."""
import json
import os
import subprocess
import tempfile

from harness import EGPU, WORKLOAD, case, check, equal, finish, observed, plain
from live_session import Run

BLOCK, ELEMENTS, LAUNCHES = 128, 10000, 3
VECADD = [WORKLOAD, "vecadd", "--elements", str(ELEMENTS), "--launches", str(LAUNCHES), "--block", str(BLOCK)]
MASK = 0xFFFFFFFF


def chosen(index, one_in):
    mixed = index * 0x6A09E667 & MASK
    mixed ^= mixed >> 15
    mixed = mixed * 0xBB67AE85 & MASK
    return mixed * one_in >> 32 == 0


def elements_of(unit, one_in):
    """Elements that are added by threads of chosen blocks or warps."""
    size = BLOCK if unit == "blocks" else 32
    return sum(1 for element in range(ELEMENTS) if chosen(element // size, one_in))


def warps_of(one_in):
    return sum(1 for warp in range((ELEMENTS + 31) // 32) if chosen(warp, one_in))


def values(summary, name):
    return [metric for metric in summary["metrics"] if metric["name"] == name]


def total(summary, name):
    return sum(metric["value"] for metric in values(summary, name))


def write_set(folder, text):
    path = os.path.join(folder, "part.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("egpu: 1\nname: part\n" + text)
    return path


@case("blocks and warps: exactly the chosen ones count, and nothing is scaled")
def exact():
    for unit, one_in in (("blocks", 2), ("blocks", 16), ("warps", 3), ("warps", 64), ("warps", 1 << 31)):
        done, summary = observed(VECADD, options=["--sample", f"{unit}=1/{one_in}", "--strict"])
        text = done.stderr.decode()
        equal((done.returncode, done.stdout), (0, plain(VECADD).stdout), f"{unit} 1/{one_in}, " + text)
        part = elements_of(unit, one_in)
        equal(total(summary, "bandwidth.requested_bytes"), 12 * part * LAUNCHES, f"bytes of {unit} 1/{one_in}")
        equal(total(summary, "bandwidth.accesses"), 3 * part * LAUNCHES, f"accesses of {unit} 1/{one_in}")
        equal([metric["sample"] for metric in values(summary, "bandwidth.accesses")], [{unit: one_in}] * 2, "sample")
        equal(summary["probes"][0]["sample"], {unit: one_in}, "of the probe")
        check(f"counted in 1 in {one_in} {unit} only" in text, text)
        check(" read " not in text, "bytes of a part are no bytes of the kernel: " + text)
        check("two bodies" in summary["kernels"][0]["notes"][0], summary["kernels"][0]["notes"])


@case("one in one is all")
def one_in_one():
    _, plainly = observed(VECADD)
    for sample in ("warps=1/1", "blocks=all", "launches=1/1,warps=all"):
        _, summary = observed(VECADD, options=["--sample", sample])
        equal(summary["metrics"], plainly["metrics"], "metrics with " + sample)
        equal(summary["probes"][0]["sample"], None, "sample with " + sample)


@case("with launches: one in N of the launches that run a copy")
def with_launches():
    done, summary = observed(VECADD, options=["--sample", "launches=1/2,warps=1/4"])
    equal(summary["kernels"][0]["launches_instrumented"], 2, "launches 0 and 2")
    equal(total(summary, "bandwidth.requested_bytes"), 12 * elements_of("warps", 4) * 2, "bytes")
    check("counted in 1 in 4 warps only; counted in 2 of 3 launches" in done.stderr.decode(), done.stderr.decode())


@case("a set with probes that are sampled beside one that isn't")
def beside():
    with tempfile.TemporaryDirectory() as folder:
        path = write_set(folder, "probes:\n  - plugin: bandwidth\n  - plugin: kernel-times\n"
                         "  - { plugin: coalescing, sample: { warps: 1/8 } }\n  - { plugin: latency, sample: { warps: 1/8 } }\n")
        done, summary = observed(VECADD, probes=[path], options=["--strict"])
        text = done.stderr.decode()
        equal(done.returncode, 0, text)
        equal(total(summary, "bandwidth.requested_bytes"), 12 * ELEMENTS * LAUNCHES, "bytes of all")
        check(all("sample" not in metric for metric in values(summary, "bandwidth.requested_bytes")), "not sampled")
        equal(total(summary, "coalescing.requests"), 3 * warps_of(8) * LAUNCHES, "requests of chosen warps")
        equal(total(summary, "coalescing.requested_bytes"), 12 * elements_of("warps", 8) * LAUNCHES, "their bytes")
        times = values(summary, "latency.load_latency")
        equal(sum(sum(metric["values"]) for metric in times), 2 * warps_of(8) * LAUNCHES, "timed loads")
        equal(total(summary, "kernel-times.launches"), LAUNCHES, "launches seen from first to last thread")
        check("sectors: of 1 in 8 warps" in text, text)
        check("240.0 kB" in text or "read" in text, text)
        # The command line lies over the set.
        _, summary = observed(VECADD, probes=[path], options=["--sample", "warps=all"])
        equal(total(summary, "coalescing.requested_bytes"), 12 * ELEMENTS * LAUNCHES, "all")


@case("results stay: every workload, barriers and shared memory among them")
def results():
    for name in ("gather", "reduction", "histogram", "divergent", "spaces"):
        command = [WORKLOAD, name]
        for sample in ("blocks=1/3", "warps=1/3"):
            done, summary = observed(command, probes=["bandwidth", "coalescing", "latency"], options=["--sample", sample])
            equal((done.returncode, done.stdout), (0, plain(command).stdout), f"{name}, {sample}: " + done.stderr.decode())
            equal({kernel["state"] for kernel in summary["kernels"]}, {"instrumented"}, f"states of {name}")


@case("expectations: a part is at least, a rate is not known")
def expectations():
    with tempfile.TemporaryDirectory() as folder:
        for bound, passes in (("at_least: 1 kB", True), ("at_most: 1 GB", False)):
            path = write_set(folder, "probes: [{ plugin: bandwidth, sample: { warps: 1/4 } }]\nexpect:\n"
                             f"  - metric: bandwidth.requested_bytes\n    {bound}\n")
            done, summary = observed(VECADD, probes=[path])
            equal(done.returncode, 0 if passes else 3, bound + done.stderr.decode())
            equal(summary["expectations"][0]["reason"], "counted in 1 in 4 warps", "reason")
        path = write_set(folder, "probes: [{ plugin: bandwidth, sample: { warps: 1/4 } }]\nexpect:\n"
                         "  - metric: bandwidth.kernel_throughput\n    at_least: 1 B/s\n")
        done, summary = observed(VECADD, probes=[path])
        equal((done.returncode, summary["expectations"][0]["value"]), (3, None), "a rate, " + done.stderr.decode())
        check("no rate is made of that" in summary["expectations"][0]["reason"], summary["expectations"])


@case("what can't be is said before anything starts")
def refused():
    with tempfile.TemporaryDirectory() as folder:
        path = write_set(folder, "probes:\n  - { plugin: coalescing, sample: { warps: 1/8 } }\n"
                         "  - { plugin: latency, sample: { blocks: 1/8 } }\n")
        for probe, options, code in ((path, [], "EGPU-S034"), ("kernel-times", ["--sample", "warps=1/8"], "EGPU-S035")):
            line = [EGPU, "run", "-p", probe] + options + ["--", "echo", "started"]
            done = subprocess.run(line, capture_output=True, timeout=60)
            equal((done.returncode, b"started" in done.stdout), (125, False), code + done.stderr.decode())
            check(code in done.stderr.decode(), done.stderr.decode())


@case("a probe that is added follows the command line, one that comes back is as it was")
def added():
    with Run(probes=["bandwidth"], options=["--sample", "warps=1/4"]) as run:
        run.wait_for_launches(which=1)
        run.change("add", "coalescing")
        check("EGPU-S035" in run.ask("probe", "add", "kernel-times").stderr.decode(), "once a grid")
        run.wait_for_launches()
        run.change("remove", "bandwidth")
        run.change("add", "bandwidth")
        run.wait_for_launches()
        dump = run.ask("map", "dump", "bandwidth/traffic").stdout.decode()
        check("counted in 1 in 4 warps only" in dump, dump)
        _, summary = run.stop()
    equal({probe["probe"]: probe["sample"] for probe in summary["probes"]},
          {"bandwidth": {"warps": 4}, "coalescing": {"warps": 4}}, "samples")


@case("a recording says of what its numbers are")
def recorded():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "part.egpu")
        observed(VECADD, options=["--sample", "blocks=1/4", "--record", path])
        dump = subprocess.run([EGPU, "session", "info", "-j", path], capture_output=True, timeout=60)
        equal(dump.returncode, 0, dump.stderr.decode())
        equal([probe["sample"] for probe in json.loads(dump.stdout)["probes"]], [{"blocks": 4}], "sample")
        equal(json.loads(dump.stdout)["read_bytes"], None, "bytes of a part are no bytes of the kernels")


finish()
