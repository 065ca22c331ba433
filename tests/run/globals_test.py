# SPDX-License-Identifier: Apache-2.0
"""Global variables of programs on the simulated GPU: first values, sums over all threads, other contexts after the first."""
import json
import os
import subprocess
import tempfile

from harness import BUILD, EGPU, SOURCE, WORKLOAD, case, check, equal, finish, observed

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
    with tempfile.TemporaryDirectory() as folder:
        summary = os.path.join(folder, "summary.json")
        script = (f"set -e; {EGPU} run --summary {summary} -p kernel-times -- {WORKLOAD} loop --seconds 6 & "
                  f"sleep 2; {EGPU} probe add {GLOBALS}; sleep 1; {EGPU} map dump globals/globals.data; wait")
        done = subprocess.run(["bash", "-c", script], stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        lines = done.stdout.decode().splitlines()
        check(any(line.split()[1:2] == ["left"] for line in lines) and any(line.split()[-1:] == ["-5"] for line in lines),
              done.stdout.decode() + done.stderr.decode())
        with open(summary, encoding="utf-8") as file:
            found = {metric["name"].split(".", 1)[1]: metric.get("value") for metric in json.load(file)["metrics"]}
        check(found.get("count.calls"), done.stderr.decode())
        check_sums(found, found["count.calls"])


finish()
