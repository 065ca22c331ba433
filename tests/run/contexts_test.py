#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with several contexts: every launch runs a copy, and the sums over all of them are exact."""
import os

from harness import BUILD, Skip, case, check, equal, finish, observed

CONTEXTS = os.path.join(BUILD, "workloads", "egpu-contexts")
ELEMENTS = 1024


def run(way):
    done, summary = observed([CONTEXTS, way], options=["--strict"], env=dict(os.environ, EGPU_SIMULATED_DEVICES="2"))
    if done.returncode == 77:
        raise Skip("one device")
    equal(done.returncode, 0, "exit code of " + done.stderr.decode())
    launched = int(done.stdout.decode().split()[-1])
    check(launched > 0, "launches")
    kernels = [kernel for kernel in summary["kernels"] if kernel["launches"]]
    equal(sum(kernel["launches"] for kernel in kernels), launched, "launches")
    equal(sum(kernel["launches_instrumented"] for kernel in kernels), launched, "instrumented launches")
    accesses = {}
    for metric in summary["metrics"]:
        if metric["name"] == "bandwidth.accesses" and metric["value"]:
            accesses[metric["access"]] = accesses.get(metric["access"], 0) + metric["value"]
    equal(accesses, {"load": launched * ELEMENTS, "store": launched * ELEMENTS}, "accesses")


for name in ("two", "two-devices", "first-ends", "reset", "reload"):
    case("contexts " + name)(lambda name=name: run(name))

finish()
