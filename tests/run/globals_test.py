# SPDX-License-Identifier: Apache-2.0
"""Global variables of programs on the simulated GPU: first values, sums over all threads, other contexts after the first."""
import os

from harness import BUILD, SOURCE, WORKLOAD, case, check, equal, finish, observed, wait_for
from live_session import Run

GLOBALS = os.path.join(SOURCE, "tests", "data", "ebpf", "objects", "globals.bpf.c")
CONTEXTS = os.path.join(BUILD, "workloads", "egpu-contexts")


def values(command, **options):
    done, summary = observed(command, probes=(GLOBALS,), **options)
    equal(done.returncode, 0, done.stderr.decode())
    return done, {metric["name"].split(".", 1)[1]: metric.get("value") for metric in summary["metrics"]}


def check_sums(found, loads):
    equal(found["bytes_read"], 4 * loads, "bytes_read")
    equal(found["last_width"], 4, "last_width")
    equal(found["count.calls"], loads, "calls")
    equal(found["narrow"], 3 + loads, "narrow, which was 3")
    equal(found["left"], (1000 - 2 * loads) % 2**64, "left, which was 1000")
    equal(found["sign"], -5, "sign")


@case("variables hold their first values, then what all threads did to them")
def sums():
    done, found = values([WORKLOAD, "vecadd", "--elements", "1000", "--launches", "2"], options=["--strict"])
    check_sums(found, 2 * 2 * 1000)
    for name in ("globals/globals.data", "globals/globals.bss", "globals/.data.counts"):
        check(name in done.stderr.decode(), done.stderr.decode())


@case("a second context goes on where the first ended")
def contexts():
    done, found = values([CONTEXTS, "first-ends"])
    check_sums(found, found["count.calls"])
    check(found["count.calls"] > 1024, done.stderr.decode())


@case("a probe that is added to a running program brings its first values")
def live():
    with Run(probes=["kernel-times"]) as run:
        equal(run.change("add", GLOBALS)["done"], True, "added")

        def dumped():
            return run.ask("map", "dump", "globals/globals.data").stdout.decode().splitlines()
        wait_for(lambda: any(line.split()[1:2] == ["left"] for line in dumped()) and
                 any(line.split()[-1:] == ["-5"] for line in dumped()), "the first values")
        err, summary = run.stop()
    found = {metric["name"].split(".", 1)[1]: metric.get("value") for metric in summary["metrics"]}
    check(found.get("count.calls"), err)
    check_sums(found, found["count.calls"])


finish()
