#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Running sessions, kills, small shared memory: nothing hangs, nothing is left behind, what is lost is said."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from harness import (EGPU, WORKLOAD, Skip, case, check, end, equal, finish, observed, segments, wait_for)


def start_loop(*options, seconds="20"):
    process = subprocess.Popen([EGPU, "run", "-p", "bandwidth", *options, "--", WORKLOAD, "loop", "--seconds", seconds],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: rows(process) or None, "the first counts of the session")
    return process


def ask(process, *words):
    return subprocess.run([EGPU, *words, "-s", str(process.pid)], capture_output=True, timeout=30)


def rows(process):  # null, and nothing, before a launch was counted
    done = ask(process, "map", "dump", "bandwidth/traffic", "-j")
    if done.returncode != 0:
        return None
    found = {(row["key"]["space"], row["key"]["access"]): row["value"]["accesses"] for row in json.loads(done.stdout) or []}
    return found if any(found.values()) else None


def child_of(process):
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="utf-8") as file:
        return int(file.read().split()[0])


def child_of_or_none(process):
    try:
        return child_of(process)
    except (IndexError, FileNotFoundError):
        return None


@case("another terminal sees figures move")
def moving():
    process = start_loop()
    try:
        before = rows(process)
        wait_for(lambda: sum(rows(process).values()) > sum(before.values()), "figures that move")
        text = ask(process, "map", "dump", "bandwidth/traffic").stdout.decode()
        check("copied from the GPU" in text and "requested_bytes" in text, text)
        probes = json.loads(ask(process, "probe", "list", "-j").stdout)
        equal([(p["probe"], p["program"], p["state"]) for p in probes], [("bandwidth", "count_traffic", "attached")], "probes")
        kernels = json.loads(ask(process, "kernels", "-j").stdout)
        check(any(kernel["state"] == "instrumented" and kernel["launches"] > 0 for kernel in kernels), str(kernels))
        listed = ask(process, "map", "list").stdout.decode()
        check("bandwidth/traffic" in listed, listed)
    finally:
        end(process, signal.SIGINT)


@case("Ctrl-C from a terminal: the application ends, egpu sums up")
def interrupt():
    process = start_loop()
    process.send_signal(signal.SIGINT)   # sent to egpu alone: it passes it on
    output = process.communicate(timeout=30)[1].decode()
    check("launches" in output and "nothing dropped" in output and "at least" not in output, output)
    equal(process.returncode, 0, "exit code of a program that ends well at Ctrl-C, " + output)


@case("Ctrl-C of a program that dies of it")
def interrupt_kills():
    process = subprocess.Popen([EGPU, "run", "-p", "bandwidth", "--", "sleep", "20"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: child_of_or_none(process), "the application")
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=30)[1].decode()
    equal(process.returncode, 130, "exit code, " + output)


@case("SIGUSR1 prints the summary so far")
def so_far():
    process = start_loop(seconds="4")
    process.send_signal(signal.SIGUSR1)
    output = process.communicate(timeout=60)[1].decode()
    check("so far" in output, output)
    equal(process.returncode, 0, "exit code")


@case("egpu killed: the application ends with its right result, nothing is left")
def egpu_killed():
    process = subprocess.Popen([EGPU, "run", "-p", "bandwidth", "--", "sh", "-c",
                                f"{WORKLOAD} loop --seconds 3; echo code $?"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    wait_for(lambda: rows(process) or None, "the first counts")
    process.kill()
    output = process.stdout.read().decode()   # until the application closes it
    check("result ok" in output and "code 0" in output, output)
    process.wait(timeout=10)
    wait_for(lambda: not segments([process.pid]), "the segment to be removed by the agent", 10)


@case("application killed: reported, nothing is left")
def application_killed():
    process = start_loop()
    os.kill(child_of(process), signal.SIGKILL)
    output = process.communicate(timeout=30)[1].decode()
    equal(process.returncode, 128 + 9, "exit code")
    check("ended by signal 9" in output and "at least" in output, output)
    equal(segments([process.pid]), [], "segments")


@case("kill -9 of each party, many times")
def many_kills():
    pids = []
    for attempt in range(12):
        process = subprocess.Popen([EGPU, "run", "-q", "-p", "bandwidth", "--", WORKLOAD, "loop", "--seconds", "2"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        pids.append(process.pid)
        time.sleep(0.02 * attempt)
        if attempt % 2 == 0:
            process.kill()
        else:
            try:
                os.kill(child_of(process), signal.SIGKILL)
            except (IndexError, FileNotFoundError, ProcessLookupError):
                process.kill()
        process.stdout.read()
        process.wait(timeout=30)
    # A segment whose egpu died before the agent came is removed by the next egpu.
    observed([WORKLOAD, "vecadd", "--elements", "1024"])
    wait_for(lambda: not segments(pids), "no segment left", 10)


@case("a small /dev/shm is an error with a hint")
def small_shared_memory():
    if os.getuid() != 0 or shutil.which("unshare") is None:
        raise Skip("needs root and unshare(1) to mount a small /dev/shm")
    script = f"mount -t tmpfs -o size=16m tmpfs /dev/shm && exec {EGPU} run -p bandwidth -p coalescing -- {WORKLOAD} vecadd --elements 1024"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, timeout=60)
    if b"unshare:" in done.stderr or b"mount:" in done.stderr:
        raise Skip("mounting is not permitted here")
    equal(done.returncode, 125, "exit code, " + done.stderr.decode())
    check(b"/dev/shm" in done.stderr and b"hint:" in done.stderr, done.stderr.decode())


@case("a full disk: the summary's error is shown, the run counts")
def full_disk():
    done = subprocess.run([EGPU, "run", "--summary", "/dev/full", "-p", "bandwidth", "--", WORKLOAD, "vecadd",
                           "--elements", "1024"], capture_output=True, timeout=60)
    equal(done.returncode, 125, "exit code")
    check(b"cannot write /dev/full" in done.stderr and b"result ok" in done.stdout, done.stderr.decode())


@case("something else with a session's name is no session")
def junk():
    name = f"/dev/shm/egpu-{os.getuid()}-{os.getpid()}"    # of a process that lives
    with open(name, "wb") as file:
        file.write(b"\0" * 8192)
    process = start_loop()
    try:
        check(rows(process) is not None, "the one session is found")
        named = subprocess.run([EGPU, "probe", "list", "-s", str(os.getpid())], capture_output=True, timeout=30)
        equal(named.returncode, 3, "exit code, " + named.stderr.decode())
        check(f"no session {os.getpid()} runs".encode() in named.stderr, named.stderr.decode())
        # The only one, or one of those that other tests have at this time.
        done = subprocess.run([EGPU, "probe", "list"], capture_output=True, timeout=30)
        check(done.returncode == 0 or f" {os.getpid()}" not in done.stderr.decode(), done.stderr.decode())
    finally:
        end(process, signal.SIGINT)
        os.unlink(name)


@case("a summary to a pipe that nobody reads does not hang")
def unread_pipe():
    with tempfile.TemporaryDirectory() as folder:
        pipe = os.path.join(folder, "pipe")
        os.mkfifo(pipe)
        done = subprocess.run([EGPU, "run", "--summary", pipe, "-p", "bandwidth", "--", WORKLOAD, "vecadd",
                               "--elements", "1024"], capture_output=True, timeout=60)
        equal(done.returncode, 125, "exit code")
        check(b"nobody reads this pipe" in done.stderr and b"result ok" in done.stdout, done.stderr.decode())


@case("behind another command a workload has its own name")
def wrapped():
    done = subprocess.run([EGPU, "run", "-p", "bandwidth", "--", "env", "A=1", WORKLOAD, "vecadd", "--elements", "1024"],
                          capture_output=True, timeout=60)
    check(b"egpu: vecadd exited with 0" in done.stderr, done.stderr.decode())
    done = subprocess.run([EGPU, "run", "-p", "bandwidth", "--", "sh", "-c", f"{WORKLOAD} vecadd --elements 1024"],
                          capture_output=True, timeout=60)
    check(b"egpu: egpu-workload exited with 0" in done.stderr, done.stderr.decode())


@case("a mistyped kernel name")
def mistyped():
    done, summary = observed([WORKLOAD, "vecadd", "--elements", "1024"], options=["-k", "vecotr_add"])
    text = done.stderr.decode()
    equal(done.returncode, 0, "exit code")
    check("ran nowhere: no launched kernel matches 'vecotr_add'  [EGPU-A004]" in text, text)
    check("did you mean 'vector_add'?" in text, text)
    equal([probe["state"] for probe in summary["probes"]], ["matched_nothing"], "probe states")
    equal([kernel["state"] for kernel in summary["kernels"]], ["not_matched"], "kernel states")
    strict, _ = observed([WORKLOAD, "vecadd", "--elements", "1024"], options=["-k", "vecotr_add", "--strict"])
    equal(strict.returncode, 125, "exit code with --strict")


@case("two sessions: one has to be chosen")
def two_sessions():
    first, second = start_loop(), start_loop()
    try:
        done = subprocess.run([EGPU, "map", "dump"], capture_output=True, timeout=30)
        equal(done.returncode, 3, "exit code")
        check(str(first.pid).encode() in done.stderr and str(second.pid).encode() in done.stderr, done.stderr.decode())
        check(rows(first) is not None, "the first can be asked for")
    finally:
        end(first, signal.SIGINT)
        end(second, signal.SIGINT)


def starting(seconds="20"):
    """A session whose program uses no CUDA."""
    process = subprocess.Popen([EGPU, "run", "-p", "bandwidth", "--", "sleep", seconds], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: ask(process, "map", "list").returncode == 0, "its segment")
    return process


def several(text):
    return [word for word in text.replace(",", " ").split() if word.isdigit()]


@case("sessions that start, are suspended or damaged are not in the way of one that runs")
def in_the_way():
    others = [starting(), start_loop(), start_loop()]
    damaged = f"/dev/shm/egpu-{os.getuid()}-{others[2].pid}"
    running = [start_loop(), start_loop()]   # two, so that the answer lists them whatever else runs on this machine
    try:
        others[1].send_signal(signal.SIGSTOP)
        with open(damaged, "r+b") as file:
            content = file.read()
            at = content.index(b'"egpu_version"')
            while at >= 0:   # both places of the catalogue
                file.seek(at)
                file.write(b"\x01\x02\x03")
                at = content.find(b'"egpu_version"', at + 1)
        done = subprocess.run([EGPU, "map", "list"], capture_output=True, timeout=30)
        hint = done.stderr.decode()
        listed = several(hint)
        equal(done.returncode, 3, hint)
        check(all(str(process.pid) in listed for process in running), hint)
        check(not any(str(process.pid) in listed for process in others), hint)
        rows_of = {row["session"]: row for row in json.loads(subprocess.run(
            [EGPU, "session", "list", "-j"], capture_output=True, timeout=30).stdout)}
        equal([rows_of[process.pid]["state"] for process in others], ["starting", "suspended", "damaged"], "states")
        equal(rows_of[others[2].pid]["remark"], "its catalogue is damaged", "remark")
        stop = subprocess.run([EGPU, "session", "stop"], capture_output=True, timeout=30)
        equal((stop.returncode, str(running[0].pid) in several(stop.stderr.decode())), (2, True), stop.stderr.decode())
        check(str(others[2].pid) not in several(stop.stderr.decode()), stop.stderr.decode())
    finally:
        others[1].send_signal(signal.SIGCONT)
        for process in others + running:
            end(process, signal.SIGINT)


def is_stopped(pid):
    def state(thread):
        with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0]
    return all(state(thread) == "T" for thread in os.listdir(f"/proc/{pid}/task"))


@case("who asks a suspended session is told so, and it is left as it is")
def suspended():
    process = start_loop()
    listed = lambda: {row["session"]: row for row in json.loads(subprocess.run(
        [EGPU, "session", "list", "-j"], capture_output=True, timeout=30).stdout)}[process.pid]
    info = lambda: json.loads(subprocess.run([EGPU, "session", "info", str(process.pid), "-j"], capture_output=True,
                                             timeout=30).stdout)
    try:
        agent = listed()["pid"]
        equal(info()["state_text"], None, "nothing is wrong")
        process.send_signal(signal.SIGSTOP)
        wait_for(lambda: is_stopped(process.pid), "all of its threads to stop")   # on a busy machine, not at once
        for words in (["session", "stop", str(process.pid)], ["probe", "remove", "bandwidth", "-s", str(process.pid)]):
            done = subprocess.run([EGPU, *words], capture_output=True, timeout=20)
            text = done.stderr.decode()
            equal(done.returncode, 3, text)
            check(f"egpu process {process.pid} is suspended" in text and "EGPU-X075" in text, text)
            check(f"kill -CONT {process.pid}" in text, text)
        wait_for(lambda: listed()["state"] == "suspended", "it to be suspended")
        of_host = f"its egpu process is suspended: fg or kill -CONT {process.pid} lets it go on"
        equal(listed()["remark"], of_host, "remark")
        equal(info()["state_text"], of_host, "session info, JSON")
        process.send_signal(signal.SIGCONT)
        wait_for(lambda: listed()["state"] == "running", "it to go on")
        equal(listed()["probes"], ["bandwidth"], "probes: what was asked of it while it slept is not done")
        os.kill(agent, signal.SIGSTOP)
        wait_for(lambda: is_stopped(agent), "all of the application's threads to stop")
        wait_for(lambda: listed()["state"] == "suspended", "the application to be suspended")
        of_agent = f"its application is suspended: fg or kill -CONT {agent} lets it go on"
        equal(listed()["remark"], of_agent, "remark")
        equal(info()["state_text"], of_agent, "session info, JSON")
        told = subprocess.run([EGPU, "session", "info", str(process.pid)], capture_output=True, timeout=30).stdout.decode()
        check("live; " + of_agent in told, told)
        os.kill(agent, signal.SIGCONT)
    finally:
        process.send_signal(signal.SIGCONT)
        end(process, signal.SIGINT)


finish()
