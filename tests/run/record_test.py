# SPDX-License-Identifier: Apache-2.0
"""egpu run --record and egpu session, on the simulated GPU."""
import atexit
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

from harness import EGPU, WORKLOAD, case, check, equal, finish, observed, segments, wait_for
from live_session import Run, check_counts

FOLDER = tempfile.mkdtemp(prefix="egpu-record-")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
VECADD = [WORKLOAD, "vecadd", "--elements", "4096"]


def info(path, code=0):
    done = subprocess.run([EGPU, "session", "info", "-j", path], capture_output=True, timeout=60)
    equal(done.returncode, code, done.stderr.decode())
    return json.loads(done.stdout) if code == 0 else done.stderr.decode()


def query(path, text):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        return database.execute(text).fetchall()


def sessions():
    done = subprocess.run([EGPU, "session", "list", "-j"], capture_output=True, timeout=60)
    equal(done.returncode, 0, done.stderr.decode())
    return {row["session"]: row for row in json.loads(done.stdout)}


@case("a recording holds what the summary says, to the last launch")
def whole():
    path = os.path.join(FOLDER, "whole.egpu")
    done, summary = observed(VECADD, options=["--record", path])
    equal(done.returncode, 0, done.stderr.decode())
    check(f"recorded: {path}" in done.stderr.decode(), done.stderr.decode())
    facts = info(path)
    equal((facts["state"], facts["recording"]["finished"], facts["recording"]["has_summary"]), ("ended", True, True), "facts")
    metrics = {(m["name"], m.get("access")): m["value"] for m in summary["metrics"]}
    equal(facts["read_bytes"], metrics[("bandwidth.requested_bytes", "load")], "read")
    equal(facts["written_bytes"], metrics[("bandwidth.requested_bytes", "store")], "written")
    last = dict(query(path, "SELECT field, value FROM series JOIN points ON points.series = series.id WHERE map = 'session' "
                            "AND kernel = 0 ORDER BY sample"))
    equal((last["read_bytes"], last["launches"]), (facts["read_bytes"], facts["launches"]), "the last points")
    recorded = json.loads(query(path, "SELECT value FROM meta WHERE key = 'summary'")[0][0])
    equal(recorded["metrics"], summary["metrics"], "the summary in it")
    equal(os.listdir(FOLDER), ["whole.egpu"], "one file, and nothing beside it")


@case("a program that is over in milliseconds has a beginning and an end in its recording")
def short():
    path = os.path.join(FOLDER, "short.egpu")
    for _ in range(5):   # whichever of program and recorder is the quicker
        done, _ = observed([WORKLOAD, "vecadd", "--elements", "64", "--launches", "1"], options=["--record", path])
        equal(done.returncode, 0, done.stderr.decode())
        launches = query(path, "SELECT samples.id, value FROM samples JOIN points ON points.sample = samples.id JOIN series ON "
                               "series.id = points.series WHERE field = 'launches' AND kernel = 0 ORDER BY samples.id")
        check(len(launches) >= 2, f"samples: {query(path, 'SELECT * FROM samples')}, launches: {launches}")
        equal((launches[0], launches[-1][1]), ((1, 0), 1), "launches at the begin and at the end")
    os.unlink(path)


@case("commands that look at a session look at a recording, too")
def looked_at():
    path = os.path.join(FOLDER, "whole.egpu")

    def ask(*words):
        return subprocess.run([EGPU, *words, "-s", path], capture_output=True, timeout=60)

    traffic = json.loads(ask("map", "dump", "-j", "bandwidth/traffic").stdout)
    sums = {row["key"]["access"]: row["value"]["requested_bytes"] for row in traffic}
    facts = info(path)
    equal((sums["load"], sums["store"]), (facts["read_bytes"], facts["written_bytes"]), "map dump")
    equal([k["launches"] for k in json.loads(ask("kernels", "-j").stdout) if k["launches"]], [facts["launches"]], "kernels")
    equal(json.loads(ask("probe", "list", "-j").stdout)[0]["state"], "attached", "probe list")
    changed = ask("probe", "remove", "bandwidth")
    equal((changed.returncode, b"EGPU-X060" in changed.stderr), (3, True), changed.stderr.decode())


@case("names with placeholders, a recording replaced, another file left alone")
def names():
    done, summary = observed(VECADD, options=["--record", os.path.join(FOLDER, "%n-%p-%q{HOME}.egpu")], env=dict(os.environ, HOME="a/b"))
    equal(done.returncode, 0, done.stderr.decode())
    path = os.path.join(FOLDER, f"bandwidth-{summary['application']['pid']}-a_b.egpu")
    first = info(path)
    done, _ = observed(VECADD, options=["--record", path])
    check(info(path)["session"] != first["session"], "replaced")
    other = os.path.join(FOLDER, "letter.txt")
    with open(other, "w", encoding="utf-8") as file:
        file.write("Dear reader")
    done, _ = observed(VECADD, options=["--record", other])
    equal((done.returncode, b"EGPU-R002" in done.stderr, done.stdout), (125, True, b""), done.stderr.decode())
    with open(other, encoding="utf-8") as file:
        equal(file.read(), "Dear reader", "the file")
    done, _ = observed(VECADD, options=["--record", "%x.egpu"])
    equal((done.returncode, b"EGPU-X051" in done.stderr), (125, True), done.stderr.decode())


@case("a folder that can't be written: said, the run goes on; 125 with --strict")
def unwritable():
    # That nobody writes to /proc is found out when the file is made; that a folder is missing, before anything runs.
    for folder, options, code, ran in (("/proc", [], 0, True), ("/proc", ["--strict"], 125, True),
                                       ("/none", [], 0, True), ("/none", ["--strict"], 125, False)):
        done, summary = observed(VECADD, options=["--record", folder + "/run.egpu", *options])
        equal((done.returncode, b"EGPU-R001" in done.stderr, b"result ok" in done.stdout), (code, True, ran), done.stderr.decode())
        check(summary is not None or not ran, "the summary is written")


@case("a full disk: said, the run goes on")
def full_disk():
    folder = os.path.join(FOLDER, "small")
    os.mkdir(folder)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", folder], capture_output=True)
    if mounted.returncode != 0:
        limit = ["/bin/sh", "-c", "ulimit -f 100; trap '' XFSZ; exec \"$@\"", "sh"]
    else:
        limit = []
    try:
        path, errors = os.path.join(folder, "run.egpu"), os.path.join(FOLDER, "errors")
        line = [*limit, EGPU, "run", "-p", "bandwidth", "-p", "latency", "--record", path, "--record-interval", "10 ms", "--",
                WORKLOAD, "loop", "--elements", "1024", "--seconds", "120"]

        def said():
            with open(errors, "rb") as file:
                return file.read()

        with open(errors, "wb") as file:
            process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=file)
        wait_for(lambda: b"EGPU-R003" in said(), "the message", 60)
        check(process.poll() is None, "the run goes on")
        time.sleep(1.2)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        equal((process.returncode, b"result ok" in out), (0, True), said().decode())
        check(b"not recorded" in said() and said().count(b"EGPU-R003") == 1, said().decode())
        check(info(path)["state"] == "ended", "what was written is readable")
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", folder], check=True)


@case("kill -9 of egpu: readable up to the last second")
def killed():
    path = os.path.join(FOLDER, "killed.egpu")
    with Run(probes=["bandwidth"], options=["--record", path]) as run:
        wait_for(lambda: os.path.exists(path) and info(path)["recording"]["samples"] > 30, "samples")
        equal(info(path)["state"], "live", "state while it is written")
        application = sessions()[run.process.pid]["pid"]
        run.process.send_signal(signal.SIGKILL)
        run.process.wait()
        facts = info(path)
        equal((facts["state"], facts["recording"]["finished"]), ("ended", False), "facts")
        check("killed" in facts["state_text"], facts["state_text"])
        check(time.time() - facts["recording"]["last_unix_ns"] / 1e9 < 4, "it is recent")
        dead = sessions().get(run.process.pid)   # the next egpu run clears it away, and other tests run meanwhile
        check(dead is None or (dead["state"], dead["pid"]) == ("dead", application), f"session list: {dead}")
        subprocess.run(["/bin/kill", str(application)], check=True)


@case("session list, info and stop")
def stop():
    with Run(probes=["bandwidth", "latency"]) as run:
        run.wait_for_launches(which=1)
        pid = run.process.pid
        row = sessions()[pid]
        equal((row["state"], row["probes"], row["program"]), ("running", ["bandwidth", "latency"], "egpu-workload"), "row")
        check(row["launches"] > 0, str(row))
        equal(info(str(pid))["state"], "live", "info")
        done = subprocess.run([EGPU, "session", "stop", str(pid)], capture_output=True, timeout=60)
        equal(done.returncode, 0, done.stderr.decode())
        check(b"original code runs in 1 kernel" in done.stdout and b"runs on" in done.stdout, done.stdout.decode())
        equal(sessions()[pid]["state"], "stopped", "state")
        instrumented = run.launches()[1]
        run.wait_for_launches(more=20)
        equal(run.launches()[1], instrumented, "originals run")
        for words in (("probe", "add", "coalescing"), ("probe", "add", "bandwidth")):
            again = run.ask(*words)
            equal((again.returncode, b"EGPU-A046" in again.stderr), (1, True), again.stderr.decode())
        twice = subprocess.run([EGPU, "session", "stop", str(pid)], capture_output=True, timeout=60)
        equal((twice.returncode, b"stopped already" in twice.stderr), (1, True), twice.stderr.decode())
        err, summary = run.stop()
        check("stopped by egpu session stop" in err, err)
        check("its probes were removed (" in err and "of its launches were instrumented)" in err, err)
        metric = check_counts(summary)
        equal(metric["launches_covered"], instrumented, "what was counted stays")
    check(pid not in sessions(), "it is gone")


@case("damaged and foreign segments are listed with their state")
def states():
    names = {f"egpu-{os.getuid()}-99999999": b"\x55EGPU" * 4000, f"egpu-{os.getuid() + 1}-99999998": b"x" * 8192}
    for name, content in names.items():
        with open("/dev/shm/" + name, "wb") as file:
            file.write(content)
    try:
        listed = sessions()
        equal(listed[99999999]["state"], "dead", "of no process")
        equal(listed[99999998]["state"], "other user", "of another user")
        text = subprocess.run([EGPU, "session", "list"], capture_output=True, timeout=60).stdout.decode()
        check("other user" in text and "99999998" in text, text)
    finally:
        for name in names:
            if os.path.exists("/dev/shm/" + name):
                os.remove("/dev/shm/" + name)
    with Run(probes=["bandwidth"]) as run:
        name = f"/dev/shm/egpu-{os.getuid()}-{run.process.pid}"
        shutil.copy(name, FOLDER + "/kept")
        moved = name.replace(str(run.process.pid), str(run.process.pid))
        with open(moved, "r+b") as file:
            magic = file.read(8)
            file.seek(0)
            file.write(b"\0" * 8)
            file.flush()
            equal(sessions()[run.process.pid]["state"], "damaged", "without its magic number")
            file.seek(0)
            file.write(magic)
        run.stop()


finish()
