# SPDX-License-Identifier: Apache-2.0
"""What the scripts of tests/bench that measure one thing have in common: options, the machine, files of results."""
import datetime
import json
import os
import platform
import subprocess
import sys
import time

from places import ROOT


def add_options(parser, what):
    """Of where things are; results are written as NAME.md and NAME.json."""
    parser.add_argument("--results", default=os.path.join(ROOT, "tests", "bench", "results"), metavar="FOLDER", help="where to write")
    parser.add_argument("--name", default=f"gpu-{what}-{datetime.date.today().isoformat()}", help="name of the two files")
    parser.add_argument("--egpu", default=os.environ.get("EGPU"), metavar="FILE")
    parser.add_argument("--programs", metavar="FOLDER", help="where the programs are built, or lie")
    parser.add_argument("--prebuilt", action="store_true", help="build nothing")
    parser.add_argument("--build", action="store_true", help="build the programs and stop")


def need_egpu(places):
    if not os.path.exists(places.egpu):
        sys.exit(f"no egpu at {places.egpu}: build it (scripts/build dev) or say where it is (--egpu)")


def about_machine(places):
    def said(line):
        try:
            asked = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60, cwd=ROOT)
        except (OSError, subprocess.TimeoutExpired):
            return "unknown"
        return asked.stdout.strip() if asked.returncode == 0 else "unknown"
    gpu = "the simulated GPU" if places.simulated else said(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    return {"date": datetime.date.today().isoformat(), "host": platform.platform(), "gpu": gpu,
            "commit": os.environ.get("EGPU_COMMIT") or said(["git", "rev-parse", "--short", "HEAD"])}


def write(options, text, everything):
    """Both files, and the table on stdout."""
    os.makedirs(options.results, exist_ok=True)
    with open(os.path.join(options.results, options.name + ".json"), "w", encoding="utf-8") as file:
        json.dump(everything, file, indent=1)
    with open(os.path.join(options.results, options.name + ".md"), "w", encoding="utf-8") as file:
        file.write(text)
    print(text, flush=True)


def in_one_line(text):
    return " ".join(str(text).split())


class Clock:
    """The time since it was made, and whether a limit is over (None: never)."""

    def __init__(self, limit):
        self.begin, self.limit = time.monotonic(), limit

    def now(self):
        return time.monotonic() - self.begin

    def over(self):
        return self.limit is not None and self.now() > self.limit
