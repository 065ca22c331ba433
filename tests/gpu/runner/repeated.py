# SPDX-License-Identifier: Apache-2.0
"""Many small runs and many loads: nothing is kept on the host, on the device or in /dev/shm."""
import concurrent.futures
import os
import subprocess

import states
from programs import check, equal, observe, run


def device_memory_used(places):
    """MiB in use on the device, or None where nobody can say."""
    if places.simulated:
        return None
    asked = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"], capture_output=True,
                           text=True, check=False, timeout=60)
    return int(asked.stdout.split()[0]) if asked.returncode == 0 and asked.stdout.split() else None


def segments(pids):
    """What egpu processes with these pids left; other sessions of this user may come and go."""
    names = {f"egpu-{os.getuid()}-{pid}{suffix}" for pid in pids for suffix in ("", ".sock")}
    return sorted(names & set(os.listdir("/dev/shm")))


def repeated_form(case, places, found, commands):
    """The program under egpu `runs` times, several at a time; afterwards, when none of them runs, the device, /dev/shm and
    the folder of temporary files hold what they held before."""
    runs = case["quick_runs"] if places.quick or places.simulated else case["runs"]
    options = case.get("egpu", ["-p", "bandwidth"])
    before, pids = device_memory_used(places), []

    def once(number, command):
        outcome, summary = observe(places, command, options, 60)
        pids.append(outcome.pid)
        equal(outcome.code, 0, f"exit code of run {number} ({outcome.errors[-800:]})")
        return summary

    def again(number, command, first):
        equal(states.counted(once(number, command)), first, f"counts of run {number}")

    for _, command in commands:
        # The first by itself: the others find its copies in the cache, and are compared with it.
        summary = once(1, command)
        states.tell(summary, found)
        with concurrent.futures.ThreadPoolExecutor(places.jobs) as pool:
            others = [pool.submit(again, number, command, states.counted(summary)) for number in range(2, runs + 1)]
            try:
                for one in concurrent.futures.as_completed(others):
                    one.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    after = device_memory_used(places)
    found.setdefault("says", []).append(f"{runs} runs, {places.jobs} at a time; device memory used: {before} MiB before, "
                                        f"{after} MiB after")
    equal(len(pids), runs * len(commands), "runs")
    equal(segments(pids), [], "segments left behind")
    equal(places.left_behind(), [], "temporary files left behind")
    if before is not None:
        check(after - before <= 16, f"device memory kept: {after - before} MiB")


def reload_form(case, places, found, commands):
    """One program that loads and unloads many times: what it keeps with egpu, against what it keeps without."""
    allowed = case["allowed_bytes"]
    for _, command in commands:
        alone = run(command, case.get("time_limit", 120), places.plain_environment())
        equal(alone.code, 0, f"exit code without egpu ({alone.errors[-500:]})")
        outcome, summary = observe(places, command, case.get("egpu", ["-p", "bandwidth"]), case.get("time_limit", 120))
        states.tell(summary, found)
        equal(outcome.code, 0, f"exit code ({outcome.errors[-1000:]})")
        equal(outcome.output, alone.output, "stdout under egpu")
        kept = {where: int(count) for where, count in outcome.lines("kept")}
        kept_alone = {where: int(count) for where, count in alone.lines("kept")}
        for where in ("device", "host"):
            found.setdefault("says", []).append(f"kept on the {where} over the second half of the rounds: {kept[where]} bytes, "
                                                f"without egpu {kept_alone[where]}")
        for where, most in allowed.items():
            check(kept[where] - max(kept_alone[where], 0) <= most, f"kept on the {where}: {kept[where]} bytes")
