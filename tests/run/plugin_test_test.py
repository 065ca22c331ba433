#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""egpu plugin test of plugins whose code ends the process of a case: no case that did not run passes."""
import os
import signal
import subprocess
import tempfile
import time

from harness import BUILD, EGPU, SOURCE, case, check, end, equal, finish, left_in_shared_memory, wait_for

PLUGIN = os.path.join(BUILD, "tests", "plugins-bad", "ends_in_run.so")
CASES = """egpu-test: 1
plugin: ends-in-run
cases:
  - name: a session
    run: [{run}]
    expect: [{{ map: warps, has: [] }}]
  - name: the program alone
    program: hello
    context: {{ kernel: 7 }}
    expect: [{{ map: warps, is: [{{ key: 7, value: 1 }}] }}]
"""
VECADD = 'vecadd, --elements, "1024", --launches, "2"'
LONG = 'loop, --seconds, "50"'


def tested(way, run=VECADD, *words, **environment):
    """The process, and the seconds that it took; what it leaves in shared memory or running is a failure."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "t.yaml"), "w", encoding="utf-8") as file:
            file.write(CASES.format(run=run))
        mark = f"{os.path.basename(folder)}-{way}"
        before = set(os.listdir("/dev/shm"))
        started = time.monotonic()
        done = subprocess.run([EGPU, "plugin", "test", "t.yaml", "--plugin", PLUGIN, *words], cwd=folder,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120, text=True,
                              env=dict(os.environ, ENDS_BY=way, MARK=mark, **environment))
        took = time.monotonic() - started
        equal(left_in_shared_memory(before), [], "left in shared memory")
        equal(marked(f"MARK={mark}"), [], "processes that are left")
    return done, took


def marked(entry):
    """Processes that were started with this in their environment, and run."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if entry.encode() in file.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass  # gone, or another user's
    return found


def ended(name, way, how, run=VECADD, *words, **environment):
    @case(f"{name}: the case failed, and it is said where, whose code and how")
    def shown():
        done, took = tested(way, run, *words, **environment)
        equal(done.returncode, 1, f"exit code, {done.stdout}{done.stderr}")
        equal(done.stdout, "FAILED  a session\nok      the program alone\n1 passed, 1 failed\n", "stdout, " + done.stderr)
        said = f"t.yaml:4:5: error: case 'a session': its process was ended by the code of plugin ends-in-run ({PLUGIN}): "
        check(said + how in done.stderr and "[EGPU-T016]" in done.stderr, done.stderr)
        check(f"egpu run -p {PLUGIN} -- egpu-workload {run.split(',', maxsplit=1)[0]}" in done.stderr, done.stderr)
        check(took < 45, f"it took {took} s")


ended("exit(0)", "exit", "exit code 0")
ended("exit(0), the application goes on", "exit", "exit code 0", LONG)
ended("_exit(0)", "_exit", "exit code 0")
ended("_exit(0) while it is loaded", "load", "exit code 0")
ended("a crash", "crash", "signal 11 (Segmentation fault)")
ended("abort", "abort", "signal 6 (Aborted)")
ended("SIGKILL", "kill", "signal 9 (Killed)")
ended("pthread_exit", "pthread_exit", "signal 6 (Aborted)")
ended("closed files", "close", "it closed egpu's files", LONG)
ended("a process that stops", "stop", "it did not end within 5 s", VECADD, "--limit", "5")
with tempfile.TemporaryDirectory() as parent:
    ended("closed files and a fork that keeps them", "fork, close", "it did not end within 5 s", LONG, "--limit", "5",
          FORK_IN=os.path.join(parent, "pid"))


@case("what it printed before is shown")
def printed():
    done, _ = tested("print, abort")
    equal(done.returncode, 1, "exit code")
    said = done.stderr.partition("printed until then:\n")[2]
    check("these words came before" in said.splitlines(), done.stderr)


@case("nothing is lost where the code closes only stdout and stderr, or leaves a fork behind")
def passes():
    for way in ("", "close stdout", "fork"):
        with tempfile.TemporaryDirectory() as folder:
            done, _ = tested(way, FORK_IN=os.path.join(folder, "pid"))
            equal((done.returncode, done.stderr), (0, ""), way)
            equal(done.stdout, "ok      a session\nok      the program alone\n2 passed, 0 failed\n", way)


@case("who ends the test ends its case and the application, too")
def ends_with_it():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "t.yaml"), "w", encoding="utf-8") as file:
            file.write(CASES.format(run=LONG))
        mark = os.path.basename(folder)
        before = set(os.listdir("/dev/shm"))
        process = subprocess.Popen([EGPU, "plugin", "test", "t.yaml", "--plugin", PLUGIN], cwd=folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, env=dict(os.environ, ENDS_BY="", MARK=mark))
        wait_for(lambda: len(marked(f"MARK={mark}")) >= 3 and set(os.listdir("/dev/shm")) - before, "the application")
        end(process, signal.SIGTERM)
        wait_for(lambda: not marked(f"MARK={mark}"), "the end of all that it started")
        equal(left_in_shared_memory(before), [], "left in shared memory")


@case("--limit takes seconds")
def limits():
    for wrong in ("0", "4000", "soon"):
        done = subprocess.run([EGPU, "plugin", "test", "t.yaml", "--limit", wrong], capture_output=True, text=True, timeout=30)
        equal(done.returncode, 2, wrong)
        check("--limit" in done.stderr, done.stderr)


@case("egpu_add_plugin: VERSION, LICENSE and SUMMARY are refused where EGPU_PLUGIN says them")
def keywords():
    with tempfile.TemporaryDirectory() as folder:
        for name in ("p.bpf.c", "p.cpp"):
            open(os.path.join(folder, name), "w", encoding="utf-8").close()
        for field, value in (("VERSION", "0.2.0"), ("LICENSE", "MIT"), ("SUMMARY", "one; two")):
            with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
                file.write(f"include({SOURCE}/scripts/cmake/sdk/EgpuPlugin.cmake)\n"
                           f"egpu_add_plugin(p PROGRAMS p.bpf.c SOURCES p.cpp {field} \"{value}\")\n")
            done = subprocess.run(["cmake", "-P", "CMakeLists.txt"], cwd=folder, capture_output=True, text=True, timeout=60)
            check(done.returncode != 0, "configured")
            said = " ".join(done.stderr.split())
            check(f"egpu_add_plugin(p): {field} is for plugins without SOURCES: with them the C++ says it, in "
                  f"EGPU_PLUGIN(...). Leave {field} out here" in said, said)


finish()
