#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the command-line cases of .test files.

A case is a block of lines, blocks are separated by blank lines:

    NAME          what it shows (required, first)
    FILE name     the lines that follow, each behind "| ", are written to this file before the case runs
    REQUIRES what a program, such as clang, ptxas, nvcc, egpu-ui: without it the case is skipped, with that reason
    RUN command   by /bin/sh in a scratch folder, egpu first on PATH; $DATA is the folder of test data
    EXPECT text   a line of stdout or stderr holds this text; repeatable, in order
    EXPECT_REGEX  the same with a regular expression that matches a whole line
    REFUSE text   no line holds this text
    EXIT n        exit code, 0 where it isn't given
    TIMEOUT s     60 where it isn't given

Usage: run_cases.py BUILD_FOLDER DATA_FOLDER FILE.test...
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile


def parse(path):
    cases, case, file_name = [], None, None
    for number, line in enumerate(open(path, encoding="utf-8").read().splitlines() + [""], 1):
        if line.startswith("#"):
            continue
        if line.startswith("|") and case is not None and file_name is not None:
            case["files"][file_name] += line[2:] + "\n"
            continue
        if not line.strip():
            if case is not None:
                cases.append(case)
            case, file_name = None, None
            continue
        key, _, value = line.partition(" ")
        value = value.strip()
        if key == "NAME":
            case = {"name": value, "files": {}, "run": None, "checks": [], "exit": 0, "timeout": 60, "requires": [],
                    "where": f"{path}:{number}"}
        elif case is None:
            sys.exit(f"{path}:{number}: a case begins with NAME")
        elif key == "FILE":
            file_name = value
            case["files"][value] = ""
        elif key == "RUN":
            case["run"] = value
        elif key in ("EXPECT", "EXPECT_REGEX", "REFUSE"):
            case["checks"].append((key, value))
        elif key in ("EXIT", "TIMEOUT"):
            case[key.lower()] = int(value)
        elif key == "REQUIRES":
            case["requires"].append(value)
        else:
            sys.exit(f"{path}:{number}: unknown key {key}")
    return cases


def missing(what):
    if what == "ptxas":
        return not (shutil.which("ptxas") or os.path.exists("/usr/local/cuda/bin/ptxas"))
    return shutil.which(what) is None


def failures(case, output, code):
    found = []
    if code != case["exit"]:
        found.append(f"exit code {code}, expected {case['exit']}")
    lines, at = output.splitlines(), 0
    for kind, text in case["checks"]:
        if kind == "REFUSE":
            if any(text in line for line in lines):
                found.append(f"must not be printed: {text}")
            continue
        hit = None
        for index in range(at, len(lines)):
            if text in lines[index] if kind == "EXPECT" else re.fullmatch(text, lines[index]):
                hit = index
                break
        if hit is None:
            found.append(f"{kind} {text}: not printed (or not in this order)")
        else:
            at = hit
    return found


def run(case, build, data):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in case["files"].items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(content)
        environment = dict(os.environ, DATA=data, EGPU_CACHE="0")
        try:
            done = subprocess.run(["/bin/sh", "-c", case["run"]], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=case["timeout"])
        except subprocess.TimeoutExpired as expired:
            return [f"ran longer than {case['timeout']} s"], (expired.stdout or b"").decode("utf-8", "replace")
        output = done.stdout.decode("utf-8", "replace")
        return failures(case, output, done.returncode), output


def main():
    build, data = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    os.environ["PATH"] = os.path.join(build, "bin") + ":" + os.environ["PATH"]
    failed = 0
    for path in sys.argv[3:]:
        for case in parse(path):
            lacking = [what for what in case["requires"] if missing(what)]
            label = f"{os.path.basename(path)}.{case['name'].replace(' ', '_')}"
            if lacking:
                print(f"Skipped\nneeds {', '.join(lacking)}\n[  SKIPPED ] {label} (0 ms)")
                continue
            problems, output = run(case, build, data)
            if problems:
                failed += 1
                print(f"FAILED {case['where']}: {case['name']}\n  $ {case['run']}")
                for problem in problems:
                    print(f"  {problem}")
                print("  output:\n" + "".join(f"    {line}\n" for line in output.splitlines()))
            else:
                print(f"[       OK ] {label} (0 ms)")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
