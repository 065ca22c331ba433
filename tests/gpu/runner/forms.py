# SPDX-License-Identifier: Apache-2.0
"""The forms of a case: what is run and what must hold. A form is a function of the case, the places and the findings
that the report shows; it raises AssertionError or Skip."""
import json
import os
import sys

import faults
import live
import overhead
import repeated
import states
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


FORMS = {
    "observe": observe_form,
    "says": says_form,
    "live": lambda case, places, found: live.live_form(case, places, found, commands(case, places)),
    "faults": lambda case, places, found: faults.faults_form(case, places, found, commands(case, places)),
    "repeated": lambda case, places, found: repeated.repeated_form(case, places, found, commands(case, places)),
    "overhead": lambda case, places, found: overhead.overhead_form(case, places, found, commands(case, places), alike),
    "reload": lambda case, places, found: repeated.reload_form(case, places, found, commands(case, places)),
}


def build_all(cases, places):
    """Builds every program of the cases: for a machine without nvcc, or to spend no time on it there."""
    failed = 0
    for case in cases:
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
