# SPDX-License-Identifier: Apache-2.0
"""Whether machine code measures what load_return means: the clock, the load, something that waits for its value, the clock.

In PTX (core/inject/rewrite/load_return.cpp) there are two clock reads before a load, of which a predicate of the address
takes one, and two behind it, of which a predicate of the value takes one; ptxas makes of each two that are both executed and
a selection. A load whose address is in no register has one before it. Instructions are issued in order, so what decides is
where the clock reads stand, and that between the load and the third of them an instruction needs the value."""
import re

# In the PTX of a copy.
SITE_END = re.compile(r"^\s*@%egpu_site_here mov\.u64 %egpu_site_end, %clock64;", re.M)
SITE_START_ALONE = re.compile(r"^\s*mov\.u64 %egpu_site_start, %clock64;", re.M)
OWN_CLOCK = re.compile(r"^(?!.*%egpu_site_)[^/\n]*%clock64", re.M)
# Loads of a fragment are several in machine code, of which one is waited for.
SEVERAL_LOADS = re.compile(r"\bwmma\.load\b")
LOAD = re.compile(r"^\s*(?:@!?[%\w$]+\s+)?(ldu?(?:\.[\w:]+)+)\s", re.M)
NOT_GLOBAL = {"param", "const", "shared", "local"}
MEMORY = ("LDG", "LD", "LDS", "LDL", "LDSM", "ATOM", "ATOMG", "ATOMS", "TEX", "TLD", "TLD4", "SULD", "LDGMC", "SHFL")


def facts_of(copy):
    """What the PTX of a copy says of its sites."""
    sites = len(SITE_END.findall(copy))
    loads = sum(not NOT_GLOBAL & set(re.split("[.:]", opcode)) for opcode in LOAD.findall(copy))
    return {"sites": sites, "other_loads": max(loads - sites, 0), "without_register": len(SITE_START_ALONE.findall(copy)),
            "own_clocks": len(OWN_CLOCK.findall(copy)), "several_loads": bool(SEVERAL_LOADS.search(copy))}


class Site:
    """A verdict ("right", "wrong", "removed", "not judged") on the code from the first clock read to the last, and why.
    `older`: what was begun before the first clock and is waited for between the clocks all the same."""

    def __init__(self, code, begin, end, verdict, reason="", older=()):
        self.code, self.begin, self.end, self.verdict, self.reason, self.older = code, begin, end, verdict, reason, older

    def lines(self):
        return [str(one) for one in self.code[max(self.begin - 4, 0):self.end + 3]]


def clocks_of_site(code, clocks, at, facts):
    """How many of the clock reads from number `at` on are of one site (4 or 3); 0: the program's own."""
    def loads_behind(number):
        return at + number + 1 < len(clocks) and any(
            one.is_global_load() for one in code[clocks[at + number]:clocks[at + number + 1]])

    def together(count):
        return at + count <= len(clocks) and not any(
            one.leaves_block() for one in code[clocks[at]:clocks[at + count - 1]])
    if together(4) and loads_behind(1):
        return 4
    if facts["without_register"] and together(3) and loads_behind(0):
        return 3
    # A site whose load ptxas has taken out, or code that is not as expected: judged where no other clock reads are about.
    return 0 if facts["own_clocks"] else min(4, len(clocks) - at)


def waits_for(code, load, end):
    """Why nothing between the load and the clock read at `end` waits for its value; "" where something does."""
    written = code[load].destinations()
    if not written:
        return f"the load's destination can't be read: {code[load].text}"
    behind = range(load + 1, end)
    if not any(code[at].reads() & written for at in behind):
        return "nothing reads the load's value before the second clock read"
    if code[load].sets is None:
        return ""
    if code[load].sets > 5:
        return "the load sets no scoreboard"
    if not any(code[at].waits >> code[load].sets & 1 for at in range(load + 1, end + 1)):
        return "nothing waits for the load's scoreboard before the second clock read"
    return ""


def waits_for_older(code, begin, end):
    """Instructions that set a scoreboard before the clock read at `begin` and are waited for up to that at `end`."""
    found = []
    for at in range(begin + 1, end + 1):
        for board in range(6):
            if not (code[at].waits or 0) >> board & 1:
                continue
            setter = next((back for back in range(at - 1, -1, -1)
                           if board in (code[back].sets, code[back].sets_when_read)), None)
            if setter is not None and setter < begin:
                found.append(code[setter])
    return found


def judge_site(code, clocks, facts):
    """`clocks`: places of the clock reads of one site."""
    begin, end = clocks[0], clocks[-1]
    if len(clocks) < 3:
        return Site(code, begin, end, "not judged", f"{len(clocks)} clock reads are left over")
    inside = code[begin + 1:end + 1]
    if any(one.leaves_block() or one.is_target for one in inside):
        return Site(code, begin, end, "not judged", "a branch leads into or out of the site")
    started, stopped = clocks[len(clocks) - 3], clocks[-2]
    loads = [at for at in range(started, stopped) if code[at].is_global_load()]
    if not loads:
        return Site(code, begin, end, "removed", "no load between the clock reads")
    reasons = [waits_for(code, load, stopped) for load in loads]
    bad = [reason for reason in reasons if reason]
    if len(bad) == len(loads) or (bad and not facts["several_loads"]):
        return Site(code, begin, end, "wrong", bad[0])
    return Site(code, begin, end, "right", older=waits_for_older(code, started, stopped))


def judge(functions, facts):
    """The sites of a copy, in all its functions."""
    sites, untimed = [], 0
    for code in functions.values():
        clocks = [at for at, one in enumerate(code) if one.is_clock()]
        at, timed = 0, set()
        while at < len(clocks):
            count = clocks_of_site(code, clocks, at, facts)
            if count:
                site = judge_site(code, clocks[at:at + count], facts)
                timed.update(range(site.begin, site.end))
                sites.append(site)
            at += count or 1
        untimed += sum(one.is_global_load() for place, one in enumerate(code) if place not in timed)
    # A load that is not between its clock reads was moved, or an earlier one has its value. It was moved where machine code
    # has more loads outside of sites than the PTX (which has some: of constants by address, of local memory).
    for site in sites:
        if site.verdict == "removed" and untimed > facts["other_loads"]:
            site.verdict, site.reason = "wrong", f"{site.reason}, and {untimed} loads elsewhere that are not timed"
    return sites


def waits_for_memory(site):
    return any(one.name in MEMORY for one in site.older)
