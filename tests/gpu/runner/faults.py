# SPDX-License-Identifier: Apache-2.0
"""Every driver call of the agent fails in turn (libegpu-agent-faults.so, EGPU_FAULT_CALL=N): the program's result stays
right, and where a count is not the whole, that is said."""
import os
import shutil
import tempfile

import states
from places import Places
from programs import Skip, check, equal, observe, run

MOST_CALLS = 2000


class WithFaults(Places):
    """The places, with an installation whose agent is the one with faults."""

    def __init__(self, places, folder):
        self.__dict__.update(places.__dict__)
        agent = os.path.join(places.libraries, "libegpu-agent-faults.so")
        if not os.path.exists(agent):
            raise Skip("no libegpu-agent-faults.so: build the target egpu_agent_faults")
        os.makedirs(os.path.join(folder, "bin"))
        os.makedirs(os.path.join(folder, "lib"))
        self.egpu = os.path.join(folder, "bin", "egpu")
        shutil.copy2(places.egpu, self.egpu)
        libraries = os.path.join(folder, "lib", "egpu")
        shutil.copytree(places.libraries, libraries)
        shutil.copy2(agent, os.path.join(libraries, "libegpu-agent.so"))
        if os.path.isdir(os.path.join(os.path.dirname(places.binaries), "share")):
            os.symlink(os.path.join(os.path.dirname(places.binaries), "share"), os.path.join(folder, "share"))


def said(outcome):
    """egpu's lines that say that something is missing."""
    return [line for line in outcome.errors.splitlines()
            if line.startswith("egpu: ") and any(word in line for word in ("warning", "error", "at least", "incomplete", "no totals"))]


def first_line(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.readline().strip()


def faults_form(case, places, found, commands):
    step = case.get("quick_step", 1) if places.quick else 1
    limit = case.get("time_limit", 60)
    with tempfile.TemporaryDirectory() as folder:
        with_faults = WithFaults(places, os.path.join(folder, "egpu"))
        report = os.path.join(folder, "report")
        for _, command in commands:
            alone = run(command, limit, places.plain_environment())
            equal(alone.code, 0, f"exit code without egpu ({alone.errors[-500:]})")
            options = case.get("egpu", ["-p", "bandwidth"])
            whole, summary = observe(with_faults, command, options, limit)
            check(not said(whole), f"without a fault nothing is missing: {said(whole)}")
            counts = states.counted(summary)
            failed, exact = [], 0
            for number in range(1, MOST_CALLS, step):
                if os.path.exists(report):
                    os.remove(report)
                environment = places.environment(EGPU_FAULT_CALL=str(number), EGPU_FAULT_REPORT=report)
                outcome, summary = observe(with_faults, command, options, limit, environment)
                line = first_line(report)
                if not line:
                    break
                failed.append(line)
                equal(outcome.output, alone.output, f"stdout after {line}")
                equal(outcome.code, 0, f"exit code after {line} ({outcome.errors[-800:]})")
                same = summary is not None and states.counted(summary) == counts
                exact += same
                check(same or said(outcome), f"after {line} the counts are others and nothing says so: {outcome.errors[-800:]}")
            check(len(failed) > 10, f"only {len(failed)} calls failed")
            names = {line.split()[2] for line in failed}
            found.setdefault("says", []).append(f"{len(failed)} calls of {len(names)} functions failed in turn; results right each "
                                                f"time; counts whole after {exact} of them, else it was said")
