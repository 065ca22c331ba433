#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installed into a prefix that is then moved: egpu demo runs from there, and programs compile against it."""
import os
import shutil
import subprocess
import tempfile

from harness import BUILD, SOURCE, case, check, equal, finish

HELLO = os.path.join(SOURCE, "tests", "data", "programs", "hello.bpf.c")


@case("a moved installation")
def moved():
    with tempfile.TemporaryDirectory() as folder:
        first, second = os.path.join(folder, "first"), os.path.join(folder, "second")
        done = subprocess.run(["cmake", "--install", BUILD, "--prefix", first], capture_output=True, timeout=120)
        equal(done.returncode, 0, "cmake --install, " + done.stderr.decode())
        shutil.move(first, second)
        egpu = os.path.join(second, "bin", "egpu")
        demo = subprocess.run([egpu, "demo"], capture_output=True, timeout=120, cwd=folder)
        text = demo.stderr.decode()
        equal(demo.returncode, 0, "egpu demo, " + text)
        check("gather_strided            2       n/a  8.39 MB  8.39 MB          32.0               12.5 %" in text, text)
        if shutil.which("clang"):
            own = subprocess.run([egpu, "run", "-p", HELLO, "--", os.path.join(second, "bin", "egpu-workload"), "vecadd",
                                  "--elements", "1024", "--block", "128", "--launches", "1"], capture_output=True, timeout=120)
            check("vector_add     32" in own.stderr.decode(), own.stderr.decode())
        for root, _, names in os.walk(second):
            for name in names:
                if name.endswith((".cmake", ".pc", ".json")):
                    with open(os.path.join(root, name), encoding="utf-8") as file:
                        check(SOURCE not in file.read(), f"{name} names the source folder")


finish()
