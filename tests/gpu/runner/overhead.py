# SPDX-License-Identifier: Apache-2.0
"""egpu run --overhead: the application's result is right, each launch is counted once, and there is a ratio with its
interval, or why there is none. How large it is never decides: a time is no test's pass mark."""
import json

import states
from programs import check, equal, observe, run

NO_TIME = "the simulated GPU knows no time"
FEWEST_PAIRS = 5


def check_launches(kernel, simulated, whole):
    """Timed pairs are half originals; `whole`: no launch may have run the original for another reason."""
    name = states.short(kernel)
    launches, copies, originals = (kernel[key] for key in ("launches", "launches_instrumented", "launches_left_out"))
    if kernel["state"] != "instrumented":
        return
    check(copies + originals <= launches, f"{name}: {copies} + {originals} of {launches} launches")
    if whole:
        equal(copies + originals, launches, f"copies and compared originals of {name}")
    if simulated:
        equal(originals, 0, f"originals of {name} on a device that knows no time")
        return
    pairs = (kernel["overhead"] or {"pairs": 0})["pairs"]
    check(pairs <= originals and pairs <= copies, f"{name}: {pairs} pairs of {copies} copies and {originals} originals")


def check_figures(kernel, simulated, found):
    """A ratio inside its interval, or none and the reason."""
    name, overhead = states.short(kernel), kernel["overhead"]
    if not kernel["launches_instrumented"]:
        equal(overhead, None, f"overhead of {name}, which ran no copy")
        return 0
    figures = [overhead[key] for key in ("ratio", "ratio_low", "ratio_high", "original_ns", "instrumented_ns")]
    if simulated:
        equal((figures, overhead["reason"]), ([None] * 5, NO_TIME), f"overhead of {name}")
        return 0
    if overhead["pairs"] < FEWEST_PAIRS:
        equal(figures, [None] * 5, f"figures of {name} from {overhead['pairs']} pairs")
        check(overhead["reason"], f"{name} has no figures, and nothing says why")
        found["says"].append(f"{name}: n/a: {overhead['reason']}")
        return overhead["pairs"]
    equal(overhead["reason"], None, f"reason of {name}, which has figures")
    check(0 < overhead["ratio_low"] <= overhead["ratio"] <= overhead["ratio_high"], f"{name}: {overhead}")
    check(overhead["original_ns"] > 0 and overhead["instrumented_ns"] > 0, f"{name}: {overhead}")
    found["says"].append(f"{name}: {overhead['ratio']:.4f} ({overhead['ratio_low']:.4f} to {overhead['ratio_high']:.4f}), "
                         f"{overhead['pairs']} pairs, {overhead['original_ns'] / 1e3:.2f} us -> {overhead['instrumented_ns'] / 1e3:.2f} us")
    return overhead["pairs"]


def check_shares(summary, workload, places):
    """Each launch of a workload's kernel does the same, so what was counted is that of the launches that ran the copy."""
    seen = states.counted(summary)
    covered = {kernel["mangled"]: kernel["launches_instrumented"] for kernel in summary["kernels"]}
    for kernel in json.loads(run([places.workload, "--expected"] + workload, 30).output)["kernels"]:
        for one in kernel["accesses"]:
            equal(seen.get((kernel["name"], one["space"], one["access"]), 0) * kernel["launches"],
                  one["accesses"] * covered[kernel["mangled"]],
                  f"{one['space']} {one['access']} accesses of {kernel['name']} by {covered[kernel['mangled']]} of {kernel['launches']} launches")


def overhead_form(case, places, found, commands, alike):
    found.setdefault("says", [])
    limit = case.get("time_limit", 60)
    for label, command in commands:
        workload = case.get("workload")
        if places.simulated and "simulated_workload" in case:
            workload = case["simulated_workload"]
            command = [places.workload] + workload
        alone = run(command, limit, places.plain_environment())
        equal(alone.code, 0, f"exit code without egpu ({alone.errors[-500:]})")
        observed, summary = observe(places, command, case.get("egpu", ["-p", "bandwidth"]) + ["--overhead"], limit)
        states.tell(summary, found, label, observed.errors)
        alike(alone, observed)
        check(summary is not None, f"a summary was written ({observed.errors[-800:]})")
        launched = [kernel for kernel in summary["kernels"] if kernel["launches"]]
        check(launched, "kernels were launched")
        for kernel in launched:
            check_launches(kernel, places.simulated, workload is not None)
        pairs = sum(check_figures(kernel, places.simulated, found) for kernel in launched)
        if places.simulated:
            check(f"overhead: n/a: {NO_TIME}" in observed.errors, f"it says that there is no time: {observed.errors}")
        else:
            check("egpu: overhead: " in observed.errors, f"it says the overhead: {observed.errors}")
            check(pairs >= case.get("pairs", 0), f"{pairs} pairs, at least {case.get('pairs')} expected")
            check(not case.get("few") or "n/a: " in observed.errors, f"it says that the launches are too few: {observed.errors}")
        check(summary["application"]["waited"]["total_ns"] >= summary["application"]["waited"]["longest_ns"], "waits add up")
        if workload is not None:
            check_shares(summary, workload, places)
