# SPDX-License-Identifier: Apache-2.0
"""The cases, one after the other or several at a time (--jobs); what one says stays together."""
import concurrent.futures
import shutil
import tempfile
import threading
import time

import forms
import programs
from programs import Skip


def verdict(case, places):
    """(word, text, details) of one case."""
    if places.simulated and "simulated" in case:
        return "skipped", case["simulated"], {}
    if not places.simulated and "gpu" in case:
        return "skipped", case["gpu"], {}
    found = {}
    # Own folder: what a case finds in the cache, and what it leaves behind, is no other case's.
    folder = tempfile.mkdtemp(prefix="egpu-case-")
    try:
        forms.FORMS[case.get("form", "observe")](case, places.for_case(folder), found)
        return "passed", "", found
    except Skip as reason:
        return "skipped", str(reason), found
    except AssertionError as problem:
        return "failed", str(problem), found
    except Exception as problem:  # a fault of the test itself fails the case, not the run
        return "failed", f"{type(problem).__name__}: {problem}", found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def begin_line(case):
    return f"[ RUN      ] {case['name']}: {case['what']}"


def end_lines(name, word, text, found, seconds):
    lines = [f"  {line}" for line in found.get("says", [])]
    if word == "passed":
        return lines + [f"[       OK ] {name} ({int(seconds * 1000)} ms)"]
    if word == "skipped":
        return lines + ["Skipped", text, f"[  SKIPPED ] {name} (0 ms)"]
    return lines + [f"FAILED {name}: {text}", f"[  FAILED  ] {name} ({int(seconds * 1000)} ms)"]


class Run:
    """One run of the suite: its clock, its verdicts and its output."""

    def __init__(self, places, options):
        self.places = places
        self.seconds = options.seconds
        self.begin = time.monotonic()
        self.results = {}
        self.writing = threading.Lock()
        self.stopped = False

    def one(self, case, alone):
        """`alone`: nothing else writes, so that the case is named before it runs and not with its end."""
        name = case["name"]
        started = time.monotonic()
        if self.stopped:
            return
        if self.seconds and started - self.begin > self.seconds:
            self.results[name] = ("skipped", f"the {self.seconds:g} s of --seconds were over", {}, 0.0)
            return
        if alone:
            print(begin_line(case), flush=True)
        word, text, found = verdict(case, self.places)
        took = time.monotonic() - started
        self.results[name] = (word, text, found, took)
        lines = ([] if alone else [begin_line(case)]) + end_lines(name, word, text, found, took)
        with self.writing:
            if not self.stopped:
                print("\n".join(lines), flush=True)

    def several(self, cases, jobs):
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            begun = [pool.submit(self.one, case, False) for case in cases]
            try:
                for one in begun:
                    one.result()
            except KeyboardInterrupt:
                self.stopped = True
                programs.end_all()
                raise


def is_long(case):
    """--quick shortens the long cases, so they are those that it can shorten."""
    return any(key.startswith("quick_") for key in case)


def run_all(cases, places, options):
    """{name: (word, text, details, seconds)}, in the order of the cases."""
    run = Run(places, options)
    beside = [] if options.jobs == 1 else [case for case in cases if not case.get("alone")]
    # A long case that begins last would be waited for with nothing beside it.
    run.several(sorted(beside, key=is_long, reverse=True), options.jobs)
    try:
        for case in cases:
            if case not in beside:
                run.one(case, True)
    except KeyboardInterrupt:
        programs.end_all()
        raise
    return {case["name"]: run.results[case["name"]] for case in cases}
