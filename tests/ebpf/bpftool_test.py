# SPDX-License-Identifier: Apache-2.0
"""Bundled programs are objects like any other: bpftool makes a skeleton of each, which a C compiler takes, and prints its
types. Usage: bpftool_test.py OBJECT... Exit code 77: there is no bpftool."""
import os
import shutil
import subprocess
import sys
import tempfile


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def problem_with(bpftool, path, folder):
    """"" or what is wrong."""
    skeleton = run(bpftool, "gen", "skeleton", path)
    if skeleton.returncode != 0:
        return f"gen skeleton: {skeleton.stderr}"
    name = os.path.basename(path).removesuffix(".bpf.o").replace("-", "_")
    source = os.path.join(folder, name + ".c")
    types = run(bpftool, "btf", "dump", "file", path, "format", "c")
    if types.returncode != 0:
        return f"btf dump format c: {types.stderr}"
    with open(source, "w", encoding="utf-8") as file:
        file.write(types.stdout + skeleton.stdout)  # global variables are of types of ours
    compiled = run(shutil.which("cc") or "gcc", "-fsyntax-only", "-x", "c", source)
    if compiled.returncode != 0:
        return f"the skeleton does not compile: {compiled.stderr}"
    types = run(bpftool, "btf", "dump", "file", path)
    if types.returncode != 0 or "egpu_" not in types.stdout:
        return f"btf dump: {types.stderr or 'none of our types in it'}"
    return ""


def main():
    bpftool = shutil.which("bpftool") or shutil.which("bpftool", path="/usr/sbin:/sbin")
    if bpftool is None:
        print("skipped: there is no bpftool (Debian's package bpftool)")
        return 77
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in sys.argv[1:]:
            wrong = problem_with(bpftool, path, folder)
            failures += 1 if wrong else 0
            print(f"{os.path.basename(path)}: {wrong or 'skeleton and types'}")
    print(f"{len(sys.argv) - 1 - failures} passed, {failures} failed")
    return 1 if failures or len(sys.argv) < 2 else 0


sys.exit(main())
