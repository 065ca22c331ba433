# SPDX-License-Identifier: Apache-2.0
"""What the summary of a session says, against what a case allows."""
import fnmatch
import re

from programs import check, equal

# A kernel that a probe asked for is instrumented, or its state has a reason that says why not.
DEFAULT = {"*": ["instrumented", "refused", "not_matched"]}


def tell(summary, found, label="", errors=""):
    """Lines for the report: what became of each kernel that ran."""
    for kernel in (summary or {}).get("kernels", []):
        text = f"{label + ' ' if label else ''}{kernel['name']}: {kernel['state']}, "
        text += f"{kernel['launches_instrumented']} of {kernel['launches']} launches"
        if kernel.get("reason") or reason_for_originals(kernel, errors):
            text += f" ({kernel.get('reason') or reason_for_originals(kernel, errors)})"
        found.setdefault("says", []).append(text)


def short(kernel):
    return kernel["name"].split("(")[0]


def reason_for_originals(kernel, errors):
    """Why launches of an instrumented kernel ran the original, as egpu said at the end; "" if it did not."""
    said = re.search(r"totals of " + re.escape(kernel["name"]) + r" are at least: [^\n]*\((.*)\)", errors)
    return said.group(1) if said else ""


def check_states(case, summary, errors=""):
    for pattern, allowed in case.get("kernels", DEFAULT).items():
        matching = [kernel for kernel in summary["kernels"]
                    if fnmatch.fnmatch(short(kernel), pattern.replace("[", "[[]")) and kernel["launches"]]
        check(matching, f"no kernel {pattern} was launched")
        words = allowed if isinstance(allowed, list) else [allowed["state"]]
        for kernel in matching:
            reason = kernel.get("reason") or ""
            check(kernel["state"] in words, f"{short(kernel)} is {kernel['state']} ({reason}), allowed: {', '.join(words)}")
            if kernel["state"] == "instrumented":
                missed = kernel["launches"] - kernel["launches_instrumented"]
                # Where a case does not insist, originals are right if egpu says why they ran.
                if missed and case.get("whole", "kernels" in case):
                    equal(kernel["launches_instrumented"], kernel["launches"], f"instrumented launches of {short(kernel)} "
                          f"({reason or reason_for_originals(kernel, errors)})")
                check(not missed or reason or reason_for_originals(kernel, errors),
                      f"{missed} launches of {short(kernel)} ran the original, and nothing says why")
            else:
                check(reason, f"{short(kernel)} is {kernel['state']} without a reason")
            if isinstance(allowed, dict) and "reason" in allowed:
                check(re.search(allowed["reason"], reason), f"{short(kernel)}: the reason is {reason!r}, not /{allowed['reason']}/")


def check_constants(case, summary, found):
    """Whether any launch, or none, read constants from a bank of its copy's own, where the case says so."""
    for kernel in summary["kernels"]:
        banked = kernel["launches_constants_in_bank"]
        if banked:
            found.setdefault("says", []).append(f"{short(kernel)}: {banked} launches read constants from the copy's own bank")
        if "constants_in_bank" in case and kernel["launches"]:
            check((banked != 0) == case["constants_in_bank"], f"{banked} launches of {short(kernel)} read a bank of constants")


def counted(summary, field="accesses"):
    """{(kernel, space, access): value} of the bandwidth probe; without zeroes."""
    names = {kernel["id"]: short(kernel) for kernel in summary["kernels"]}
    found = {}
    for metric in summary["metrics"]:
        if metric["name"] == f"bandwidth.{field}" and metric["value"]:
            key = (names[metric["kernel"]], metric["space"], metric["access"])
            found[key] = found.get(key, 0) + metric["value"]
    return found


def whole(summary):
    """Kernels of which each launch was instrumented: what their counts say is exact."""
    return {short(kernel) for kernel in summary["kernels"]
            if kernel["state"] == "instrumented" and kernel["launches_instrumented"] == kernel["launches"] > 0}


def check_accesses(summary, expected, found):
    """What a program says of itself, for the kernels that were instrumented."""
    seen = counted(summary)
    exact = whole(summary)
    compared = 0
    for (kernel, space, access), count in expected.items():
        if kernel in exact:
            equal(seen.get((kernel, space, access), 0), count, f"{space} {access} accesses of {kernel}")
            compared += 1
    if expected:
        found.setdefault("says", []).append(f"{compared} of {len(expected)} counts compared, equal")


def check_closed_form(summary, expected):
    """All accesses and bytes of an egpu-workload, and nothing else."""
    accesses, sizes, launches = {}, {}, {}
    for kernel in expected["kernels"]:
        launches[kernel["mangled"]] = kernel["launches"]
        for one in kernel["accesses"]:
            if one["accesses"]:
                accesses[kernel["name"], one["space"], one["access"]] = one["accesses"]
                sizes[kernel["name"], one["space"], one["access"]] = one["bytes"]
    equal(counted(summary), accesses, "accesses")
    equal(counted(summary, "requested_bytes"), sizes, "requested bytes")
    equal({kernel["mangled"]: kernel["launches"] for kernel in summary["kernels"] if kernel["launches"]}, launches, "launches")


def check_followed(case, summary, found):
    """Where kernel-times ran: every instrumented launch was followed from its first thread to its last, and took time."""
    if "kernel-times" not in case.get("egpu", []):
        return
    values = {}
    for metric in summary["metrics"]:
        if metric["name"] in ("kernel-times.launches", "kernel-times.kernel_time"):
            values.setdefault(metric["kernel"], {})[metric["name"].split(".")[1]] = metric["value"] or 0
    check(values, "kernel-times has a value")
    for kernel in summary["kernels"]:
        if not kernel["launches_instrumented"]:
            continue
        of_kernel = values.get(kernel["id"], {"launches": 0, "kernel_time": 0})
        equal(of_kernel["launches"], kernel["launches_instrumented"], f"launches of {short(kernel)} followed to their end")
        mean = of_kernel["kernel_time"] / of_kernel["launches"]
        check(0 < mean < 60e9, f"{short(kernel)} takes {mean} ns a launch")
        found.setdefault("says", []).append(f"{short(kernel)}: {mean / 1000:.2f} us a launch from first entry to last exit")
    equal(summary["launches_not_followed"], 0, "launches that were not followed")
