# SPDX-License-Identifier: Apache-2.0
"""Programs of the cases: built by nvcc when their source changed, started with a time limit, read back."""
import hashlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import time

from places import ROOT

GENCODE = ["-gencode", "arch=compute_90,code=[compute_90,sm_90]"]
PTX_ONLY = ["-gencode", "arch=compute_90,code=compute_90"]

# Cases that run at a time (--jobs) share these.
GUARD = threading.Lock()
RUNNING = set()  # processes that were started and not yet waited for
STOPPING = threading.Event()  # nothing more is started
BUILDS = {}  # a lock for each program: two cases may need the same one


class Skip(Exception):
    """A case that can't run here; the text is the reason."""


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def equal(got, wanted, what):
    check(got == wanted, f"{what}: {got!r}, expected {wanted!r}")


def command_line(source, runtime, options, program, nvcc):
    toolkit = os.path.dirname(os.path.dirname(nvcc))
    line = [nvcc, "-O2", "-std=c++17", "-lineinfo", "-cudart", runtime] + (options or GENCODE)
    # A DT_RPATH, which beats LD_LIBRARY_PATH: as some installations build their programs.
    if runtime == "shared":
        line += ["-Xlinker", "--disable-new-dtags", "-Xlinker", "-rpath", "-Xlinker", os.path.join(toolkit, "lib64")]
    with open(source, encoding="utf-8") as file:
        if "<cuda.h>" in file.read():
            line += ["-L" + os.path.join(toolkit, "lib64", "stubs"), "-lcuda"]
    return line + ["-o", program, source]


def digest(source, line):
    folder = os.path.dirname(source)
    content = hashlib.sha256(" ".join(line).encode())
    for path in [source] + sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".cuh")):
        with open(path, "rb") as file:
            content.update(file.read())
    return content.hexdigest()


def build(source, runtime, options, places):
    """Path of the program built from a source (a path from the root of the tree); Skip where it can't be built."""
    # tests/gpu/programs/graphs.cu -> gpu-graphs-static, or -simulated: machine code is no use there.
    if places.simulated:
        runtime, options = "shared", PTX_ONLY
    name = f"{source.split('/')[1]}-{os.path.splitext(os.path.basename(source))[0]}-{'simulated' if places.simulated else runtime}"
    program = os.path.join(places.programs, name)
    if places.prebuilt:
        if not os.path.exists(program):
            raise Skip(f"{os.path.basename(program)} is not among the programs built before (--prebuilt)")
        return program
    if places.nvcc is None:
        raise Skip("needs nvcc")
    with GUARD:
        building = BUILDS.setdefault(program, threading.Lock())
    with building:
        return build_if_changed(os.path.join(ROOT, source), runtime, options, program, places)


def build_if_changed(path, runtime, options, program, places):
    line = command_line(path, runtime, options, program, places.nvcc)
    wanted = digest(path, line)
    stamp = program + ".built-from"
    if os.path.exists(stamp) and os.path.exists(program):
        with open(stamp, encoding="utf-8") as file:
            if file.read() == wanted:
                return program
    os.makedirs(places.programs, exist_ok=True)
    made = subprocess.run(line, capture_output=True, text=True, check=False, timeout=600)
    check(made.returncode == 0, f"nvcc fails: {made.stdout}{made.stderr}")
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(wanted)
    return program


class Outcome:
    """How a process ended and what it wrote."""

    def __init__(self, pid, code, output, errors):
        self.pid = pid
        self.code = code
        self.output = output.decode(errors="replace")
        self.errors = errors.decode(errors="replace")

    def expected_accesses(self):
        """{(kernel, space, access): N} of the lines "expect KERNEL SPACE ACCESS N"."""
        found = {}
        for line in self.output.splitlines():
            words = line.split()
            if len(words) == 5 and words[0] == "expect":
                found[words[1], words[2], words[3]] = int(words[4])
        return found

    def lines(self, first_word):
        """The words of the lines on stderr that begin with one, without it."""
        return [line.split()[1:] for line in self.errors.splitlines() if line.startswith(first_word + " ")]

    def without_egpu(self):
        """stderr without egpu's own lines and without figures that differ from run to run."""
        return "".join(line for line in self.errors.splitlines(keepends=True)
                       if not line.startswith(("egpu:", "stall ", "launches ", "kept ")))


def start(command, environment=None):
    """Starts a program in a process group of its own, so that a time limit ends all of it and nothing else."""
    if STOPPING.is_set():
        raise Skip("the run was stopped")
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment, start_new_session=True)
    with GUARD:
        RUNNING.add(process)
    return process


def end_group(process, number=signal.SIGKILL):
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def end_all():
    """The person stops the run: no program of it outlives it, and egpu gets the time to clear its session away."""
    STOPPING.set()
    for number in (signal.SIGTERM, signal.SIGKILL):
        with GUARD:
            for process in RUNNING:
                end_group(process, number)
        deadline = time.monotonic() + 5
        while any(process.poll() is None for process in list(RUNNING)) and time.monotonic() < deadline:
            time.sleep(0.05)


def finish(process, seconds):
    try:
        return outcome_of(process, seconds)
    finally:
        with GUARD:
            if process.returncode is not None:
                RUNNING.discard(process)


def outcome_of(process, seconds):
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        end_group(process)
        output, errors = process.communicate(timeout=30)
        raise AssertionError(f"not done after {seconds} s, ended; it had written: "
                             f"{output.decode(errors='replace')[-400:]}{errors.decode(errors='replace')[-1500:]}") from None
    return Outcome(process.pid, process.returncode, output, errors)


def run(command, seconds, environment=None):
    return finish(start(command, environment), seconds)


def observe(places, command, options, seconds, environment=None):
    """A program under egpu run: (Outcome, summary or None)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "summary.json")
        line = places.egpu_run("--summary", path, *options) + ["--"] + command
        outcome = run(line, seconds, environment or places.environment())
        return outcome, read_summary(path)


def read_summary(path):
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)
