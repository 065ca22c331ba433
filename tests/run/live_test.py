#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Probes that come and go while the program runs, and sampled launches: every figure is that of the launches it names."""
import json
import os
import re
import signal
import socket
import subprocess
import time

from harness import EGPU, WORKLOAD, case, check, end, equal, finish, observed, segments, wait_for
from live_session import ELEMENTS, FOLDER, Run, check_counts, program, socket_of, values


@case("one launch in eight: exact counts of those, and nothing scaled")
def sampled():
    done, summary = observed([WORKLOAD, "loop", "--elements", str(ELEMENTS), "--launches", "201"],
                             options=["--sample", "launches=1/8", "--strict"])
    text = done.stderr.decode()
    equal(done.returncode, 0, "exit code, " + text)
    kernel = summary["kernels"][0]
    equal((kernel["launches"], kernel["launches_instrumented"], kernel["launches_left_out"]), (201, 26, 175), "launches")
    equal(check_counts(summary)["launches"], 201, "launches beside the value")
    check("26 of 201" in text and "one launch in 8" in text, text)
    check("at least" not in text, text)
    equal(summary["session"]["sample"], {"launches": 8}, "sample")
    equal(summary["session"]["complete"], False, "totals of all launches are not there")


@case("a probe of a file comes back by its name, and what changed is said once for all its programs")
def back_by_name():
    two = os.path.join(FOLDER, "two.bpf.c")
    with open(program("stores"), encoding="utf-8") as file:
        text = file.read()
    with open(two, "w", encoding="utf-8") as file:
        file.write(text + text[text.index("SEC(\"gpu/store"):text.index("char LICENSE")].replace("on_store", "again"))
    with Run(probes=[two, "bandwidth"]) as run:
        run.wait_for_launches(which=1)
        run.change("remove", "two")
        equal(run.probes()["two"]["state"], "detached", "state")
        run.wait_for_launches()
        equal(run.change("add", "two")["maps"], "kept", "maps")
        equal(run.probes()["two"]["state"], "attached", "state")
        run.wait_for_launches(which=1)
        twice = run.ask("probe", "add", "two")
        equal((twice.returncode, b"EGPU-A042" in twice.stderr), (1, True), "one that is there: " + twice.stderr.decode())
        text, summary = run.stop()
    equal(text.count("values of two for"), 1, "warnings of its part: " + text)
    check_counts(summary, "two.stores", 2 * ELEMENTS)


@case("sampling with eight threads takes turns exactly")
def sampled_threads():
    done, summary = observed([WORKLOAD, "threads", "--elements", str(ELEMENTS), "--launches", "25"], options=["--sample", "launches=1/3"])
    equal(done.returncode, 0, "exit code, " + done.stderr.decode())
    kernel = summary["kernels"][0]
    equal((kernel["launches"], kernel["launches_instrumented"]), (200, 67), "launches")
    check_counts(summary)


@case("all launches, said so")
def all_launches():
    done, summary = observed([WORKLOAD, "loop", "--elements", str(ELEMENTS), "--launches", "20"],
                             options=["--sample", "launches=all", "--strict"])
    equal(done.returncode, 0, "exit code, " + done.stderr.decode())
    equal(summary["kernels"][0]["launches_instrumented"], 20, "launches")
    equal(check_counts(summary)["launches_covered"], 20, "launches covered")


@case("overhead on the simulated GPU: no figure, and no launch given up for one")
def overhead_without_time():
    with Run(probes=["bandwidth"], options=["--overhead"]) as run:
        run.wait_for_launches(which=1)
        equal([k["overhead"]["ratio"] for k in json.loads(run.ask("kernels", "-j").stdout)], [None], "ratio of a live session")
        table = run.ask("kernels").stdout.decode().splitlines()
        check("OVERHEAD" in table[0] and " n/a" in table[1], "\n".join(table))
        text, summary = run.stop()
    check("--overhead measures nothing on it" in text, "said at the start: " + text)
    check("overhead: n/a: the simulated GPU knows no time" in text, "said at the end: " + text)
    kernel = summary["kernels"][0]
    equal(kernel["launches_left_out"], 0, "originals")
    equal((kernel["overhead"]["ratio"], kernel["overhead"]["pairs"], kernel["overhead"]["reason"]),
          (None, 0, "the simulated GPU knows no time"), "overhead")
    check_counts(summary)


@case("without --overhead there is no word of it on the simulated GPU")
def no_overhead():
    done, summary = observed([WORKLOAD, "loop", "--elements", str(ELEMENTS), "--launches", "3"])
    check("overhead" not in done.stderr.decode(), done.stderr.decode())
    equal((summary["kernels"][0]["overhead"], summary["session"]["measure_overhead"]), (None, False), "overhead")
    waited = summary["application"]["waited"]
    check(waited["total_ns"] >= waited["longest_ns"] and (waited["calls"] != 0) == (waited["total_ns"] != 0), f"waits: {waited}")


@case("--overhead and --sample together are a usage error")
def overhead_and_sample():
    line = [EGPU, "run", "-p", "bandwidth", "--overhead", "--sample"]
    done = subprocess.run(line + ["launches=1/2", "--", "true"], capture_output=True, timeout=30)
    equal(done.returncode, 2, "exit code, " + done.stderr.decode())
    check("EGPU-X055" in done.stderr.decode(), done.stderr.decode())
    done = subprocess.run(line + ["launches=all", "--", "true"], capture_output=True, timeout=30)
    equal(done.returncode, 0, "all launches are no sample, " + done.stderr.decode())


@case("samples that make no sense are usage errors with their place")
def bad_samples():
    for text, place in (("launches=1/0", "^ not a whole number"), ("launches=2/8", "^ neither '1/N'"),
                        ("launches=1/8x", "^ not a whole"), ("launches=1/-3", "^ not a whole"), ("launches=", "^ neither"),
                        ("blocks=1/0", "^ not a whole number"), ("warps=", "^ neither"), ("threads=1/2", "^ none of"),
                        ("launches=1/2,", "^ none of"), ("launches=1/2,launches=1/4", "^ launches are sampled already"),
                        ("blocks=1/4,warps=1/2", "^ blocks or warps are sampled already"), ("8", "^ none of"),
                        ("", "the value is empty")):
        done = subprocess.run([EGPU, "run", "-p", "bandwidth", "--sample", text, "--", "true"], capture_output=True, timeout=30)
        equal(done.returncode, 2, f"exit code of --sample '{text}', " + done.stderr.decode())
        check(place in done.stderr.decode(), f"'{text}': " + done.stderr.decode())


@case("a probe is added to a session without any, removed, and added again")
def add_and_remove():
    with Run() as run:
        equal(run.launches()[1], 0, "instrumented launches before")
        answer = run.change("add", "bandwidth")
        equal((answer["done"], answer["sites"], answer["kernels"], answer["maps"]), (True, 2, 1, "fresh"), "answer")
        equal([(o[0], o[1]) for o in answer["outcomes"]], [("loop_step", "attached")], "kernels")
        run.wait_for_launches(which=1)
        equal(run.probes()["bandwidth"]["state"], "attached", "state")

        run.change("remove", "bandwidth")
        equal(run.probes()["bandwidth"]["state"], "detached", "state")
        wait_for(lambda: run.launches()[1] == (run.wait_for_launches() or run.launches()[1]), "the last copy's launches")
        stopped = run.launches()[1]
        run.wait_for_launches(more=20)
        equal(run.launches()[1], stopped, "launches of the original code")
        dump = run.ask("map", "dump", "bandwidth/traffic").stdout.decode()
        check("requested_bytes" in dump and f"by now the probe ran in {stopped:,} of".replace(",", " ") in dump, dump)

        answer = run.change("add", "bandwidth")
        equal(answer["maps"], "kept", "maps of a probe that comes back")
        run.wait_for_launches(which=1)
        err, summary = run.stop()
        metric = check_counts(summary)
        check(stopped < metric["launches_covered"] < metric["launches"], str(metric))
        equal(metric["launches_covered"], summary["kernels"][0]["launches_instrumented"], "launches covered")
        equal(summary["session"]["probe_changes"], 3, "changes")
        check("probes were added or removed" in err, err)


@case("a probe that is added before the program loads anything runs from its first launch on")
def added_before_the_first_load():
    path = os.path.join(FOLDER, "early.json")
    process = subprocess.Popen([EGPU, "run", "--summary", path, "--", "sh", "-c",
                                f"read line; exec {WORKLOAD} loop --elements {ELEMENTS} --launches 20"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_for(lambda: os.path.exists(socket_of(process.pid)), "the session")
        for words in (["add", "bandwidth"], ["remove", "bandwidth"], ["add", "bandwidth"]):
            done = subprocess.run([EGPU, "probe", *words, "-s", str(process.pid)], capture_output=True, timeout=60)
            equal(done.returncode, 0, f"exit code of {words}: " + done.stderr.decode())
        _, err = process.communicate(b"go\n", timeout=60)
        equal(process.returncode, 0, "exit code, " + err.decode())
    finally:
        end(process, signal.SIGKILL)
    with open(path, encoding="utf-8") as file:
        summary = json.load(file)
    equal(summary["kernels"][0]["launches_instrumented"], 20, "launches")
    equal(check_counts(summary)["launches_covered"], 20, "launches covered")


@case("a probe that goes while another stays: its totals are said to be of some launches")
def partly_covered():
    with Run(probes=("bandwidth", "coalescing")) as run:
        run.wait_for_launches(which=1)
        run.change("remove", "bandwidth")
        run.wait_for_launches(which=1)
        err, summary = run.stop()
        check("values of bandwidth for loop_step are of" in err, err)
        check("\u2265" in err, "the row says at least: " + err)
        check('"complete": false' in json.dumps(summary), "the summary says so")


@case("what a removed probe counted stays, with its time")
def removed_stays():
    with Run(probes=["bandwidth"]) as run:
        run.wait_for_launches(which=1)
        text = run.ask("probe", "remove", "bandwidth")
        equal(text.returncode, 0, text.stderr.decode())
        check(b"detached" in text.stdout and b"original code runs" in text.stdout, text.stdout.decode())
        run.wait_for_launches(more=20)
        err, summary = run.stop()
        metric = check_counts(summary)
        check(metric["launches_covered"] < metric["launches"], str(metric))
        probe = summary["probes"][0]
        equal((probe["state"], probe["detached_at"] is not None), ("detached", True), "probe")
        check("ran nowhere" not in err, err)


@case("two probes in one kernel: each covers its own launches")
def beside_each_other():
    own = program("stores")
    with Run(probes=["bandwidth"]) as run:
        run.wait_for_launches(which=1)
        answer = run.change("add", own)
        equal((answer["probe"], answer["sites"]), ("stores", 1), "answer")
        run.wait_for_launches(which=1, more=20)
        run.change("remove", "bandwidth")
        run.wait_for_launches(which=1, more=20)
        _, summary = run.stop()
        check_counts(summary)
        check_counts(summary, "stores.stores")
        covered = {m["name"]: m["launches_covered"] for m in summary["metrics"]}
        all_launches = summary["kernels"][0]["launches"]
        check(0 < covered["bandwidth.accesses"] < all_launches and 0 < covered["stores.stores"] < all_launches, str(covered))
        check(covered["bandwidth.accesses"] + covered["stores.stores"] > all_launches, f"they overlap: {covered}")


@case("replace keeps maps of the same shape and starts others anew")
def replace():
    own = program("stores")
    with Run(probes=[own]) as run:
        run.wait_for_launches(which=1)
        before = run.launches()[1]
        answer = run.change("replace", "stores", program("twice", step=2))
        equal((answer["probe"], answer["maps"]), ("stores", "kept"), "same shape")
        run.wait_for_launches(which=1, more=20)
        answer = run.change("replace", "stores", program("small", value="__u32"))
        equal((answer["probe"], answer["maps"]), ("stores", "fresh"), "other shape")
        run.wait_for_launches(which=1, more=20)
        states = run.probes()
        equal({name: p["state"] for name, p in states.items()}, {"stores": "attached", "stores~1": "detached"}, "probes")
        _, summary = run.stop()
        check_counts(summary, "stores.stores")
        old = values(summary, "stores~1.stores")[0]
        # Each launch of the first counts ELEMENTS, of the second twice that.
        check(old["value"] % ELEMENTS == 0 and
              old["launches_covered"] * ELEMENTS < old["value"] < 2 * old["launches_covered"] * ELEMENTS, str(old))
        check(old["launches_covered"] > before, "both versions are covered")


@case("refused, unknown, twice, too large: said, and the session goes on")
def refusals():
    with Run(probes=["bandwidth"]) as run:
        bad = run.ask("probe", "add", program("unchecked", test=""))
        equal(bad.returncode, 1, "exit code")
        check(b"EGPU-V" in bad.stderr and b"the session goes on as it was" in bad.stderr, bad.stderr.decode())
        unknown = run.ask("probe", "remove", "bandwith")
        equal(unknown.returncode, 1, "exit code")
        check(b"did you mean 'bandwidth'?" in unknown.stderr, unknown.stderr.decode())
        twice = run.ask("probe", "add", "bandwidth")
        equal(twice.returncode, 1, "exit code")
        check(b"egpu probe replace bandwidth" in twice.stderr, twice.stderr.decode())
        large = run.ask("probe", "add", program("large", entries=4_000_000))
        equal(large.returncode, 1, "exit code")
        check(b"EGPU-X013" in large.stderr and b"--reserve" in large.stderr, large.stderr.decode())
        missing = run.ask("probe", "add", "nothere.bpf.c")
        equal(missing.returncode, 1, "exit code")
        refused = run.ask("probe", "replace", "bandwidth", program("unchecked", test=""))
        equal(refused.returncode, 1, "exit code")
        equal({name: p["state"] for name, p in run.probes().items()}, {"bandwidth": "attached"}, "probes")
        _, summary = run.stop()
        kernel = summary["kernels"][0]
        equal(kernel["launches"], kernel["launches_instrumented"], "instrumented launches")
        check_counts(summary)
        equal(summary["session"]["probe_changes"], 0, "changes")


@case("a copy that can't be loaded: the one before does not go on with programs that were taken off")
def failed_copies():
    # bandwidth's maps fit, those of kernel-times beside them do not.
    with Run(probes=["bandwidth"], options=["--gpu-memory", "9 MiB"]) as run:
        run.wait_for_launches(which=1)
        run.change("add", "kernel-times")
        run.change("remove", "bandwidth")
        time.sleep(0.3)
        before = run.launches()
        wait_for(lambda: run.launches()[0] > before[0] + 20, "further launches")
        equal(run.launches()[1], before[1], "launches that ran programs which were taken off")
        run.change("remove", "kernel-times")
        run.change("add", "bandwidth")
        wait_for(lambda: run.launches()[1] > before[1], "launches with bandwidth again")
        run.stop()


@case("200 times added and removed while eight threads launch")
def many_changes():
    with Run(workload="threads") as run:
        for _ in range(100):
            run.change("add", "bandwidth")
            run.change("remove", "bandwidth")
        run.change("add", "bandwidth")
        run.wait_for_launches(which=1)
        _, summary = run.stop()
        metric = check_counts(summary)
        kernel = summary["kernels"][0]
        equal(metric["launches_covered"], kernel["launches_instrumented"], "launches covered")
        equal(summary["session"]["probe_changes"], 201, "changes")
        check(0 < metric["launches_covered"] < metric["launches"], str(metric))


@case("probes differ at each change: each counts under its own number")
def many_programs():
    with Run(workload="threads") as run:
        run.change("add", program("stores"))
        for number in range(12):
            run.change("replace", "stores", program(f"step{number}", step=2 + number % 3))
        run.wait_for_launches(which=1)
        _, summary = run.stop()
        for metric in values(summary, "stores.stores"):
            covered = metric["launches_covered"] * ELEMENTS
            check(metric["value"] % ELEMENTS == 0 and covered <= metric["value"] <= 4 * covered, str(metric))


@case("sampled and changed at once")
def sampled_and_changed():
    with Run(options=["--sample", "launches=1/4"]) as run:
        run.change("add", "bandwidth")
        run.wait_for_launches(which=1, more=10)
        run.change("remove", "bandwidth")
        run.wait_for_launches(more=10)
        _, summary = run.stop()
        check_counts(summary)


def raw(pid):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(socket_of(pid))
    connection.settimeout(30)
    return connection


def said(connection):
    """What was answered, without the mark that the request was taken."""
    answer = b""
    try:
        while not answer.endswith(b"\n"):
            piece = connection.recv(1 << 16)
            if not piece:
                break
            answer += piece
    except ConnectionResetError:
        pass
    return answer.removeprefix(b"+")


@case("clients that say nothing, nonsense or too much disturb nobody")
def hostile_clients():
    with Run(probes=["bandwidth"]) as run:
        equal(os.stat(socket_of(run.process.pid)).st_mode & 0o777, 0o600, "mode of the socket")
        silent = [raw(run.process.pid) for _ in range(12)]  # more than it serves at once
        half = silent[0]
        half.send(b'{"do": "add"')
        equal(run.change("add", program("stores"))["done"], True, "an honest client's turn comes")
        for connection in silent:
            connection.close()
        for nonsense in (b"hello\n", b"{}\n", b'{"do":"reboot","name":"","what":""}\n', b"[" * 20000 + b"\n",
                         b'{"do":1,"name":2,"what":3}\n', b"\0\xff\n"):
            connection = raw(run.process.pid)
            connection.send(nonsense)
            answer = json.loads(said(connection))
            equal((answer["done"], bool(answer["problems"])), (False, True), f"answer to {nonsense[:20]}")
            connection.close()
        connection = raw(run.process.pid)
        try:
            for _ in range(100):
                connection.send(b"x" * 4096)
            equal(said(connection), b"", "an endless line is not answered")
        except (BrokenPipeError, ConnectionResetError):
            pass
        connection.close()
        equal(run.change("remove", "stores")["done"], True, "still there")
        _, summary = run.stop()
        check_counts(summary)


@case("figures of probes that came at different times say each of how many launches they are")
def different_launches():
    with Run(probes=["bandwidth"]) as run:
        run.wait_for_launches(which=1, more=10)
        run.change("add", "coalescing")
        run.wait_for_launches(which=1, more=10)
        report, summary = run.stop()
    covered = {metric["name"].split(".")[0]: metric["launches_covered"] for metric in summary["metrics"]}
    check(covered["coalescing"] < covered["bandwidth"], f"covered: {covered}")
    shown = {int(re.sub(r"\D", "", number)) for number in re.findall(r"\(([\d\s\u202f]+)\)", report)}
    check(set(covered.values()) <= shown, f"{covered} in the table:\n{report}")
    check("(n): of so many launches" in report, report)


@case("the kernel table shows the probe that is attached, not the one that it replaced")
def current_first():
    with Run(probes=["bandwidth"]) as run:
        run.wait_for_launches(which=1, more=10)
        run.change("replace", "bandwidth", program("stores"))     # maps of another shape: the old ones stay
        run.wait_for_launches(which=1, more=10)
        run.change("remove", "bandwidth")
        run.change("add", "bandwidth")
        run.wait_for_launches(which=1, more=20)
        report, summary = run.stop()
    current = check_counts(summary)
    row = next(line for line in report.splitlines() if "loop_step" in line and " B" in line.replace("kB", " B").replace("MB", " B"))
    check(re.sub(r"\D", "", row.split(" of ")[0]).endswith(str(current["launches_covered"])), f"{row}\n{current}")
    check("bandwidth~1/traffic" in report, report)


@case("what a client asked that gave up waiting is not done")
def client_gave_up():
    with Run() as run:
        os.kill(run.process.pid, signal.SIGSTOP)
        connection = raw(run.process.pid)
        connection.send(json.dumps({"do": "add", "name": "", "what": "bandwidth"}).encode() + b"\n")
        connection.close()
        os.kill(run.process.pid, signal.SIGCONT)
        equal(run.change("add", program("stores"))["done"], True, "the next one's turn comes")
        equal(sorted(run.probes()), ["stores"], "the probes")


@case("the commanding client is killed in the middle")
def client_killed():
    with Run(workload="threads") as run:
        for attempt in range(10):
            client = subprocess.Popen([EGPU, "probe", "add", program(f"stores{attempt}"), "-s", str(run.process.pid)],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.01 * attempt)
            end(client)
        wait_for(lambda: run.ask("probe", "add", "bandwidth").returncode == 0, "the session to answer again")
        run.wait_for_launches(which=1)
        _, summary = run.stop()
        check_counts(summary)


@case("egpu is killed while probes change: the program's result is right, nothing is left")
def egpu_killed():
    for attempt in range(6):
        process = subprocess.Popen([EGPU, "run", "-q", "--", "sh", "-c", f"{WORKLOAD} threads --seconds 2; echo code $?"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists(socket_of(process.pid)), "the session")
        client = subprocess.Popen(["sh", "-c", f"for i in 1 2 3 4 5 6 7 8; do {EGPU} probe add bandwidth -s {process.pid}; "
                                   f"{EGPU} probe remove bandwidth -s {process.pid}; done"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.2 + 0.05 * attempt)
        process.kill()
        output = process.stdout.read().decode()
        check("result ok" in output and "code 0" in output, output)
        process.wait(timeout=10)
        client.wait(timeout=60)
        wait_for(lambda: not segments([process.pid]), "the segment to be removed", 10)
    done, _ = observed([WORKLOAD, "loop", "--launches", "2"])
    equal(done.returncode, 0, "exit code")
    check(not os.path.exists(socket_of(process.pid)), "the next egpu removes the socket that was left")


@case("a session that does not run, and one that is over")
def no_session():
    done = subprocess.run([EGPU, "probe", "add", "bandwidth", "-s", "1"], capture_output=True, timeout=30)
    equal(done.returncode, 3, "exit code, " + done.stderr.decode())
    check(b"no session 1 runs" in done.stderr, done.stderr.decode())


finish()
