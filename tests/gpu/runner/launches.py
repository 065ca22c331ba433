# SPDX-License-Identifier: Apache-2.0
"""Kernels that others wrote, launched by a table (tests/data/counts/*.launches), with a program at every event."""
import os

import states
from places import ROOT
from programs import Skip, check, equal, observe, run


def command_of(case, places):
    if places.launches is None:
        raise Skip("egpu-launches is not here: it is built, not installed")
    if "corpus" not in case:
        folder = os.path.join(ROOT, "tests", "data", "ptx", "inject", "run")
    elif places.corpus is None:
        raise Skip("needs the PTX corpus (--corpus FOLDER, with sm_90 and sm_90a in it)")
    else:
        folder = os.path.join(places.corpus, case["corpus"])
        if not os.path.exists(os.path.join(folder, case["launches"] + ".ptx")):
            raise Skip(f"the PTX corpus has no {case['corpus']}/{case['launches']}.ptx")
    table = os.path.join(ROOT, "tests", "data", "counts", case["table"] + ".launches")
    return [places.launches, table, folder, case["launches"]]


def unchanged_form(case, places, found, made, alike):
    """Every launch leaves the same bits with programs at every event as without, and each launch was instrumented or its
    kernel refused as the case says. What differs between two runs without egpu shows nothing and fails the case."""
    command = command_of(case, places)
    limit = case.get("time_limit", 100)
    alone, again = (run(command, limit, places.plain_environment()) for _ in range(2))
    equal(alone.code, 0, f"exit code without egpu ({alone.output[-300:]}{alone.errors[-800:]})")
    equal(again.output, alone.output, "a second run without egpu")
    observed, summary = observe(places, command, ["-p", made] + case.get("egpu", []), limit)
    states.tell(summary, found, errors=observed.errors)
    alike(alone, observed)
    launched = [line for line in alone.output.splitlines() if ": buffers " in line or ": not compared: " in line]
    found.setdefault("says", []).append(f"{len(launched)} launches, {sum(': buffers ' in line for line in launched)} compared")
    if not launched:
        raise Skip(alone.output.strip().splitlines()[-1])
    states.check_states(dict(case, whole=True), summary, observed.errors)
    counts = sum(metric["value"] or 0 for metric in summary["metrics"])
    found["says"].append(f"{counts} events counted")
    if any(kernel["state"] == "instrumented" for kernel in summary["kernels"]):
        check(counts > 0, "programs ran in no kernel")
