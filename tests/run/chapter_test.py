#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The eleven examples of the chapter core/include/egpu/bpf/README.md, run as they stand there, each on a bundled workload of
which it is known what they must find."""
import os
import re
import shutil
import struct
import tempfile

from harness import SOURCE, WORKLOAD, Skip, case, check, equal, finish, observed

CHAPTER = os.path.join(SOURCE, "core", "include", "egpu", "bpf", "README.md")
with open(CHAPTER, encoding="utf-8") as file:
    EXAMPLES = {re.search(r'^SEC\("[^"]*"\)\nint (\w+)', text, re.M).group(1): text
                for text in re.findall(r"```c\n(.*?)```", file.read(), re.S)}
_run = set()


def values(program, arguments, options=""):
    """{field: [its values, in the order of keys]} of one example's map, all sites of the program in place."""
    _run.add(program)
    if not shutil.which("clang"):
        raise Skip("no clang")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "example.bpf.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(EXAMPLES[program])
        probe_set = os.path.join(folder, "example.yaml")
        with open(probe_set, "w", encoding="utf-8") as file:
            file.write(f"egpu: 1\nname: example\nprobes:\n  - {{ source: example.bpf.c{options} }}\n")
        done, summary = observed([WORKLOAD] + arguments, probes=[probe_set], options=["--strict"], cwd=folder)
    equal(done.returncode, 0, done.stderr.decode())
    equal([(probe["program"], probe["state"]) for probe in summary["probes"]], [(program, "attached")], "programs")
    found = {}
    for metric in summary["metrics"]:
        found.setdefault(metric["name"].split(".", 1)[1], []).append(metric.get("value", metric.get("values")))
    return found


def float_bits(number):
    return struct.unpack("<I", struct.pack("<f", number))[0]


def slot(histogram):
    """The one slot of a histogram that isn't empty, and what it holds."""
    (found,) = [(number, count) for number, count in enumerate(histogram) if count]
    return found


VECADD = ["vecadd", "--elements", "4096", "--launches", "2"]
WARPS = 2 * 4096 // 32


@case("example: warps that entered")
def hello():
    equal(values("hello", VECADD), {"warps": [WARPS]}, "warps")


@case("example: narrow accesses")
def narrow():
    equal(values("count_narrow", VECADD), {}, "accesses of fewer than 4 bytes")
    equal(values("count_narrow", VECADD, ", options: { below: 8 }"), {"narrow": [2 * 4096] * 3}, "of fewer than 8")


@case("example: how full warps are")
def fills():
    equal(values("count_lanes", ["divergent", "--elements", "8192", "--launches", "1"]),
          {"requests": [8192], "lanes": [135168]}, "requests and lanes")


@case("example: the longest latency")
def longest():
    found = values("keep_longest", VECADD)
    equal(len(found["longest"]), 2, "loads")
    check(all(cycles > 0 for cycles in found["longest"]), found)


@case("example: the smallest and the largest number stored")
def stored():
    # vector_add stores 1.5 x i.
    equal(values("range_of_stores", VECADD), {"smallest": [float_bits(1.5)], "largest": [float_bits(1.5 * 4095)],
                                              "zeroes": [2]}, "numbers")


@case("example: how far a warp's addresses lie apart")
def spans():
    found = values("span_of_addresses", ["gather", "--elements", "4096", "--launches", "1"])["spans"]
    # 31 times 4 bytes, and 31 times the distance of two sectors or more.
    equal(sorted(slot(histogram) for histogram in found)[0], (6, 4096 // 32), "neighbouring lanes")
    equal(len(found), 2, "loads")
    check(sorted(slot(histogram) for histogram in found)[1] >= (9, 4096 // 32), found)


@case("example: a sample")
def sample():
    found = values("sample_sectors", ["vecadd", "--elements", "65536", "--launches", "2"])
    requests = 3 * 2 * 65536 // 32
    taken = sum(found["requests"])
    # Six standard deviations of a count of 12288 with a chance of one in 16.
    check(abs(taken - requests / 16) < 6 * 27, f"{taken} of {requests}")
    equal(sum(found["sectors"]), 4 * taken, "sectors")


@case("example: times of launches")
def times():
    equal([sum(histogram) for histogram in values("time_of_launch", VECADD)["times"]], [2], "launches")


@case("example: warps by SM")
def by_sm():
    found = values("count_by_sm", VECADD)["warps_of_sm"]
    equal(sum(found), WARPS, "warps")
    check(len([count for count in found if count]) > 1, found)


@case("example: accesses by page")
def by_page():
    found = values("count_by_page", VECADD)["pages"]
    equal(sum(found), 3 * 2 * 4096, "accesses")
    # Three arrays of 16 KiB, which need not begin where a page does.
    check(3 * 4 <= len(found) <= 3 * 5, found)


@case("example: barriers")
def barriers():
    equal(values("count_barriers", ["reduction", "--elements", "65536", "--launches", "3"]),
          {"barriers": [3 * 65536 // 32]}, "warps at the barrier")


@case("example: records of atomics")
def records():
    _run.add("send_atomic")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "example.bpf.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(EXAMPLES["send_atomic"])
        done, summary = observed([WORKLOAD, "histogram", "--elements", "8192", "--launches", "1"], probes=[path],
                                 options=["--strict"])
    equal(done.returncode, 0, done.stderr.decode())
    (ring,) = summary["ring_buffers"]
    # Each of 8 blocks counts in shared memory, and adds its 256 bins to those of all.
    equal((ring["records"], ring["dropped"]), (8 * 256 // 32, 0), "one of each warp")


@case("each example was run")
def every():
    equal(sorted(EXAMPLES), sorted(_run), "examples")
    equal(len(EXAMPLES), 12, "examples")


finish()
