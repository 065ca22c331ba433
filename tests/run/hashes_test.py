# SPDX-License-Identifier: Apache-2.0
"""Hash maps by keys that are known only at run time, on the simulated GPU: no entry twice, no count lost or said too late."""
import json
import os
import tempfile

from harness import BUILD, EGPU, SOURCE, WORKLOAD, case, check, equal, finish, observed

PAGES = os.path.join(SOURCE, "tests", "data", "ebpf", "inject", "pages.bpf.c")
CONTEXTS = os.path.join(BUILD, "workloads", "egpu-contexts")


def rows(summary, name):
    return [metric for metric in summary["metrics"] if metric["map"] == name]


def keys_of(found):
    """Of each row what tells it from others: all but what is counted."""
    counted = ("value", "launches", "launches_covered", "name", "map", "unit")
    return [json.dumps({key: row[key] for key in row if key not in counted}, sort_keys=True) for row in found]


def total(found):
    return sum(row["value"] for row in found)


@case("each key has one entry, and all are counted")
def entries():
    elements, launches = 5000, 3
    done, summary = observed([WORKLOAD, "vecadd", "--elements", str(elements), "--launches", str(launches)],
                             probes=(PAGES,))
    equal(done.returncode, 0, done.stderr.decode())
    loads = 2 * elements * launches
    addresses = rows(summary, "addresses")
    equal(len(addresses), 2 * elements, "addresses")
    equal(len(set(keys_of(addresses))), 2 * elements, "different addresses")
    equal(total(addresses), loads, "loads by address")
    places = rows(summary, "places")
    equal(len(set(keys_of(places))), len(places), "different places")
    equal(total(places), loads, "loads by place")
    equal(total(rows(summary, "warps")), loads, "loads by warp")


@case("a map that is full: its entries go on counting, and what found no room is said")
def full():
    done, summary = observed([WORKLOAD, "vecadd", "--elements", "3200", "--launches", "1"], probes=(PAGES,))
    few = rows(summary, "few")
    equal(len(few), 8, "entries of the small map")
    equal(total(few), 8 * 200, "counted in it")
    equal(summary["refused_lookups"], 24 * 200, "what found no room")
    equal(summary["refused_keys"], 0, "keys known at injection")
    check("4 800 look-ups" in done.stderr.decode(), done.stderr.decode())


@case("a second context goes on with the entries of the first")
def contexts():
    done, summary = observed([CONTEXTS, "first-ends"], probes=(PAGES,))
    equal(done.returncode, 0, done.stderr.decode())
    equal(total(rows(summary, "places")), total(rows(summary, "addresses")), "by place and by address")
    for name in ("addresses", "places", "warps"):
        keys = keys_of(rows(summary, name))
        equal(len(set(keys)), len(keys), "different keys of " + name)


finish()
