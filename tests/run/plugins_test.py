#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins that are well and plugins that are not: their listed states, and runs that go on."""
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import tempfile
import time

from harness import BUILD, EGPU, ENDINGS, SOURCE, WORKLOAD, Skip, case, check, end, equal, finish, left_in_shared_memory, observed, wait_for

BAD = os.path.join(BUILD, "tests", "plugins-bad")
VECADD = [WORKLOAD, "vecadd", "--elements", "1024", "--launches", "2"]


def run(*words, **options):
    options.setdefault("timeout", 120)
    return subprocess.run([EGPU, *words], stdin=subprocess.DEVNULL, capture_output=True, **options)


def listed(*files, **options):
    done = run("plugin", "list", "-j", *files, **options)
    equal(done.returncode, 0, "plugin list, " + done.stderr.decode())
    return json.loads(done.stdout)


def bad(name):
    return os.path.join(BAD, name + ".so")


def state_is(name, path, state, reason, hint=None, said=None):
    """A case: the file's state in plugin list, and that a run with it is refused in its words (or those of `said`: what
    is wrong with an object is said as of any other)."""
    @case(f"{name}: {state}")
    def shown():
        (entry,) = listed(path)
        equal(entry["state"], state, "state")
        check(reason in entry["reason"], f"reason {entry['reason']!r} has no {reason!r}")
        check(entry["hint"], "no hint")
        if hint:
            check(hint in entry["hint"], f"hint {entry['hint']!r} has no {hint!r}")
        done = run("run", "-p", path, "--", *VECADD)
        equal(done.returncode, 125, "egpu run")
        for words in said or (state, reason):
            check(words in done.stderr.decode(), done.stderr.decode())
        check(b"result ok" not in done.stdout, "the program was started")


with tempfile.TemporaryDirectory() as made:
    def write(name, data):
        path = os.path.join(made, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    with open(bad("good"), "rb") as file:
        good = file.read()
    other_machine = bytearray(good)
    other_machine[18:20] = (243).to_bytes(2, "little")  # e_machine: RISC-V
    state_is("text", write("notes.so", b"these are notes\n"), "not a plugin", "it is no shared library")
    state_is("an empty file", write("empty.so", b""), "not a plugin", "it is no shared library")
    state_is("another library", bad("no_descriptor"), "not a plugin", "exports no egpu_plugin_descriptor")
    state_is("another magic number", bad("wrong_magic"), "not a plugin", "another magic number")
    state_is("an id with a slash", bad("bad_id"), "not a plugin", "its id '../Bad Id' is none")
    state_is("a program", write("program.so", open(WORKLOAD, "rb").read()), "not a plugin", "exports no")
    state_is("cut in the middle", write("half.so", good[:len(good) // 2]), "cannot open", "cut off", "again")
    state_is("cut in its first page", write("head.so", good[:40]), "cannot open", "cut off")
    state_is("another machine", write("riscv.so", bytes(other_machine)), "wrong architecture", "machine 243")
    state_is("another ABI", bad("wrong_abi"), "wrong ABI", "made for plugin ABI 1.2, this egpu has 0.1",
             "rebuild it with this egpu's SDK")
    state_is("a newer egpu wanted", bad("newer_host"), "wrong ABI", "needs an egpu with plugin ABI 0.4")
    state_is("a short descriptor", bad("small_struct"), "wrong ABI", "48 bytes")
    state_is("a descriptor of 8 bytes", bad("tiny_struct"), "wrong ABI", "8 bytes")
    state_is("a descriptor that says more", bad("large_struct"), "wrong ABI", "80 bytes, ABI 0.1 has 72")
    state_is("no object", bad("no_object"), "refused program", "holds no eBPF object")
    state_is("half an object", bad("cut_object"), "refused program", "not a readable ELF file",
             said=("cut_object.so: error: not a readable ELF file", "[EGPU-B001]"))
    state_is("a program that the verifier refuses", bad("refused_program"), "refused program",
             "'count' may be NULL here", "shows the place",
             said=("refused_program.bpf.c:17:", "'count' may be NULL here", "probe refused-program was refused"))
    state_is("an undefined symbol", bad("undefined_symbol"), "cannot open", "undefined symbol: _Z14made_by_nobodyv",
             said=("cannot open: undefined symbol: _Z14made_by_nobodyv  [EGPU-X082]",))
    state_is("throws at start", bad("throws_at_start"), "init failed", "no table of peaks for this machine")
    state_is("throws while it is loaded", bad("throws_at_load"), "init failed", "while it was loaded: too early",
             "what the constructor of a global variable threw")
    state_is("crashes at start", bad("crashes_at_start"), "crashed", "signal 11")
    state_is("ends the process", bad("exits_at_start"), "crashed", "ended the process with 5")
    state_is("blocks while it is loaded", bad("blocks_at_load"), "blocked", "did not come back within 3 s, while it was")
    state_is("blocks at start", bad("blocks_at_start"), "blocked", "did not come back within 3 s, in its start")


@case("one bad plugin keeps no other from its place in the list")
def all_at_once():
    with tempfile.TemporaryDirectory() as folder:
        for name in ("wrong_abi", "no_descriptor", "good", "crashes_at_start"):
            shutil.copy(bad(name), folder)
        shutil.copy(bad("good"), os.path.join(folder, "good2.so"))
        done = run("plugin", "list", "--plugin-path", folder, cwd=folder)
        equal(done.returncode, 0, "exit code")
        text = done.stdout.decode()
        lines = text.splitlines()
        equal(lines[0].split(), ["ID", "VERSION", "STATE", "FILE"], "header")
        for words in (["roofline", "2.0.0", "wrong", "ABI", "wrong_abi.so"], ["good", "0.1.0", "ok", "(starts)", "good.so"],
                      ["good", "0.1.0", "duplicate", "good2.so"], ["-", "-", "not", "a", "plugin", "no_descriptor.so"],
                      ["crashes-at-start", "0.1.0", "crashed", "crashes_at_start.so"]):
            check(any(line.split() == words for line in lines), f"no line {words} in\n{text}")
        check(os.path.join(os.path.realpath(folder), "good.so") in text, "a duplicate names the first")
        check("made for plugin ABI 1.2, this egpu has 0.1" in text, text)
        check(any(line.split()[:3] == ["bandwidth", "0.1.0", "ok"] for line in lines), "the installed ones are there")


@case("plugins that block are waited for together")
def blocking_together():
    with tempfile.TemporaryDirectory() as folder:
        files = [shutil.copy(bad("blocks_at_start"), os.path.join(folder, f"block{i}.so")) for i in range(4)]
        started = time.monotonic()
        equal([entry["state"] for entry in listed(*files)], ["blocked"] * 4, "states")
        took = time.monotonic() - started
        check(took < 10, f"four of 3 s each took {took:.1f} s")


@case("crashes in check")
def crashes_in_check():
    (entry,) = listed(bad("crashes_in_check"))
    equal(entry["state"], "ok", "it loads and starts")
    done = run("plugin", "check", bad("crashes_in_check"))
    equal(done.returncode, 1, "exit code")
    check("crashed: ended by signal 11 (Segmentation fault), in on_snapshot" in done.stderr.decode(), done.stderr.decode())


@case("the check names the author's file and line")
def wrong_map():
    done = run("plugin", "check", bad("wrong_map"))
    equal(done.returncode, 1, "exit code")
    check("wrong_map.cpp:8: the object has no map 'warp'; did you mean 'warps'?" in done.stderr.decode(),
          done.stderr.decode())


@case("exports beside the descriptor are refused by check, and said")
def exports():
    done = run("plugin", "check", bad("exports_more"))
    equal(done.returncode, 1, "exit code")
    check("exports more than egpu_plugin_descriptor: " in done.stderr.decode(), done.stderr.decode())
    check("log_level" in done.stderr.decode(), done.stderr.decode())
    equal(run("plugin", "check", "-q", bad("good")).stdout, b"", "-q of a good one")


@case("a good plugin's findings are in the report and in the summary")
def findings():
    done, summary = observed(VECADD, (bad("good"),))
    equal(done.returncode, 0, done.stderr.decode())
    text = " ".join(line.removeprefix("egpu:").strip() for line in done.stderr.decode().splitlines())
    check("finding: vector_add: entered by 64 warps of 2 launches on" in text, text)
    (finding,) = summary["findings"]
    equal([finding["id"], finding["plugin"], finding["severity"], finding["kernel"]], ["seen", "good", "warning", 1],
          "finding")
    equal(summary["diagnostics"], [], "diagnostics")


def goes_on(name, said, seconds):
    @case(f"{name}: the run goes on")
    def shown():
        started = time.monotonic()
        done, summary = observed(VECADD, (bad(name),))
        equal(done.returncode, 0, done.stderr.decode())
        check(b"result ok" in done.stdout, "the program's own output")
        text = done.stderr.decode()
        check(f"egpu: warning: plugin {name.replace('_', '-')}: " in text and said in text, text)
        check("its code is not called again" in text, text)
        check(any(said in line for line in summary["diagnostics"]), "in the summary's diagnostics")
        equal([metric["value"] for metric in summary["metrics"]], [64], "its program counted on")
        check(time.monotonic() - started < seconds + 20, "it took too long")


goes_on("throws_in_run", "can't make sense of this kernel", 0)
goes_on("blocks_in_run", "its on_snapshot did not come back within 2 s", 2)
goes_on("blocks_at_end", "its end did not come back within 2 s", 2)


@case("names: a plugin by its id, --plugin-path and EGPU_PLUGIN_PATH")
def names():
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(bad("good"), os.path.join(folder, "anything.so"))
        equal(run("run", "-p", "good", "--", *VECADD).returncode, 125, "without the folder")
        for words, environment in (([], {"EGPU_PLUGIN_PATH": folder}), (["--plugin-path", folder], {})):
            done = run("run", *words, "-p", "good", "--", *VECADD, env=dict(os.environ, **environment))
            equal(done.returncode, 0, done.stderr.decode())
            check("entered by 64 warps" in done.stderr.decode().replace("\negpu:  ", ""), done.stderr.decode())
        with open(os.path.join(folder, "mine.yaml"), "w", encoding="utf-8") as file:
            file.write("egpu: 1\nname: mine\nprobes:\n  - plugin: good\n")
        for words in (["info", file.name], ["explain", file.name, os.path.join(BUILD, "tests", "workloads", "vecadd.ptx")]):
            done = run("probeset", *words)
            equal(done.returncode, 1, "without the folder")
            done = run("probeset", *words, "--plugin-path", folder)
            equal(done.returncode, 0, done.stderr.decode())
            check("good" in done.stdout.decode(), done.stdout.decode())
        equal(run("probeset", "list", "--plugin-path", folder).returncode, 0, "probeset list")
        done = run("plugin", "info", "-j", "good", env=dict(os.environ, EGPU_PLUGIN_PATH=folder))
        equal([entry["name"] for entry in json.loads(done.stdout)["maps"]], ["warps"], "its maps")
        personal = os.path.join(folder, "data", "egpu", "plugins")
        os.makedirs(personal)
        shutil.move(os.path.join(folder, "anything.so"), personal)
        found = listed(env=dict(os.environ, XDG_DATA_HOME=os.path.join(folder, "data")))
        check(any(entry["file"].startswith(os.path.realpath(personal)) for entry in found), "the personal folder")


@case("a privileged egpu leaves out what others can write, and says so")
def privileged():
    if os.geteuid() != 0:
        raise Skip("needs root")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(bad("good"), folder)
        environment = dict(os.environ, EGPU_PLUGIN_PATH=folder)
        check(any(entry["id"] == "good" for entry in listed(env=environment)), "a folder of its own is used")
        os.chmod(os.path.join(folder, "good.so"), 0o777)
        (entry,) = [entry for entry in listed(env=environment) if entry["file"].endswith("good.so")]
        equal(entry["state"], "untrusted", "a file that others can write")
        check("others can write to it" in entry["reason"], entry["reason"])
        os.chmod(folder, 0o777)
        done = run("plugin", "list", env=environment)
        check("left out: others can write to it" in done.stderr.decode(), done.stderr.decode())
        check("good.so" not in done.stdout.decode(), "nothing of it is listed")
        done = run("run", "-p", "good", "--", *VECADD, env=environment)
        equal(done.returncode, 125, "a name that is only there")
        check(f"{folder} (EGPU_PLUGIN_PATH) was left out" in done.stderr.decode(), done.stderr.decode())
        os.chmod(folder, 0o700)


def added_while_it_runs(then):
    """A session that a plugin with code is added to, and what is done with it; returns the run's summary."""
    with tempfile.TemporaryDirectory() as folder:
        summary = os.path.join(folder, "summary.json")
        application = subprocess.Popen([EGPU, "run", "--summary", summary, "-p", "bandwidth", "--", WORKLOAD, "loop",
                                        "--seconds", "4"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        session = ["-s", str(application.pid)]
        added = wait_for(lambda: (lambda done: done if done.returncode == 0 else None)(
            run("probe", "add", *session, bad("good"))), "the plugin to be added")
        check(b"good" in added.stdout, added.stdout.decode())
        time.sleep(0.5)
        then(session)
        _, text = application.communicate(timeout=60)
        equal(application.returncode, 0, text.decode())
        with open(summary, encoding="utf-8") as file:
            return json.load(file)


def of_good(summary):
    return [finding for finding in summary["findings"] if finding["plugin"] == "good"]


@case("a plugin with code that is added to a running session is called")
def comes():
    check(of_good(added_while_it_runs(lambda session: None)), "no finding of it")


@case("its findings go with it")
def goes():
    def remove(session):
        done = run("probe", "remove", *session, "good")
        equal(done.returncode, 0, done.stderr.decode())
    equal(of_good(added_while_it_runs(remove)), [], "findings")


LONG = [WORKLOAD, "loop", "--seconds", "2"]
LOST = "egpu: error: egpu was ended by a plugin's code (ends-in-run): "


def begun(way, command, *options, plugin="ends_in_run", **more):
    """egpu run with a plugin that ends it in that way, in a process group of its own."""
    return subprocess.Popen([EGPU, "run", *options, "-p", bad(plugin), "--", *command], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                            env=dict(os.environ, ENDS_BY=way, **more))


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(each) for each in file.read().split()]


def session_of(process):
    """The child of egpu run that observes: the one with a segment; trials of the plugin come before."""
    found = wait_for(lambda: [pid for pid in children(process.pid)
                              if os.path.exists(f"/dev/shm/egpu-{os.getuid()}-{pid}")], "the session")
    return found[0]


def lost(name, way, said, command, code, out=b""):
    @case(f"{name}: said, the application is waited for, exit code {code}")
    def shown():
        with tempfile.TemporaryDirectory() as folder:
            summary = os.path.join(folder, "summary.json")
            before = os.listdir("/dev/shm")
            process = begun(way, command, "--strict", "--summary", summary)
            stdout, stderr = process.communicate(timeout=60)
            text = stderr.decode()
            check(LOST + said in text and "[EGPU-X096]" in text, text)
            words = " ".join(line.removeprefix("egpu: ") for line in text.splitlines())
            check(f"egpu plugin test NAME.test.yaml --plugin {bad('ends_in_run')} tries its code with maps that hold "
                  f"something; egpu plugin check {bad('ends_in_run')} with empty ones alone" in words, text)
            # Of an application that is over by the time its end could not be told any more, the code is not known.
            over = name == "closed files at the end" and process.returncode == 125
            check(process.returncode == code or over, f"exit code {process.returncode}, with {text}")
            check(out in stdout, f"the application's own output: {stdout!r}")
            equal(left_in_shared_memory(before), [], "left in shared memory")
            check(not os.path.exists(summary) or way == "close", "a summary of a run that was not seen to its end")


def then(code, command=LONG):
    return ["/bin/sh", "-c", " ".join(command) + f" > /dev/null; echo ended; exit {code}"]


for code, shown_code in ((0, 125), (5, 5)):
    lost(f"exit(0), application with {code}", "exit", "exit() with exit code 0", then(code), shown_code, b"ended")
    lost(f"_exit(0), application with {code}", "_exit", "exit code 0", then(code), shown_code, b"ended")
    lost(f"_exit(0) after the application, which ended with {code}", "_exit", "exit code 0", then(code, VECADD),
         shown_code, b"ended")
lost("a crash", "crash", "signal 11 (Segmentation fault)", then(5), 5, b"ended")
lost("a crash while a program with signal 15 ends", "crash", "signal 11", ["/bin/sh", "-c", " ".join(LONG) + "; kill $$"],
     143)
lost("SIGKILL", "kill", "signal 9 (Killed)", then(0), 125, b"ended")
lost("pthread_exit", "pthread_exit", "signal 6 (Aborted)", then(0), 125, b"ended")
lost("closed files", "close", "it closed egpu's files", then(5), 5, b"ended")
lost("closed files at the end", "close", "it closed egpu's files", then(5, VECADD), 5, b"ended")
lost("_exit(0) while it is loaded", "load", "exit code 0", LONG, 125)


@case("closed files and a fork that keeps them: SIGTERM still ends the application")
def closed_with_fork():
    with tempfile.TemporaryDirectory() as folder:
        process = begun("fork, close", [WORKLOAD, "loop", "--seconds", "60"], FORK_IN=os.path.join(folder, "pid"))
        reader = process.stderr
        line = b""
        while LOST.encode() not in line:
            line = reader.readline()
            check(line, "no word of what was lost")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        equal(process.returncode, 143, "exit code")


@case("what a plugin forks is neither waited for nor left behind")
def forks():
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "pid")
        process = begun("fork", LONG, FORK_IN=name)
        _, stderr = process.communicate(timeout=60)
        equal(process.returncode, 0, stderr.decode())
        with open(name, encoding="ascii") as file:
            pid = int(file.read())
        check(not os.path.exists(f"/proc/{pid}"), "it is still there")


@case("a process that a plugin stops is ended a while after the application")
def stopped():
    started = time.monotonic()
    process = begun("stop", then(5))
    _, stderr = process.communicate(timeout=150)
    check("it did not end within 64 s after the application" in stderr.decode(), stderr.decode())
    equal(process.returncode, 5, "exit code")
    check(time.monotonic() - started > 60, "it was not waited for")


@case("a process that a plugin stopped: interrupted twice, it ends")
def stopped_and_interrupted():
    process = begun("stop", ["/bin/sh", "-c", "trap '' INT; " + " ".join([WORKLOAD, "loop", "--seconds", "60"])])
    session = session_of(process)
    wait_for(lambda: open(f"/proc/{session}/stat").read().rpartition(")")[2].split()[0] == "T", "it to be stopped")
    application = children(session)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    equal(process.wait(timeout=60), 130, "exit code")
    text = os.read(process.stderr.fileno(), 65536).decode()
    check("it did not end when it was interrupted twice" in text, text)
    for pid in application:
        check(os.path.exists(f"/proc/{pid}"), "the application goes on")
    os.killpg(process.pid, signal.SIGKILL)


@case("a well one: two processes, the same output, exit code and session as without a supervisor")
def well():
    for command in (VECADD, ["/bin/sh", "-c", " ".join(VECADD) + "; exit 5"], [ENDINGS, "abort"]):
        alone = run("run", "-p", "bandwidth", "--", *command)
        process = begun("", command, plugin="good")
        stdout, stderr = process.communicate(timeout=60)
        equal((process.returncode, stdout), (alone.returncode, alone.stdout), stderr.decode())
        check("EGPU-X096" not in stderr.decode(), stderr.decode())


@case("who observes: a child where a plugin has code, egpu run itself where none has")
def observers():
    for plugin, watched in (("good", True), ("", False)):
        words = ["-p", bad(plugin)] if watched else ["-p", "bandwidth"]
        process = subprocess.Popen([EGPU, "run", *words, "--", WORKLOAD, "loop", "--seconds", "60"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        own = f"/dev/shm/egpu-{os.getuid()}-{process.pid}"
        if watched:
            check(session_of(process) != process.pid and not os.path.exists(own), "the child owns the session")
        else:
            wait_for(lambda: os.path.exists(own), "the session of egpu run itself")
        process.send_signal(signal.SIGTERM)
        equal(process.wait(timeout=60), 128 + signal.SIGTERM, "exit code")


def interrupted(name, send, times, code, said):
    @case(f"Ctrl-C: {name}")
    def shown():
        trap = "trap 'echo caught' INT; while true; do sleep 0.1; done" if times > 1 else "exec " + " ".join(
            [WORKLOAD, "loop", "--seconds", "60"])
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(EGPU, [EGPU, "run", "-p", bad("good"), "--", "/bin/sh", "-c", "echo ready; " + trap])
        text = b""

        def until(words):
            nonlocal text
            deadline = time.monotonic() + 30
            while words not in text:
                check(time.monotonic() < deadline, f"waited for {words!r}, got {text.decode()}")
                if select.select([terminal], [], [], 0.1)[0]:
                    try:
                        text += os.read(terminal, 65536)
                    except OSError:
                        check(words in text, f"no {words!r} in {text.decode()}")
        until(b"ready")
        time.sleep(0.5)
        for _ in range(times):
            send(pid, terminal)
            time.sleep(0.3)
        until(said)
        _, status = os.waitpid(pid, 0)
        equal(os.waitstatus_to_exitcode(status), code, text.decode())
        if times == 1:
            check(b"interrupted twice" not in text, text.decode())
        os.close(terminal)


def type_it(_, terminal):
    os.write(terminal, b"\x03")


interrupted("once, from the terminal", type_it, 1, 0, b"exited with 0")
interrupted("twice, from the terminal", type_it, 2, 130, b"interrupted twice")
interrupted("once, sent to egpu alone", lambda pid, _: os.kill(pid, signal.SIGINT), 1, 0, b"exited with 0")
interrupted("once, sent to the group", lambda pid, _: os.killpg(pid, signal.SIGINT), 1, 0, b"exited with 0")
interrupted("twice, sent to egpu alone", lambda pid, _: os.kill(pid, signal.SIGINT), 2, 130, b"interrupted twice")


@case("SIGTERM and SIGUSR1 reach the egpu that observes")
def passed_on():
    process = begun("", [WORKLOAD, "loop", "--seconds", "60"], plugin="good")
    session = session_of(process)
    wait_for(lambda: run("session", "info", "-s", str(session)).returncode == 0 or None, "the session")
    process.send_signal(signal.SIGUSR1)
    time.sleep(1.5)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate(timeout=60)
    equal(process.returncode, 143, stderr.decode())
    check("so far:" in stderr.decode() and "EGPU-X096" not in stderr.decode(), stderr.decode())


@case("who kills egpu with SIGKILL ends its child as well, and the application goes on")
def killed():
    process = begun("", [WORKLOAD, "loop", "--seconds", "60"], plugin="good")
    session = session_of(process)
    (application,) = wait_for(lambda: children(session), "the application")
    end(process)
    wait_for(lambda: not os.path.exists(f"/proc/{session}") or
             open(f"/proc/{session}/stat").read().rpartition(")")[2].split()[0] == "Z", "the child's end")
    check(os.path.exists(f"/proc/{application}"), "the application goes on")
    os.killpg(process.pid, signal.SIGKILL)


def compiles(compiler):
    @case(f"the template's hello.cpp without a warning, by {compiler}")
    def shown():
        if not shutil.which(compiler):
            raise Skip(f"no {compiler}")
        done = subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsyntax-only",
                               "-I", os.path.join(SOURCE, "core", "include"), "-I", os.path.join(BUILD, "tests", "sdk"),
                               os.path.join(SOURCE, "plugins", "template", "hello.cpp")], capture_output=True, timeout=120)
        equal(done.returncode, 0, done.stderr.decode())


for name in ("g++", "clang++", "clang++-14", "clang++-19"):
    compiles(name)


finish()
