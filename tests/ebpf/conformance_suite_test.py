#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The public eBPF conformance suite on the engines that every machine has, as `egpu conformance` runs it.

The suite is not part of this repository: it is found in $EGPU_BPF_CONFORMANCE, else beside the source tree.
On a machine with a GPU, tests/gpu/run runs it there.

Usage: conformance_suite_test.py EGPU SOURCE_FOLDER
"""
import os
import subprocess
import sys

SKIPPED = 77
ENGINES = ("interpreter", "simulated")
# callx (no instruction of RFC 9669) and call_unwind_fail (a helper of the suite's own).
NOT_APPLICABLE = 2


def main():
    egpu, source = sys.argv[1:]
    suite = os.environ.get("EGPU_BPF_CONFORMANCE", os.path.join(source, "..", "shared", "bpf_conformance"))
    if not os.path.isdir(os.path.join(suite, "tests")):
        print("skipped: no conformance suite: set EGPU_BPF_CONFORMANCE to the folder that holds its tests/ and negative/")
        return SKIPPED
    wrong = 0
    for engine in ENGINES:
        done = subprocess.run([egpu, "conformance", suite, "--engine", engine], capture_output=True, text=True, timeout=300)
        last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr
        print(f"{engine}: {last}")
        passed = int(last.split()[0]) if done.returncode == 0 else 0
        if done.returncode != 0 or passed < 240 or not last.endswith(f"0 failed, {NOT_APPLICABLE} skipped"):
            print(done.stdout + done.stderr)
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
