# SPDX-License-Identifier: Apache-2.0
"""The forms of a case: what is run and what must hold. A form is a function of the case, the places and the findings
that the report shows; it raises AssertionError or Skip."""
import json
import os
import shutil
import subprocess
import sys

import copies
import faults
import launches
import live
import overhead
import records
import repeated
import states
from places import ROOT
from programs import Skip, build, check, equal, observe, run


def programs_of(case):
    """(source, cudart, nvcc options) of a case, or nothing where it runs an installed program."""
    if "program" not in case:
        return []
    runtimes = case.get("cudart", ["static"])
    return [(case["program"], runtime, case.get("nvcc")) for runtime in runtimes]


def commands(case, places):
    """(what to add to the name, command) for each program of the case."""
    arguments = [str(word) for word in case.get("quick_arguments" if places.quick else "arguments", case.get("arguments", []))]
    if "workload" in case:
        return [("", [places.workload] + case["workload"])]
    if "ending" in case:
        if places.endings is None:
            raise Skip("egpu-endings is not here: it is built, not installed")
        return [("", [places.endings, case["ending"]])]
    found = []
    for source, runtime, options in programs_of(case):
        # The simulated GPU is reached by programs with a shared runtime only.
        if places.simulated and runtime == "static" and "cudart" in case:
            continue
        runtime = "shared" if places.simulated else runtime
        found.append((runtime, [build(source, runtime, options, places)] + arguments))
    return found


def egpu_options(case):
    return case.get("egpu", ["-p", "bandwidth"])


def alike(alone, observed):
    """The application's output and end are the same with egpu as without."""
    equal(observed.output, alone.output, "stdout under egpu")
    wanted = 128 - alone.code if alone.code < 0 else alone.code
    equal(observed.code, wanted, f"exit code under egpu ({observed.errors[-1500:]})")
    equal(observed.without_egpu(), alone.without_egpu(), "stderr of the application under egpu")


def observe_form(case, places, found):
    """Plain and under egpu: same output, right result, kernels in the states that the case allows, exact counts."""
    limit = case.get("time_limit", 60)
    for label, command in commands(case, places):
        alone = run(command, limit, places.plain_environment())
        check(alone.code == case.get("exit_code", 0), f"without egpu: exit code {alone.code}: {alone.output[-300:]}{alone.errors[-800:]}")
        observed, summary = observe(places, command, egpu_options(case), limit, places.environment(**case.get("environment", {})))
        states.tell(summary, found, label, observed.errors)
        if "wrong" in case:
            found.setdefault("says", []).append(observed.errors[-300:])
        alike(alone, observed)
        check(summary is not None, f"a summary was written ({observed.errors[-800:]})")
        states.check_states(case, summary, observed.errors)
        states.check_constants(case, summary, found)
        states.check_followed(case, summary, found)
        if "workload" in case:
            expected = json.loads(run([places.workload, "--expected"] + case["workload"], 30).output)
            states.check_closed_form(summary, expected)
        states.check_accesses(summary, alone.expected_accesses(), found)


def says_form(case, places, found):
    """egpu must end with an exit code and say a text."""
    for _, command in commands(case, places):
        observed, _ = observe(places, command, egpu_options(case), case.get("time_limit", 60))
        equal(observed.code, case["exit_code"], "exit code")
        check(case["says"] in observed.errors, f"it says {case['says']!r}: {observed.errors}")
        found.setdefault("says", []).append(observed.errors.strip()[-300:])


def program_file(case, places):
    """The case's eBPF programs as an object: an egpu may be tested where no clang is."""
    source = case["programs"]
    name = f"gpu-{os.path.basename(source).removesuffix('.c')}.o"
    made = os.path.join(places.programs, name)
    if places.prebuilt:
        if not os.path.exists(made):
            raise Skip(f"{name} is not among the programs built before (--prebuilt)")
        return made
    clang = shutil.which("clang")
    if clang is None:
        raise Skip("needs clang")
    os.makedirs(places.programs, exist_ok=True)
    include = os.path.join(ROOT, "core", "include")
    done = subprocess.run([clang, "-target", "bpf", "-g", "-O2", "-I" + include, "-c", os.path.join(ROOT, source), "-o", made],
                          capture_output=True, text=True, check=False, timeout=120)
    check(done.returncode == 0, f"clang fails: {done.stderr}")
    return made


def metrics_of(summary, probe):
    """{(kernel or "", name, other labels): value} of the case's own programs."""
    names = {kernel["id"]: states.short(kernel) for kernel in summary["kernels"]}
    found = {}
    for metric in summary["metrics"]:
        if metric["name"].split(".")[0] != probe:
            continue
        labels = tuple(sorted((label, str(value)) for label, value in metric.items()
                              if label not in ("name", "value", "kernel", "unit")))
        found[names.get(metric.get("kernel"), ""), metric["name"], labels] = metric["value"]
    return found


def both_form(case, places, found):
    """The same programs in the same kernels on this GPU and on the simulated one: right results, the same counts."""
    made = program_file(case, places)
    counts = []
    for simulated in (False, True) if not places.simulated else (True, True):
        for _, command in commands(case, places):
            options = (["--simulated"] if simulated and not places.simulated else []) + ["-p", made] + case.get("egpu", [])
            observed, summary = observe(places, command, options, case.get("time_limit", 60))
            equal(observed.code, 0, f"exit code ({observed.errors[-1500:]})")
            states.tell(summary, found, "simulated" if simulated else "", observed.errors)
            states.check_states(case, summary, observed.errors)
            counts.append(metrics_of(summary, os.path.basename(made).split(".")[0]))
    found.setdefault("says", []).append(f"{len(counts[0])} counts, together {sum(counts[0].values())}")
    check(len(counts[0]) >= case["counts"], f"{len(counts[0])} counts, expected at least {case['counts']}: {counts[0]}")
    differ = {row: (counts[0].get(row), counts[1].get(row))
              for row in counts[0].keys() | counts[1].keys() if counts[0].get(row) != counts[1].get(row)}
    check(not differ, f"{len(differ)} counts differ, on this GPU and on the simulated one: {dict(list(differ.items())[:10])}")


FORMS = {
    "observe": observe_form,
    "both": both_form,
    "records": lambda case, places, found: records.records_form(case, places, found, commands(case, places),
                                                               program_file(case, places), metrics_of),
    "says": says_form,
    "live": lambda case, places, found: live.live_form(case, places, found, commands(case, places)),
    "unchanged": lambda case, places, found: launches.unchanged_form(case, places, found, program_file(case, places), alike),
    "copies": lambda case, places, found: copies.copies_form(case, places, found, commands(case, places),
                                                            program_file(case, places), metrics_of, alike),
    "faults": lambda case, places, found: faults.faults_form(case, places, found, commands(case, places)),
    "repeated": lambda case, places, found: repeated.repeated_form(case, places, found, commands(case, places)),
    "overhead": lambda case, places, found: overhead.overhead_form(case, places, found, commands(case, places), alike),
    "reload": lambda case, places, found: repeated.reload_form(case, places, found, commands(case, places)),
}


def build_all(cases, places):
    """Builds every program of the cases: for a machine without nvcc, or to spend no time on it there."""
    failed = 0
    for case in cases:
        if "programs" in case:
            try:
                print(program_file(case, places), flush=True)
            except (Skip, AssertionError) as problem:
                failed += 1
                print(f"{case['programs']}: {problem}", file=sys.stderr)
        for source, runtime, options in programs_of(case):
            if places.simulated and "simulated" in case:
                continue
            runtime = "shared" if places.simulated else runtime
            try:
                print(build(source, runtime, options, places), flush=True)
            except (Skip, AssertionError) as problem:
                failed += 1
                print(f"{source}: {problem}", file=sys.stderr)
    return 1 if failed else 0
