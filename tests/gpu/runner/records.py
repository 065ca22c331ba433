# SPDX-License-Identifier: Apache-2.0
"""Programs that send records, and count what they send: what was received and what was dropped are together what was sent, and
each record that is watched holds what its thread put there."""
import json
import os
import signal
import subprocess
import time

import states
from programs import check, equal, observe

SENT = {"loads": ("0", "1"), "warps": ("2", "3")}   # rows of `counts`: of each ring, sent and without room
WATCHED = 20000


def check_sums(summary, metrics, found):
    """Of each ring."""
    counted = {dict(labels).get("key", dict(labels).get("counts")): value for (_, name, labels), value in metrics.items()
               if ".counts" in name}
    rings = {ring["map"].split("/")[1]: ring for ring in summary["ring_buffers"]}
    for name, (sent, refused) in SENT.items():
        ring = rings[name]
        equal(ring["records"] + ring["dropped"], counted.get(sent, 0), f"{name}: received and dropped, and what was sent")
        equal(ring["dropped"], counted.get(refused, 0), f"{name}: dropped, and what found no room")
        equal((ring["bytes_left_on_gpu"], ring["damaged"]), (0, False), f"{name}: left, damaged")
        found.setdefault("says", []).append(f"{name}: {ring['records']} received, {ring['dropped']} dropped")


def watch(places, command, made, limit):
    """Records as another process sees them."""
    process = subprocess.Popen([places.egpu, "run", "-p", made, "--"] + command, env=places.environment(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            done = subprocess.run([places.egpu, "map", "watch", "loads", "-j", "-n", str(WATCHED), "-s", str(process.pid)],
                                  capture_output=True, timeout=limit, check=False)
            if done.returncode == 0:
                return [json.loads(line) for line in done.stdout.splitlines()]
            time.sleep(0.05)
        return []
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=limit)


def records_form(case, places, found, commands, made, metrics_of):
    limit = case.get("time_limit", 60)
    for label, command in commands:
        started = time.monotonic()
        observed, summary = observe(places, command, ["-p", made] + case.get("egpu", []), limit)
        equal(observed.code, 0, f"exit code ({observed.errors[-1500:]})")
        states.tell(summary, found, label, observed.errors)
        states.check_states(case, summary, observed.errors)
        check_sums(summary, metrics_of(summary, os.path.basename(made).split(".")[0]), found)
        found.setdefault("says", []).append(f"{time.monotonic() - started:.1f} s, all in all")
    if "watched" in case:
        records = watch(places, [places.workload] + case["watched"], made, limit)
        check(len(records) > 0, "no record was watched")
        wrong = [record for record in records if record["number"] ^ record["inverse"] != (1 << 64) - 1]
        equal(wrong[:3], [], "watched records that are not what a thread sent")
        found.setdefault("says", []).append(f"{len(records)} records watched")
