# SPDX-License-Identifier: Apache-2.0
"""Command line of tests/gpu/run: which cases, with what, and the report."""
import argparse
import datetime
import fnmatch
import glob
import json
import os
import platform
import subprocess
import sys

import forms
import recordings
from jobs import run_all
from places import Places

# The most that a session of the bundled probes takes.
SESSION_BYTES = 32 << 20
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def at_least_one(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is too few: 1 or more")
    return number


def parse():
    parser = argparse.ArgumentParser(prog="tests/gpu/run", description="Tests of egpu on a GPU, or on the simulated one.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases to run, as globs (default: all)")
    parser.add_argument("--list", action="store_true", help="print the cases and what each shows")
    parser.add_argument("--simulated", action="store_true", help="on the simulated GPU: the cases that it can do")
    parser.add_argument("--egpu", default=os.environ.get("EGPU"), metavar="FILE",
                        help="the egpu to test (default: $EGPU, else build/dev/bin/egpu)")
    parser.add_argument("--programs", metavar="FOLDER", help="where the programs are built, or lie (default: build/gpu-tests)")
    parser.add_argument("--prebuilt", action="store_true", help="build nothing: programs that are not there are skipped")
    parser.add_argument("--build", action="store_true", help="build the programs of the cases and stop")
    parser.add_argument("--corpus", metavar="FOLDER",
                        help="PTX of the corpus, by architecture (FOLDER/sm_90, FOLDER/sm_90a), for the cases that launch it")
    parser.add_argument("--quick", action="store_true", help="shorter runs of the long cases")
    parser.add_argument("--jobs", type=at_least_one, default=1, metavar="N",
                        help="N cases at a time, and N runs at a time in a case of many; cases that measure, or need the "
                        "whole device, run alone after the others (default: 1)")
    parser.add_argument("--seconds", type=float, metavar="S", help="begin no further case after S seconds")
    parser.add_argument("--json", metavar="FILE", help="write what each case showed")
    parser.add_argument("--record", metavar="FOLDER", help="record the driver calls of NVIDIA's runtime and stop")
    return parser.parse_args()


def need_shared_memory(jobs):
    """Sessions that run at a time share /dev/shm, which is small in a container."""
    room = os.statvfs("/dev/shm")
    fit = room.f_bavail * room.f_frsize // SESSION_BYTES
    if jobs > 1 and jobs > fit:
        sys.exit(f"tests/gpu/run: --jobs {jobs}: /dev/shm has room for {fit} sessions of {SESSION_BYTES >> 20} MiB; "
                 f"take --jobs {max(fit, 1)}, or make it larger")


def load_cases():
    cases = []
    for path in sorted(glob.glob(os.path.join(HERE, "cases", "*.json"))):
        with open(path, encoding="utf-8") as file:
            cases += json.load(file)
    names = [case["name"] for case in cases]
    assert len(names) == len(set(names)), "two cases have one name"
    return cases


def selected(cases, options):
    chosen = [case for case in cases
              if not options.names or any(fnmatch.fnmatch(case["name"], name) for name in options.names)]
    if not chosen:
        sys.exit(f"tests/gpu/run: no case matches {' '.join(options.names)}; --list names them")
    return chosen


def machine(places):
    about = {"date": datetime.date.today().isoformat(), "host": platform.platform(), "egpu": places.egpu,
             "simulated": places.simulated}
    if not places.simulated:
        asked = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                               capture_output=True, text=True, check=False, timeout=60)
        about["gpu"] = asked.stdout.strip()
    return about


def report(results, about, path):
    reasons = {}
    for name, (word, text, _, _) in results.items():
        if word == "skipped":
            reasons.setdefault(text, []).append(name)
    for reason, names in sorted(reasons.items()):
        print(f"skipped: {reason} ({len(names)}: {', '.join(names)})")
    if path:
        cases = {name: {"verdict": word, "text": text, "seconds": round(seconds, 2), **found}
                 for name, (word, text, found, seconds) in results.items()}
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"machine": about, "cases": cases}, file, indent=1)
    count = {word: sum(one[0] == word for one in results.values()) for word in ("passed", "failed", "skipped")}
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped", flush=True)
    return 1 if count["failed"] else 0


def main():
    options = parse()
    cases = selected(load_cases(), options)
    if options.list:
        for case in cases:
            print(f"{case['name']:26} Shows {case['shows']}: {case['what']}")
        return 0
    places = Places(options)
    if options.build:
        return forms.build_all(cases, places)
    if not os.path.exists(places.egpu):
        sys.exit(f"tests/gpu/run: no egpu at {places.egpu}: build it (scripts/build dev) or say where it is (--egpu)")
    if options.record:
        return recordings.record_all(places, options.record)
    need_shared_memory(options.jobs)
    about = machine(places)
    print(f"tests/gpu/run: {about.get('gpu', 'the simulated GPU')}, {places.egpu}, {about['date']}", flush=True)
    try:
        return report(run_all(cases, places, options), about, options.json)
    except KeyboardInterrupt:
        print("tests/gpu/run: stopped; its programs are ended", file=sys.stderr)
        return 130
