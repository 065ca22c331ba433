# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: running programs with and without egpu, and reporting like GoogleTest does."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
SOURCE = os.path.abspath(sys.argv[2])
EGPU = os.path.join(BUILD, "bin", "egpu")
WORKLOAD = os.path.join(BUILD, "bin", "egpu-workload")
ENDINGS = os.path.join(BUILD, "workloads", "egpu-endings")
LIBRARIES = os.path.join(BUILD, "lib", "egpu")
STAND_INS = [os.path.join(LIBRARIES, "simulated", name) for name in ("libcuda.so.1", "libcudart.so.13")]

_failed = []


class Skip(Exception):
    """Raised by a case that can't run here; the text is its reason."""


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def equal(got, wanted, what):
    check(got == wanted, f"{what}: {got!r}, expected {wanted!r}")


def case(name):
    """Decorator: runs the function at once and prints its verdict."""
    def run(function):
        started = time.monotonic()
        try:
            function()
            print(f"[       OK ] {name} ({int((time.monotonic() - started) * 1000)} ms)", flush=True)
        except Skip as reason:
            print(f"Skipped\n{reason}\n[  SKIPPED ] {name} (0 ms)", flush=True)
        except Exception as problem:  # a crash of the test itself is a failure of the case
            _failed.append(name)
            print(f"FAILED {name}: {problem}", flush=True)
        return function
    return run


def finish():
    sys.exit(1 if _failed else 0)


def plain(command, **options):
    """The program on the stand-ins alone, preloaded by hand: what it does without egpu."""
    environment = dict(os.environ, LD_PRELOAD=":".join(STAND_INS))
    return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, **options)


def observed(command, probes=("bandwidth",), options=(), **more):
    """The program under egpu run; returns (CompletedProcess, summary or None)."""
    with tempfile.TemporaryDirectory() as folder:
        summary = os.path.join(folder, "summary.json")
        line = [EGPU, "run", "--summary", summary]
        for probe in probes:
            line += ["-p", probe]
        done = subprocess.run(line + list(options) + ["--"] + command, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=180, **more)
        content = None
        if os.path.exists(summary):
            with open(summary, encoding="utf-8") as file:
                content = json.load(file)
        return done, content


def segments(pids):
    """Segments and sockets that egpu processes with these pids left; other sessions of this user may come and go."""
    own = {f"egpu-{os.getuid()}-{pid}{suffix}" for pid in pids for suffix in ("", ".sock")}
    return sorted(name for name in os.listdir("/dev/shm") if name in own)


def left_in_shared_memory(before):
    """What is in /dev/shm and was not before, without the sessions of processes that live: other tests run meanwhile."""
    def lives(name):
        return name.startswith("egpu-") and os.path.exists("/proc/" + name.split("-")[2].split(".")[0])
    return sorted(name for name in set(os.listdir("/dev/shm")) - set(before) if not lives(name))


def wait_for(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.02)
    raise AssertionError(f"waited {seconds} s for {what}")


def end(process, how=signal.SIGKILL):
    """Ends a process that this test started."""
    if process.poll() is None:
        process.send_signal(how)
    return process.wait(timeout=30)
