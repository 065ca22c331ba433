#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Output and exit code of an application are the same with egpu and without it, however it ends."""
import os
import signal
import subprocess

from harness import BUILD, EGPU, ENDINGS, STAND_INS, WORKLOAD, Skip, case, check, equal, finish, observed, plain

WORKLOADS = [["gather", "--elements", "16384"], ["vecadd", "--elements", "10000"], ["reduction", "--elements", "16384"],
             ["histogram", "--elements", "16384"], ["divergent", "--elements", "4096"], ["loop", "--launches", "50"],
             ["spaces", "--elements", "4096"]]


def as_exit_code(code):
    return 128 - code if code < 0 else code


def same(command, probes=("bandwidth",)):
    alone = plain(command)
    done, summary = observed(command, probes=probes)
    equal(done.stdout, alone.stdout, "stdout")
    equal(done.returncode, as_exit_code(alone.returncode), "exit code, " + done.stderr.decode(errors="replace"))
    own = b"".join(line for line in done.stderr.splitlines(keepends=True) if not line.startswith(b"egpu:"))
    theirs = b"".join(line for line in alone.stderr.splitlines(keepends=True) if not line.startswith(b"egpu:"))
    equal(own, theirs, "stderr of the application")
    return done, summary


for workload in WORKLOADS:
    case("same " + " ".join(workload))(lambda workload=workload: same([WORKLOAD] + workload))
    case("same with three probes " + workload[0])(
        lambda workload=workload: same([WORKLOAD] + workload, ("bandwidth", "coalescing", "latency")))


def ending(way, complete):
    done, summary = same([ENDINGS, way])
    equal(summary["session"]["complete"], complete, "complete, " + done.stderr.decode())
    if complete:
        check("at least" not in done.stderr.decode(), "complete totals are not called 'at least'")
    else:
        check("at least" in done.stderr.decode() or "no totals" in done.stderr.decode(),
              "what is missing is announced: " + done.stderr.decode())
    signalled = {"abort": signal.SIGABRT, "signal": None, "kill": signal.SIGKILL}
    if way in signalled:
        equal(summary["application"]["exit_code"], None, "exit code of an application that a signal ended")
        check(summary["application"]["signal"] is not None, "its signal is known")


# Where the process runs its exit handlers, or leaves by a call that the agent sees, the final copy is made.
for way in ("return", "exit", "_exit", "quick_exit", "exec", "fork"):
    case(f"ends by {way}: complete")(lambda way=way: ending(way, True))
# A static destructor launches after the last copy of the maps: the original runs, and that is said.
for way in ("abort", "signal", "kill", "static-destructor"):
    case(f"ends by {way}: at least")(lambda way=way: ending(way, False))


@case("fork before CUDA")
def fork_before():
    same([ENDINGS, "fork-before"])


@case("a fault in a kernel is reported as without egpu")
def fault():
    same([ENDINGS, "fault"])


@case("nvcc-built programs")
def toolkit():
    names = [name for name in ("nvcc_vecadd", "nvcc_two_kernels") if os.path.exists(os.path.join(BUILD, "workloads", name))]
    if not names:
        raise Skip("no CUDA Toolkit")
    for name in names:
        done, summary = same([os.path.join(BUILD, "workloads", name)], ("bandwidth", "coalescing"))
        check(all(kernel["state"] == "instrumented" for kernel in summary["kernels"]), "every kernel is instrumented: "
              + done.stderr.decode())


@case("a program with the CUDA runtime inside gets a message before it starts")
def static_runtime():
    program = os.path.join(BUILD, "workloads", "nvcc_vecadd_static")
    if not os.path.exists(program):
        raise Skip("no CUDA Toolkit")
    done, _ = observed([program])
    equal(done.returncode, 125, "exit code")
    check(b"nvcc -cudart shared" in done.stderr, "it says how to link: " + done.stderr.decode())
    equal(done.stdout, b"", "nothing ran")


@case("a script that starts CUDA programs")
def script():
    done, summary = observed(["sh", "-c", f"{WORKLOAD} vecadd --elements 1024; exit 4"])
    equal(done.returncode, 4, "exit code")
    equal(len([k for k in summary["kernels"] if k["launches_instrumented"]]), 1, "instrumented kernels")


@case("a second process that uses CUDA is announced")
def two_processes():
    done, _ = observed(["sh", "-c", f"{WORKLOAD} vecadd --elements 1024; {WORKLOAD} vecadd --elements 1024"])
    equal(done.returncode, 0, "exit code")
    check(b"were not observed" in done.stderr, "said: " + done.stderr.decode())


@case("arguments, environment and stdin pass through")
def passes_through():
    done = subprocess.run([EGPU, "run", "-q", "-p", "bandwidth", "--", "sh", "-c", 'cat; echo "$1|$VARIABLE"', "name", "a b"],
                          input=b"input\n", capture_output=True, env=dict(os.environ, VARIABLE="value"), timeout=60)
    equal(done.stdout, b"input\na b|value\n", "stdout")
    equal(done.stderr, b"", "stderr")


finish()
