#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The stand-ins against recordings of NVIDIA's runtime and driver (tests/data/recordings/README.md)."""
import difflib
import fnmatch
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "run"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "gpu", "runner"))

from harness import BUILD, LIBRARIES, SOURCE, Skip, STAND_INS, case, check, equal, finish  # noqa: E402
import programs  # noqa: E402
import recordings  # noqa: E402

FOLDER = os.path.join(SOURCE, "tests", "data", "recordings")
DRIVER = STAND_INS[0]
RUNTIME = STAND_INS[1]
AGENT = os.path.join(LIBRARIES, "libegpu-agent.so")

# Asks the driver in its process as the runtime does; prints the answers as JSON.
ASK = """
import ctypes, json, sys
driver = ctypes.CDLL("libcuda.so.1")
get = driver.cuGetProcAddress_v2
get.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, ctypes.c_uint64, ctypes.POINTER(ctypes.c_int)]
answers = []
for name, version, flags in json.load(sys.stdin):
    found, status = ctypes.c_void_p(), ctypes.c_int()
    error = get(name.encode(), ctypes.byref(found), version, flags, ctypes.byref(status))
    answers.append(error == 0 and bool(found.value))
json.dump(answers, sys.stdout)
"""


def lines(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return [line for line in file.read().splitlines() if line and not line.startswith("#")]


def named_differences(name):
    """{function: reason} of a file with lines "NAME: reason"."""
    found = {}
    for line in lines(name):
        function, _, reason = line.partition(":")
        check(reason.strip(), f"{name}: {function} has no reason")
        found[function.strip()] = reason.strip()
    return found


def recorded_lookups():
    """{(name, version, flags): found}."""
    found = {}
    for line in lines("lookups"):
        name, version, flags, answer = line.split()[:4]
        found["" if name == "-" else name, int(version), int(flags)] = answer == "found"
    check(len(found) > 400, f"only {len(found)} lookups recorded")
    return found


def answers(keys, preload):
    done = subprocess.run([sys.executable, "-c", ASK], input=json.dumps(keys), capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, LD_PRELOAD=":".join(preload)), check=False)
    equal(done.returncode, 0, f"exit code of the asking process: {done.stderr}")
    return dict(zip(keys, json.loads(done.stdout)))


@case("lookups are answered as recorded")
def lookups():
    recorded = recorded_lookups()
    by_right = named_differences("differences.lookups")
    seen = answers(list(recorded), [DRIVER])
    equal([key for key, found in recorded.items() if seen[key] and not found], [], "functions that the driver has not got")
    different = {key[0] for key, found in recorded.items() if seen[key] != found}
    unnamed = {name for name in different if not any(fnmatch.fnmatchcase(name, glob) for glob in by_right)}
    equal(sorted(unnamed), [], "functions that are missing and not named")
    gone = [glob for glob in by_right if not any(fnmatch.fnmatchcase(name, glob) for name in different)]
    equal(gone, [], "differences that are named and not there")


@case("lookups with the agent before the driver are answered as without")
def lookups_with_agent():
    keys = list(recorded_lookups())
    equal(answers(keys, [AGENT, DRIVER]), answers(keys, [DRIVER]), "answers")


def without(calls, by_right):
    """Names and details of the calls that both sides make, each series of the same once."""
    found = []
    for line in calls:
        words = [word for word in line.split() if not (word.startswith("x") and word[1:].isdigit())]
        if words[0] in by_right:
            continue
        entry = " ".join([words[0]] + words[3:])
        if not found or found[-1] != entry:
            found.append(entry)
    return found


def same_calls(source):
    name = os.path.splitext(os.path.basename(source))[0]
    recording = f"{name}.calls"
    if not os.path.exists(os.path.join(FOLDER, recording)):
        raise Skip(f"no recording of {name}")
    with open(RUNTIME, "rb") as file:
        if name == "graphs" and b"cudaGraphInstantiate" not in file.read():
            raise Skip("the simulated runtime has no graphs")

    class Where:
        simulated = True
        prebuilt = False
        nvcc = os.environ.get("CUDACXX") or recordings.toolkit_nvcc()
        programs = os.path.join(BUILD, "gpu-tests")

    try:
        program = programs.build(source, "shared", None, Where)
    except programs.Skip as reason:
        raise Skip(str(reason)) from None
    with tempfile.TemporaryDirectory() as folder:
        calls = os.path.join(folder, "calls")
        recorder = os.path.join(BUILD, "workloads", "libegpu_test_recorder.so")
        done = subprocess.run([program] + recordings.ARGUMENTS.get(name, []), capture_output=True, text=True, timeout=120, check=False,
                              env=dict(os.environ, LD_PRELOAD=f"{RUNTIME}:{recorder}", EGPU_RECORD_DRIVER=DRIVER,
                                       EGPU_RECORD_CALLS=calls))
        equal(done.returncode, 0, f"exit code ({done.stderr})")
        with open(calls, encoding="utf-8") as file:
            seen = file.read().splitlines()
    by_right = {place.removeprefix(name + "/") for place in named_differences("differences.calls")}
    ours, theirs = without(seen, by_right), without(lines(recording), by_right)
    if ours != theirs:
        raise AssertionError("calls differ:\n" + "\n".join(difflib.unified_diff(theirs, ours, "recorded", "stand-in", lineterm="")))


for one in recordings.PROGRAMS:
    case(f"calls of {os.path.basename(one)}")(lambda one=one: same_calls(one))

finish()
