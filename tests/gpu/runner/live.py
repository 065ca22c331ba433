# SPDX-License-Identifier: Apache-2.0
"""Probes that are added, replaced and removed while a program runs."""
import os
import subprocess
import tempfile
import time

import states
from programs import Skip, check, equal, end_group, finish, read_summary, run, start


def can_change(places):
    """egpu probe add exists."""
    text = run([places.egpu, "probe", "--help"], 30).output
    return all(word in text for word in (" add ", " remove "))


def ask(places, process, *words):
    return subprocess.run([places.egpu, *words, "-s", str(process.pid)], capture_output=True, text=True, timeout=60,
                          check=False, env=places.environment(), stdin=subprocess.DEVNULL)


def wait_for_session(places, process):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.poll() is None:
        if ask(places, process, "probe", "list", "-j").returncode == 0:
            return
        time.sleep(0.05)
    check(process.poll() is None, "the program ended before its session could be asked for")
    raise AssertionError("no session in 20 s")


def program_runs(process):
    """False from when the program has ended, also while its egpu still sums up."""
    if process.poll() is not None:
        return False
    try:
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="utf-8") as file:
            return bool(file.read().strip())
    except OSError:
        return False


def change(places, process, cycles, deadline, texts):
    """Adds and removes probes; returns (changes made, changes refused). Stops when the program has ended. What is refused
    and followed by no change that is made came after its end: its process can take a second over that."""
    made = refused = lately = 0
    for cycle in range(cycles):
        for words in (("probe", "add", "coalescing"), ("probe", "remove", "coalescing")):
            if not program_runs(process) or time.monotonic() > deadline:
                return made, refused
            answer = ask(places, process, *words)
            if answer.returncode == 0:
                made += 1
                refused += lately
                lately = 0
            elif program_runs(process):
                lately += 1
                texts.add(answer.stderr.strip()[-300:])
        if cycle == 0 and made == 0 and lately == 2:
            raise AssertionError(f"probes can't be changed: {texts}")
    return made, refused


def stalls(outcome, found):
    """The longest call of each application thread: shown, never a pass mark."""
    for thread, milliseconds, call, calls in outcome.lines("stall"):
        found.setdefault("stalls_ms", {})[thread] = float(milliseconds)
        found.setdefault("says", []).append(f"longest call of thread {thread}: {milliseconds} ms ({call}; {calls} calls)")


def alone_command(case, command):
    """Without egpu a shorter run may do."""
    return command[:1] + [str(word) for word in case["alone_arguments"]] if "alone_arguments" in case else command


def live_form(case, places, found, commands):
    if case.get("changes") and not can_change(places):
        raise Skip("this egpu has no probe add and remove")
    limit = case.get("time_limit", 120)
    for _, command in commands:
        alone = run(alone_command(case, command), limit, places.plain_environment())
        equal(alone.code, 0, f"exit code without egpu ({alone.errors[-500:]})")
        found.setdefault("says", []).append("without egpu:")
        stalls(alone, found)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "summary.json")
            options = case.get("egpu", ["-p", "bandwidth"])
            process = start(places.egpu_run("--summary", path, *options) + ["--"] + command, places.environment())
            try:
                made = refused = 0
                texts = set()
                if case.get("changes"):
                    wait_for_session(places, process)
                    made, refused = change(places, process, case["changes"], time.monotonic() + limit / 2, texts)
                outcome = finish(process, limit)
            finally:
                end_group(process)
            summary = read_summary(path)
        found["says"].append(f"under egpu, {made} changes made, {refused} refused {sorted(texts) if texts else ''}")
        stalls(outcome, found)
        states.tell(summary, found)
        equal(outcome.output, alone.output, "stdout under egpu")
        equal(outcome.code, 0, f"exit code under egpu ({outcome.errors[-1500:]})")
        if case.get("changes"):
            check(made > 0, "no change was made")
        launches = {name: int(count) for name, count in outcome.lines("launches")}
        for kernel in summary["kernels"]:
            if states.short(kernel) in launches:
                equal(kernel["launches"], launches[states.short(kernel)], f"launches of {states.short(kernel)}")
