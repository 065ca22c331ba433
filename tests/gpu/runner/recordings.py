# SPDX-License-Identifier: Apache-2.0
"""--record: what NVIDIA's runtime asks the driver for and what it calls, per program, for tests/data/recordings."""
import ctypes.util
import datetime
import os
import shutil
import subprocess
import sys
import tempfile

from programs import Skip, build, run

PROGRAMS = ["tests/workloads/toolkit/vecadd.cu", "tests/workloads/toolkit/two_kernels.cu", "tests/gpu/programs/dynamic_shared.cu",
            "tests/gpu/programs/constant_updated.cu", "tests/gpu/programs/shared_globals.cu",
            "tests/gpu/programs/graphs.cu"]
ARGUMENTS = {"graphs": ["3"]}


def toolkit_nvcc():
    return shutil.which("nvcc") or next((path for path in ["/usr/local/cuda/bin/nvcc"] if os.path.exists(path)), None)


def driver_path():
    """The file of the driver that programs get: where the loader finds libcuda.so.1."""
    name = ctypes.util.find_library("cuda") or "libcuda.so.1"
    for line in subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout.splitlines():
        if line.strip().startswith(name + " ") and "x86-64" in line:
            return line.split("=>")[1].strip()
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") + ["/usr/local/nvidia/lib64", "/usr/lib64"]:
        if folder and os.path.exists(os.path.join(folder, "libcuda.so.1")):
            return os.path.join(folder, "libcuda.so.1")
    raise Skip("no libcuda.so.1 found")


def recorder_path(places):
    for folder in (places.programs, os.path.join(os.path.dirname(places.binaries), "lib"), os.path.dirname(places.binaries)):
        for root, _, names in os.walk(folder):
            if "libegpu_test_recorder.so" in names:
                return os.path.join(root, "libegpu_test_recorder.so")
    raise Skip("libegpu_test_recorder.so is not here: it is built with the tests")


def shortened(path):
    """Lines of a file; a line that follows itself N times stands once, with " xN"."""
    found = []
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if found and found[-1][0] == line:
                found[-1][1] += 1
            else:
                found.append([line, 1])
    return [line if times == 1 else f"{line} x{times}" for line, times in found]


def record(program, arguments, driver, recorder):
    """(Outcome, lines of lookups, lines of calls) of one run."""
    with tempfile.TemporaryDirectory() as folder:
        lookups, calls = os.path.join(folder, "lookups"), os.path.join(folder, "calls")
        environment = dict(os.environ, LD_PRELOAD=recorder, EGPU_RECORD_DRIVER=driver, EGPU_RECORD_LOOKUPS=lookups,
                           EGPU_RECORD_CALLS=calls)
        outcome = run([program] + arguments, 120, environment)
        return outcome, shortened(lookups), shortened(calls)


def write(folder, name, about, lines):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(f"# {about}, recorded {datetime.date.today().isoformat()}, driver {version()}\n")
        file.write("".join(line + "\n" for line in lines))


def version():
    asked = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True,
                           text=True, check=False)
    return asked.stdout.strip() or "unknown"


def record_all(places, folder):
    os.makedirs(folder, exist_ok=True)
    try:
        driver, recorder = driver_path(), recorder_path(places)
    except Skip as reason:
        print(f"tests/gpu/run --record: {reason}", file=sys.stderr)
        return 1
    failed = 0
    lookups = {}
    for source in PROGRAMS:
        name = os.path.splitext(os.path.basename(source))[0]
        seen = {}
        for runtime in ("shared", "static"):
            try:
                program = build(source, runtime, None, places)
            except Skip as reason:
                print(f"{name}-{runtime}: skipped: {reason}")
                continue
            outcome, asked, seen[runtime] = record(program, ARGUMENTS.get(name, []), driver, recorder)
            lookups.update(dict.fromkeys(asked))
            print(f"{name}-{runtime}: exit code {outcome.code} {outcome.errors[-300:].strip()}", flush=True)
            failed += outcome.code != 0
        if len(seen) == 2 and seen["shared"] == seen["static"]:
            write(folder, f"{name}.calls", f"{name}, runtime shared and static alike", seen["shared"])
        else:
            for runtime, calls in seen.items():
                write(folder, f"{name}-{runtime}.calls", f"{name}, runtime {runtime}", calls)
    write(folder, "lookups", "all programs", lookups)
    return 1 if failed else 0
