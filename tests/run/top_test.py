# SPDX-License-Identifier: Apache-2.0
"""egpu top and egpu run --live in a pseudo terminal, while a workload loops on the simulated GPU."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from harness import EGPU, WORKLOAD, case, check, end, equal, finish, plain, wait_for
from live_session import Run

ESCAPE = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[78]")
LOOP = [WORKLOAD, "loop", "--elements", "1024", "--seconds"]


class Terminal:
    """A command on a pseudo terminal of its own."""

    def __init__(self, command, rows=24, columns=120, stdout=None, environment=()):
        self.raw = b""
        parent, child = pty.openpty()
        self.file = parent
        self.resize(rows, columns)
        self.modes = termios.tcgetattr(child)
        self.child = child
        variables = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", **dict(environment)}
        for name in ("LC_ALL", "LC_CTYPE", "NO_COLOR"):
            if name not in dict(environment):
                variables.pop(name, None)
        self.process = subprocess.Popen(command, stdin=child, stdout=stdout or child, stderr=child, env=variables,
                                        start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self.process)
        os.close(self.child)
        os.close(self.file)

    def resize(self, rows, columns):
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.05):
        if select.select([self.file], [], [], seconds)[0]:
            self.raw += os.read(self.file, 65536)
        return self.raw

    def frame(self):
        """The lines of the last whole frame; [] before the first."""
        self.read()
        whole = self.raw.split(b"\x1b[J")
        frames = [part for part in whole[:-1] if b"\x1b[H" in part]
        if not frames:
            return []
        text = frames[-1].split(b"\x1b[H")[-1]
        return [ESCAPE.sub(b"", line).decode("utf-8", "replace").rstrip() for line in text.split(b"\r\n")]

    def press(self, keys):
        os.write(self.file, keys.encode())

    def wait_for(self, condition, what, seconds=20):
        return wait_for(lambda: condition(self.frame()), f"{what}; on the screen: {self.frame()}", seconds)

    def wait(self, seconds=20):
        deadline = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read()
        while select.select([self.file], [], [], 0.2)[0]:
            self.read()
        check(self.process.poll() is not None, "it ends")
        return self.process.returncode


def row_of(frame, name="loop_step"):
    for line in frame:
        if line.startswith(name):
            return re.split(r"\s{2,}", line)
    return None


def restored(terminal):
    check(terminal.raw.rstrip().endswith(b"\x1b[?25h\x1b[?1049l"), f"the screen is given back: {terminal.raw[-80:]!r}")
    equal(termios.tcgetattr(terminal.child)[3], terminal.modes[3], "modes of the terminal")


def top(run, **more):
    return Terminal([EGPU, "top", str(run.process.pid)], **more)


@case("figures move; launches and bytes are those of the kernel")
def moves():
    with Run(probes=["bandwidth"]) as run, top(run) as terminal:
        terminal.wait_for(lambda f: row_of(f) and row_of(f)[4].endswith("/s"), "a rate")
        seen = set()
        terminal.wait_for(lambda f: row_of(f) and (seen.add(tuple(row_of(f)[1:6])) or len(seen) > 3), "figures that move")
        row = row_of(terminal.frame())
        equal(row[2:4], ["n/a", "n/a"], "the simulated GPU knows no time")
        equal(row[4], row[5], "reads as much as it writes")
        equal(row[6], "instrumented (PTX)", "state")
        terminal.wait_for(lambda f: "\u25cf live" in f[0] and re.search("[\u2581-\u2588]", f[1]), "bars")
        terminal.press("q")
        equal(terminal.wait(), 0, "exit code")
        restored(terminal)
        run.stop()


@case("a probe is taken off and put back; original code runs meanwhile")
def probes():
    with Run(probes=["bandwidth"]) as run, top(run) as terminal:
        terminal.wait_for(lambda f: row_of(f) and row_of(f)[4].endswith("/s"), "a rate")
        terminal.press("p")
        terminal.wait_for(lambda f: any("[x] bandwidth" in line for line in f), "the list of probes")
        terminal.press(" ")
        terminal.wait_for(lambda f: any("original code runs in 1 kernel" in line for line in f), "that it is off")
        terminal.wait_for(lambda f: any("[ ] bandwidth" in line for line in f), "no cross")
        equal(run.probes()["bandwidth"]["state"], "detached", "state")
        terminal.press("p")
        terminal.wait_for(lambda f: row_of(f) and row_of(f)[4:6] == ["n/a", "n/a"], "no figures: unknown is not 0")
        check("original code runs" in row_of(terminal.frame())[6], "state of the kernel")
        check(float(row_of(terminal.frame())[1].replace(" ", "")) > 0, "launches go on")
        terminal.press("p ")
        terminal.wait_for(lambda f: any("is back: 2 sites in 1 kernel" in line for line in f), "that it is back")
        terminal.press("p")
        terminal.wait_for(lambda f: row_of(f) and row_of(f)[4].endswith("/s"), "a rate again")
        terminal.press("q")
        equal(terminal.wait(), 0, "exit code")
        _, summary = run.stop()
        equal(summary["session"]["probe_changes"], 2, "changes")


@case("filter, sort, pause, help")
def keys():
    with Run(probes=["bandwidth"]) as run, top(run) as terminal:
        terminal.wait_for(lambda f: row_of(f) and row_of(f)[4].endswith("/s"), "a rate")
        terminal.press("/nothere")
        terminal.wait_for(lambda f: row_of(f) is None and any("'nothere'" in line for line in f), "no kernel")
        terminal.press("\x7f" * 7 + "LOOP*\r")
        terminal.wait_for(lambda f: row_of(f) and "filter: LOOP*" in f[-1], "a glob, whatever the case")
        terminal.press("s")
        terminal.wait_for(lambda f: "by launches" in f[-1], "another order")
        terminal.press("?")
        terminal.wait_for(lambda f: any("caches" in line.lower() for line in f), "help")
        terminal.press("x ")
        terminal.wait_for(lambda f: "paused" in f[0], "a pause")
        before = terminal.frame()
        time.sleep(0.8)
        equal(terminal.frame(), before, "nothing moves")
        terminal.press(" ")
        terminal.wait_for(lambda f: row_of(f) != row_of(before), "it goes on")
        terminal.press("\x03")
        equal(terminal.wait(), 0, "Ctrl-C ends it")
        restored(terminal)
        run.stop()


@case("narrow, short, without UTF-8 and colours")
def small():
    with Run(probes=["bandwidth"]) as run:
        with top(run, environment={"LANG": "C", "NO_COLOR": "1"}) as terminal:
            terminal.wait_for(lambda f: row_of(f) and row_of(f)[4].endswith("/s"), "a rate")
            terminal.wait_for(lambda f: re.search(r"[_.:\-=+*#]{4}", f[1]), "bars in ASCII")
            check(all(byte < 0x80 for byte in terminal.raw), "ASCII only")
            check(b"\x1b[7m" not in terminal.raw and b"\x1b[1m" not in terminal.raw, "no colours")
            for rows, columns in ((24, 60), (10, 40), (5, 20), (3, 10), (1, 1), (50, 200)):
                terminal.raw = b""
                terminal.resize(rows, columns)
                terminal.process.send_signal(signal.SIGWINCH)
                time.sleep(0.5)
                frame = terminal.frame()
                check(0 < len(frame) <= rows, f"{len(frame)} lines on {rows}")
                check(max(map(len, frame)) <= columns, f"{max(map(len, frame))} columns on {columns}: {frame}")
                check(terminal.process.poll() is None, f"it lives with {rows} x {columns}")
            check(row_of(frame), "the kernel is back")
            terminal.press("q")
            equal(terminal.wait(), 0, "exit code")
        run.stop()


@case("the session's end stays on the screen until q")
def ended():
    with Run(probes=["bandwidth"]) as run, top(run) as terminal:
        terminal.wait_for(lambda f: row_of(f) and row_of(f)[4].endswith("/s"), "a rate")
        terminal.press("p")
        run.stop()
        terminal.wait_for(lambda f: "\u25cb ended" in f[0], "the end")
        terminal.press(" ")
        terminal.wait_for(lambda f: any("has ended" in line for line in f), "no change after the end")
        terminal.press("p")
        terminal.wait_for(lambda f: row_of(f) and row_of(f)[4].endswith("B"), "totals")
        time.sleep(0.5)
        check(terminal.process.poll() is None, "it waits")
        terminal.press("q")
        equal(terminal.wait(), 0, "exit code")


@case("a killed egpu process is the session's end")
def killed():
    with Run(probes=["bandwidth"]) as run, top(run) as terminal:
        terminal.wait_for(lambda f: row_of(f), "a row")
        run.process.kill()
        run.process.wait()
        terminal.wait_for(lambda f: "egpu process is gone" in f[0], "the end")
        terminal.press("q")
        terminal.wait()


@case("SIGTERM, SIGINT, SIGHUP and a crash give the terminal back")
def signals():
    with Run(probes=["bandwidth"]) as run:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSEGV, signal.SIGABRT):
            with top(run) as terminal:
                terminal.wait_for(lambda f: row_of(f), "a row")
                terminal.process.send_signal(number)
                equal(terminal.wait(), -number, f"ended by signal {number}")
                restored(terminal)
        run.stop()


@case("without a terminal one table is printed")
def one_table():
    with Run(probes=["bandwidth"]) as run:
        done = subprocess.run([EGPU, "top", str(run.process.pid)], capture_output=True, stdin=subprocess.DEVNULL, timeout=30)
        equal(done.returncode, 0, done.stderr.decode())
        check(b"\x1b" not in done.stdout, "plain text")
        row = row_of(done.stdout.decode().splitlines())
        check(row and row[4].endswith("/s"), done.stdout.decode())
        dumb = subprocess.run([EGPU, "top", "run.egpu"], capture_output=True, timeout=30)
        equal((dumb.returncode, b"EGPU-X099" in dumb.stderr), (2, True), "a file is no session")
        run.stop()


def live(command, options=("-p", "bandwidth"), **more):
    return Terminal([EGPU, "run", "--live", *options, "--", *command], **more)


@case("--live: the program's own output is byte-identical, the table goes")
def live_output():
    # The simulated GPU's speed is not that of a program alone: its last line is compared but for the count.
    wanted = re.sub(rb"\d+ launches", b"N launches", plain(LOOP + ["1"]).stdout)
    read_end, write_end = os.pipe()
    with live(LOOP + ["1"], stdout=write_end) as terminal:
        os.close(write_end)
        equal(terminal.wait(), 0, "exit code")
        out = b""
        while piece := os.read(read_end, 65536):
            out += piece
        os.close(read_end)
        equal(re.sub(rb"\d+ launches", b"N launches", out), wanted, "stdout")
        check(b"loop_step" in terminal.raw and b"LAUNCH/S" in terminal.raw, "a table was drawn")


@case("--live on one terminal: between the table's writes stand the program's lines, unchanged")
def live_lines():
    lines = b"".join(b"line %d\n" % i for i in range(400))
    script = "for i in $(seq 0 399); do echo line $i; done; sleep 1; exec " + " ".join(LOOP + ["1"])
    with live(["/bin/sh", "-c", script]) as terminal:
        equal(terminal.wait(), 0, "exit code")
        drawn = re.findall(rb"\x1b7.*?\x1b8", terminal.raw, re.S)
        check(len(drawn) > 4, "the table was drawn")
        check(drawn[-1].startswith(b"\x1b7\x1b[r") and drawn[-1].endswith(b"\x1b[J\x1b8"), f"it went: {drawn[-1]!r}")
        rest = re.sub(rb"\x1b7.*?\x1b8", b"", terminal.raw, flags=re.S)
        check(lines.replace(b"\n", b"\r\n") in rest, "the program's lines are whole and in order")
        check(b"\x1b" not in rest.replace(b"\x1b[6A", b""), f"nothing else is drawn: {rest[:200]!r}")
        region = re.search(rb"\x1b\[1;(\d+)r", terminal.raw)
        equal(int(region[1]), 18, "lines that scroll")
        for part in drawn[1:-1]:
            rows = [int(row) for row in re.findall(rb"\x1b\[(\d+);1H", part)]
            check(rows and min(rows) > 18 and max(rows) <= 24, f"only rows of the table: {rows}")


@case("--live: the last frame is of the end, also of a program that is over before a second one")
def live_last():
    with live([WORKLOAD, "vecadd", "--elements", "64", "--launches", "3"]) as terminal:
        equal(terminal.wait(), 0, "exit code")
        drawn = re.findall(rb"\x1b7.*?\x1b8", terminal.raw, re.S)
        rows = [ESCAPE.sub(b" ", part).decode() for part in drawn if b";1H" in part and not part.startswith(b"\x1b7\x1b[r")]
        check(re.search(r"vector_add +3 ", rows[-1]), f"the last frame has the launches: {rows[-1]!r}")


@case("--live: refused by name where it can't be right")
def live_refused():
    done = subprocess.run([EGPU, "run", "--live", "--", *LOOP, "1"], capture_output=True, stdin=subprocess.DEVNULL, timeout=30)
    equal((done.returncode, b"EGPU-X081" in done.stderr, done.stdout), (125, True, b""), done.stderr.decode())
    for environment, size in (({"TERM": "dumb"}, (24, 80)), ({}, (8, 80))):
        with live(LOOP + ["1"], rows=size[0], columns=size[1], environment=environment) as terminal:
            equal((terminal.wait(), b"EGPU-X081" in terminal.raw, b"\x1b" in terminal.raw), (125, True, False), "refused")


@case("--live: a resize and a stop with Ctrl-Z keep the screen in order")
def live_resize():
    with live(LOOP + ["20"]) as terminal:
        wait_for(lambda: b"loop_step" in terminal.read(), "the table")
        terminal.raw = b""
        terminal.resize(40, 100)
        wait_for(lambda: b"\x1b[1;32r" in terminal.read(), "another region")
        check(b"\x1b7\x1b[r\x1b[19;1H\x1b[J\x1b8" in terminal.raw, "the old one was given back")
        terminal.raw = b""
        terminal.resize(6, 100)
        given_back = b"\x1b7\x1b[r\x1b[33;1H\x1b[J\x1b8"
        wait_for(lambda: given_back in terminal.read(), "no table on six lines")
        terminal.raw = terminal.raw.partition(given_back)[2]  # before it may stand a frame of the old size
        time.sleep(0.6)
        check(b"loop_step" not in terminal.read(), "nothing is drawn")
        terminal.resize(24, 100)
        wait_for(lambda: b"loop_step" in terminal.read(), "the table again")
        terminal.raw = b""
        os.kill(terminal.process.pid, signal.SIGTSTP)
        wait_for(lambda: b"\x1b7\x1b[r\x1b[19;1H\x1b[J\x1b8" in terminal.read(), "the region is given back")
        terminal.raw = b""
        time.sleep(0.3)
        os.kill(terminal.process.pid, signal.SIGCONT)
        wait_for(lambda: b"\x1b[1;18r" in terminal.read(), "and taken again")
        os.killpg(terminal.process.pid, signal.SIGINT)
        equal(terminal.wait(), 0, "exit code")


finish()
