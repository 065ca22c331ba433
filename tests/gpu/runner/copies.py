# SPDX-License-Identifier: Apache-2.0
"""A program that says what each of its kernels copies asynchronously: "expect_copies KERNEL ACCESS COPIES BYTES"."""
import os

import states
from programs import check, equal, observe, run


def expected_copies(output):
    """{(kernel, access): (copies, bytes)}."""
    found = {}
    for line in output.splitlines():
        words = line.split()
        if words and words[0] == "expect_copies":
            found[words[1], words[2]] = (int(words[3]), int(words[4]))
    return found


def copies_form(case, places, found, commands, made, metrics_of, alike):
    """Alone, then with a program at each asynchronous copy: the counts and bytes that the program says."""
    limit = case.get("time_limit", 60)
    for label, command in commands:
        alone = run(command, limit, places.plain_environment())
        equal(alone.code, 0, f"exit code without egpu ({alone.output[-300:]}{alone.errors[-800:]})")
        expected = expected_copies(alone.output)
        check(expected, "the program says nothing of its copies")
        observed, summary = observe(places, command, ["-p", made], limit)
        states.tell(summary, found, label, observed.errors)
        alike(alone, observed)
        states.check_states(case, summary, observed.errors)
        metrics = metrics_of(summary, os.path.basename(made).split(".")[0])
        counted = {}
        for (kernel, name, labels), value in metrics.items():
            if value:
                both = counted.setdefault((kernel, dict(labels)["access"]), [0, 0])
                both[0 if name.endswith(".copies") else 1] += value
        equal({key: tuple(both) for key, both in sorted(counted.items())}, dict(sorted(expected.items())),
              "copies and bytes of each kernel")
        found.setdefault("says", []).append(f"{len(expected)} kernels' copies and bytes compared, equal")
