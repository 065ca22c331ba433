#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Probe sets, end to end on the simulated GPU: those that are refused with their messages, those that are laid over
each other, those that egpu brings along, what they expect."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BUILD, EGPU, SOURCE, WORKLOAD, Skip, case, check, equal, finish  # noqa: E402

DATA = os.path.join(SOURCE, "tests", "data", "probesets")
CONFIGS = os.path.join(SOURCE, "configs")
# Names are looked up among the installed sets only.
ENVIRONMENT = {key: value for key, value in os.environ.items()
               if not key.startswith(("EGPU_", "XDG_"))} | {"HOME": "/nonexistent", "EGPU_CACHE": "0"}


def egpu(*words, folder=None, environment=None):
    return subprocess.run([EGPU, *words], cwd=folder, env=ENVIRONMENT | (environment or {}), stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=120, text=True, encoding="utf-8", errors="replace")


def run(*options, workload=("vecadd", "--elements", "1024", "--launches", "10"), folder=None, environment=None):
    """egpu run with a summary; (CompletedProcess, summary or None)."""
    with tempfile.TemporaryDirectory() as scratch:
        summary = os.path.join(scratch, "summary.json")
        done = egpu("run", "--summary", summary, *options, "--", WORKLOAD, *workload, folder=folder,
                    environment=environment)
        if not os.path.exists(summary):
            return done, None
        with open(summary, encoding="utf-8") as file:
            return done, json.load(file)


def write_set(folder, name, text):
    path = os.path.join(folder, name + ".yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"egpu: 1\nname: {name}\n" + text)
    return path


def sets_in(folder):
    return sorted(name for name in os.listdir(folder) if name.endswith(".yaml"))


def needs_clang(text):
    if ("code:" in text or "source:" in text) and not shutil.which("clang"):
        raise Skip("no clang")


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


# ---- sets that must be refused, each with its messages beside it -------------------------------------------------
for refused in sets_in(os.path.join(DATA, "bad")):
    @case(f"bad/{refused}")
    def refuse(name=refused):
        folder = os.path.join(DATA, "bad")
        needs_clang(text_of(os.path.join(folder, name)))
        done = egpu("check", name, folder=folder)
        equal(done.returncode, 1, "exit code of egpu check")
        # What clang says of code differs between its versions: "..." stands for any lines.
        wanted = text_of(os.path.join(folder, name[:-len(".yaml")] + ".txt")).splitlines()
        got = done.stderr.splitlines()
        if "..." in wanted:
            cut = wanted.index("...")
            equal(got[:cut], wanted[:cut], "messages")
            for line in wanted[cut + 1:]:
                check(any(line in each for each in got[cut:]), f"not said: {line}\n" + done.stderr)
        else:
            equal(got, wanted, "messages")
        ran = egpu("run", "-p", name, "--", "echo", "egpu-ran", folder=folder)
        equal(ran.returncode, 125, "exit code of egpu run")
        check("egpu-ran" not in ran.stdout, "the program was started")
        for line in wanted:
            if "error:" in line:
                check(f"egpu: {line}" in ran.stderr, "egpu run says it too: " + line)


@case("there are at least thirty of them")
def thirty():
    check(len(sets_in(os.path.join(DATA, "bad"))) >= 30, "thirty sets that must be refused")


@case("a file of over 1 MiB is refused, one of 1 MiB less its last byte is read")
def large():
    with tempfile.TemporaryDirectory() as folder:
        path = write_set(folder, "large", "probes: [{ plugin: bandwidth }]\n")
        with open(path, "a", encoding="utf-8") as file:
            file.write("#" * ((1 << 20) - os.path.getsize(path)))
        equal(egpu("check", path).returncode, 0, "1 MiB")
        with open(path, "a", encoding="utf-8") as file:
            file.write("#")
        done = egpu("check", path)
        equal(done.returncode, 1, "more than 1 MiB")
        check("has 1048577 bytes, more than the 1 MiB that a probe set may have  [EGPU-S001]" in done.stderr, done.stderr)


# ---- sets that are fine ------------------------------------------------------------------------------------------
for fine in sets_in(os.path.join(DATA, "good")):
    @case(f"good/{fine}")
    def accept(name=fine):
        needs_clang(text_of(os.path.join(DATA, "good", name)))
        done = egpu("check", name, folder=os.path.join(DATA, "good"))
        equal(done.returncode, 0, "exit code\n" + done.stderr)


# ---- laying over: what a set says with all that it includes -------------------------------------------------------
for merged in sorted(os.listdir(os.path.join(DATA, "merge"))):
    @case(f"merge/{merged}")
    def lay_over(name=merged):
        folder = os.path.join(DATA, "merge", name)
        done = egpu("probeset", "info", "-j", "over.yaml", folder=folder)
        equal(done.returncode, 0, "exit code\n" + done.stderr)
        got = json.loads(done.stdout)
        with open(os.path.join(folder, "expected.json"), encoding="utf-8") as file:
            for key, value in json.load(file).items():
                equal(got.get(key), value, key)


# ---- every set in configs/ runs and gives data ---------------------------------------------------------------------
for folder, _, names in sorted(os.walk(CONFIGS)):
    for brought in sorted(name for name in names if name.endswith(".yaml")):
        @case(f"{os.path.relpath(os.path.join(folder, brought), SOURCE)} runs")
        def run_set(path=os.path.join(folder, brought)):
            needs_clang(text_of(path))
            done, summary = run("-p", path)
            equal(done.returncode, 0, "exit code\n" + done.stderr)
            name = os.path.basename(path)[:-len(".yaml")]
            equal(summary["session"]["probe_sets"], [name], "probe sets")
            equal([probe["state"] for probe in summary["probes"]], ["attached"] * len(summary["probes"]), "probes")
            probes = {probe["probe"] for probe in summary["probes"]}
            measured = {metric["name"].split(".")[0] for metric in summary["metrics"]
                        if metric.get("value") is not None or any(metric.get("values", []))}
            equal(measured, probes, "probes with data")
            equal([each for each in summary["expectations"] if not each["passed"]], [], "expectations that failed")


@case("a set is found by its name, before a program of the same name")
def by_name():
    with tempfile.TemporaryDirectory() as folder:
        write_set(folder, "bandwidth", "probes: [{ plugin: coalescing }]\n")
        done, summary = run("-p", "bandwidth", environment={"EGPU_PROBESET_PATH": f"/nonexistent:{folder}"})
        equal(done.returncode, 0, "exit code\n" + done.stderr)
        equal([probe["probe"] for probe in summary["probes"]], ["coalescing"], "probes")
        equal(summary["session"]["probe_sets"], ["bandwidth"], "probe sets")
        listed = json.loads(egpu("probeset", "list", "-j", environment={"EGPU_PROBESET_PATH": folder}).stdout)
        own = [each for each in listed if each["name"] == "bandwidth"]
        equal([each["file"] for each in own], [os.path.join(folder, "bandwidth.yaml")], "file")


@case("a set of the user's configuration folder")
def by_configuration():
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "egpu", "probesets"))
        write_set(os.path.join(folder, "egpu", "probesets"), "mine", "probes: [{ plugin: latency }]\n")
        done = egpu("probeset", "info", "mine", environment={"XDG_CONFIG_HOME": folder})
        equal(done.returncode, 0, done.stderr)
        check("program on_load_return" in done.stdout, done.stdout)


# ---- what a set says takes effect ------------------------------------------------------------------------------
def total(summary, name, **labels):
    return sum(metric["value"] for metric in summary["metrics"]
               if metric["name"] == name and all(metric.get(key) == value for key, value in labels.items()))


@case("launches: the first are skipped, then so many run their copy")
def launches():
    with tempfile.TemporaryDirectory() as folder:
        path = write_set(folder, "some", "launches: { skip: 2, count: 5 }\nprobes: [{ plugin: bandwidth }]\n")
        _, whole = run("-p", "bandwidth")
        done, some = run("-p", path)
        kernel = some["kernels"][0]
        equal((kernel["launches"], kernel["launches_instrumented"], kernel["launches_left_out"]), (10, 5, 5), "launches")
        equal(total(some, "bandwidth.accesses") * 2, total(whole, "bandwidth.accesses"), "accesses of half the launches")
        equal(some["session"]["launches"], {"skip": 2, "count": 5}, "session.launches")
        check("lie outside the chosen launches" in done.stderr, done.stderr)
        _, more = run("-p", path, "--launch-skip", "1", "--launch-count", "20")
        equal(more["kernels"][0]["launches_instrumented"], 9, "the command line lies over the set")
        _, other = run("-p", path, environment={"EGPU_LAUNCH_COUNT": "3"})
        equal(other["kernels"][0]["launches_instrumented"], 3, "the environment lies over the set")
        _, least = run("-p", path, "--launch-count", "4", environment={"EGPU_LAUNCH_COUNT": "3"})
        equal(least["kernels"][0]["launches_instrumented"], 4, "the command line lies over the environment")
        _, both = run("-p", path, "--sample", "launches=1/2")
        equal(both["kernels"][0]["launches_instrumented"], 3, "one in two of five launches")


@case("launches that are all skipped are said")
def all_skipped():
    done, _ = run("-p", "bandwidth", "--launch-skip", "100")
    check("all 10 launches of vector_add lie outside the chosen ones  [EGPU-A034]" in done.stderr, done.stderr)


@case("sampled launches of a set")
def sampled():
    with tempfile.TemporaryDirectory() as folder:
        path = write_set(folder, "some", "probes: [{ plugin: bandwidth, sample: { launches: 1/4 } }]\n")
        _, summary = run("-p", path)
        equal(summary["kernels"][0]["launches_instrumented"], 3, "launches 0, 4 and 8")
        _, summary = run("-p", path, "--sample", "launches=all")
        equal(summary["kernels"][0]["launches_instrumented"], 10, "the command line decides")


@case("kernels of a set, of a probe and of the command line narrow each other")
def kernels():
    with tempfile.TemporaryDirectory() as folder:
        path = write_set(folder, "some", 'kernels: { include: ["gather_*"] }\nprobes:\n  - plugin: bandwidth\n'
                         '  - plugin: coalescing\n    kernels: ["regex:^gather_str"]\n')
        gather = ("gather", "--elements", "1024")
        _, summary = run("-p", path, workload=gather)
        states = {probe["probe"]: probe["kernels"] for probe in summary["probes"]}
        equal(states, {"bandwidth": 2, "coalescing": 1}, "kernels of each probe")
        _, summary = run("-p", path, "--exclude-kernel", "*strided", workload=gather)
        states = {probe["probe"]: probe["kernels"] for probe in summary["probes"]}
        equal(states, {"bandwidth": 1, "coalescing": 0}, "without the command line's")
        done, _ = run("-p", path, "-k", "*sequential", workload=gather)
        check("probe coalescing/count_sectors ran nowhere: its patterns leave no launched kernel  [EGPU-A004]"
              in done.stderr, done.stderr)
        done, _ = run("-p", path)
        check(f"{path}:3:22: warning: probe bandwidth/count_traffic ran nowhere: no launched kernel matches 'gather_*'"
              in done.stderr, done.stderr)
        done, _ = run("-p", "bandwidth", "-k", "gather_*")
        check("egpu: warning: probe bandwidth/count_traffic ran nowhere: no launched kernel matches" in done.stderr,
              done.stderr)


@case("options of a program are set before it is verified, programs are chosen")
def options_and_programs():
    if not shutil.which("clang"):
        raise Skip("no clang")
    source = os.path.join(DATA, "programs", "limited.bpf.c")
    counts = {}
    for name, settings in (("plain", "{}"), ("high", "{ limit: 0x8 }"), ("wide", "{ limit: 8, wide: 1 }")):
        with tempfile.TemporaryDirectory() as folder:
            path = write_set(folder, name, f"probes:\n  - source: {source}\n    name: p\n    programs: [count_loads]\n"
                             f"    options: {settings}\n")
            done, summary = run("-p", path)
            equal(done.returncode, 0, done.stderr)
            equal([probe["program"] for probe in summary["probes"]], ["count_loads"], "programs")
            counts[name] = total(summary, "p.counted")
    equal(counts["high"], 0, "loads of 8 bytes or more")
    equal(counts["plain"], counts["wide"], "all loads")
    equal(counts["plain"], 10 * 2 * 1024, "two loads of each element and launch")


@case("the size of a map is what the set says")
def map_sizes():
    with tempfile.TemporaryDirectory() as folder:
        path = write_set(folder, "small", "probes: [{ plugin: bandwidth }]\nmaps: { bandwidth/traffic: { max_entries: 1 } }\n")
        done, summary = run("-p", path)
        check("map bandwidth/traffic is full" in done.stderr, done.stderr)
        check(summary["refused_keys"] > 0, "refused keys")


@case("two sets stand side by side; what they say differently of the run is an error")
def side_by_side():
    with tempfile.TemporaryDirectory() as folder:
        one = write_set(folder, "one", 'kernels: ["gather_*"]\nwait: 3 s\nprobes: [{ plugin: bandwidth }]\n')
        two = write_set(folder, "two", 'kernels: ["vector_*"]\nwait: 4 s\nprobes: [{ plugin: coalescing }]\n')
        done, _ = run("-p", one, "-p", two)
        equal(done.returncode, 125, "exit code")
        check("another set says something else of 'wait'  [EGPU-S027]" in done.stderr, done.stderr)
        done, summary = run("-p", one, "-p", two, "--wait", "2 s")
        equal(done.returncode, 0, "exit code\n" + done.stderr)
        equal(summary["session"]["probe_sets"], ["one", "two"], "probe sets")
        equal({probe["probe"]: probe["state"] for probe in summary["probes"]},
              {"bandwidth": "matched_nothing", "coalescing": "attached"}, "each has its own kernels")


@case("a summary that a set asks for, and strictness")
def summary_of_a_set():
    with tempfile.TemporaryDirectory() as folder:
        path = write_set(folder, "kept", "strict: true\noutput: { summary: \"%n-%q{WHERE}.json\" }\n"
                         "probes: [{ plugin: bandwidth }]\n")
        done = egpu("run", "-p", path, "--", WORKLOAD, "vecadd", "--elements", "64", folder=folder,
                    environment={"WHERE": "here"})
        equal(done.returncode, 0, done.stderr)
        check(os.path.exists(os.path.join(folder, "kept-here.json")), "the summary is there")
        done = egpu("run", "-p", path, "-k", "nothing*", "--", WORKLOAD, "vecadd", "--elements", "64", folder=folder,
                    environment={"WHERE": "here"})
        equal(done.returncode, 125, "strict: a probe ran nowhere")


@case("a recording that a set asks for")
def recording_of_a_set():
    with tempfile.TemporaryDirectory() as folder:
        path = write_set(folder, "kept", "output: { record: \"%n.egpu\" }\nprobes: [{ plugin: bandwidth }]\n")
        done = egpu("run", "-p", path, "--", WORKLOAD, "vecadd", "--elements", "64", folder=folder)
        equal(done.returncode, 0, done.stderr)
        check("recorded: kept.egpu" in done.stderr, done.stderr)
        check(os.path.getsize(os.path.join(folder, "kept.egpu")) > 0, "the recording is there")


@case("a plugin of the right version")
def versions():
    with tempfile.TemporaryDirectory() as folder:
        path = write_set(folder, "right", "probes: [{ plugin: bandwidth, version: \">=0.1, <1\" }]\n")
        equal(egpu("check", path).returncode, 0, "within the range")
        path = write_set(folder, "wrong", "probes: [{ plugin: bandwidth, version: \">=99\" }]\n")
        done = egpu("check", path)
        equal(done.returncode, 1, "outside")
        check("wrong.yaml:3:40: error: plugin 'bandwidth' is version " in done.stderr and "[EGPU-S025]" in done.stderr,
              done.stderr)


# ---- expectations ------------------------------------------------------------------------------------------------
def expect(text, *options, workload=("vecadd", "--elements", "1024", "--launches", "2"), probes="bandwidth"):
    with tempfile.TemporaryDirectory() as folder:
        path = write_set(folder, "expects", f"probes: [{{ plugin: {probes} }}]\nexpect:\n{text}")
        return run("-p", path, *options, workload=workload)


@case("an expectation that is met")
def met():
    # Two loads of 4 bytes for each of 1024 elements, twice.
    done, summary = expect("  - metric: bandwidth.requested_bytes\n    where: { space: global, access: load }\n"
                           "    equals: 16384 B\n  - metric: session.launches\n    equals: 2\n")
    equal(done.returncode, 0, done.stderr)
    equal(summary["expectations"][0],
          {"metric": "bandwidth.requested_bytes", "where": {"space": "global", "access": "load"}, "equals": 16384,
           "unit": "bytes", "value": 16384, "complete": True, "passed": True, "reason": None, "probe_set": "expects"},
          "in the summary")
    check("expect: 2 of 2 met" in done.stderr, done.stderr)


@case("one that is not: exit code 3")
def not_met():
    text = "  - metric: bandwidth.requested_bytes\n    where: { space: global, access: load }\n    at_most: 16383 B\n"
    done, summary = expect(text)
    equal(done.returncode, 3, "exit code\n" + done.stderr)
    equal(summary["expectations"][0]["passed"], False, "in the summary")
    check("expects.yaml:5:13: error: expectation failed: bandwidth.requested_bytes {space: global, access: load} is"
          in done.stderr and "[EGPU-S040]" in done.stderr, done.stderr)
    quiet, _ = expect(text, "-q")
    equal(quiet.returncode, 3, "-q")
    check("expectation failed" in quiet.stderr, quiet.stderr)
    equal(expect(text, "--no-expect")[0].returncode, 0, "--no-expect")
    equal(expect(text, "--no-expect")[1]["expectations"], [], "--no-expect checks nothing")


@case("the application's own exit code stays")
def own_exit_code():
    with tempfile.TemporaryDirectory() as folder:
        path = write_set(folder, "expects", "probes: [{ plugin: bandwidth }]\nexpect:\n  - metric: session.launches\n    equals: 5\n")
        done = egpu("run", "-p", path, "--", "sh", "-c", "exit 7")
        equal(done.returncode, 7, "exit code")
        check("n/a (the application used no CUDA)" in done.stderr, done.stderr)
        equal(egpu("run", "-p", path, "--", "sh", "-c", "exit 0").returncode, 3, "unknown does not pass")


@case("what is not known never passes")
def unknown():
    done, summary = expect("  - metric: bandwidth.kernel_throughput\n    at_least: 0 B/s\n")
    equal(done.returncode, 3, "exit code")
    equal(summary["expectations"][0]["value"], None, "value")
    check("is n/a (the simulated GPU knows no time)" in done.stderr, done.stderr)
    done, _ = expect("  - metric: bandwidth.requested_bytes\n    where: { kernel: nothing }\n    at_most: 5 B\n")
    equal(done.returncode, 3, "no such kernel")
    check("no launched kernel matches 'nothing'" in done.stderr, done.stderr)
    done, _ = expect("  - metric: bandwidth.requested_bytes\n    at_most: 5 GB\n", "-k", "nothing")
    equal(done.returncode, 3, "ran nowhere")
    check("probe bandwidth ran nowhere" in done.stderr, done.stderr)


@case("a total that is at least so much passes at_least only")
def at_least():
    text = "  - metric: bandwidth.requested_bytes\n    {}: {}\n"
    sampled = ("--sample", "launches=1/2")
    equal(expect(text.format("at_least", "1 kB"), *sampled)[0].returncode, 0, "at_least")
    done, summary = expect(text.format("at_most", "1 GB"), *sampled)
    equal(done.returncode, 3, "at_most")
    equal(summary["expectations"][0]["complete"], False, "complete")
    check("is at least 12.3 kB (counted in 1 of 2 launches of vector_add)" in done.stderr, done.stderr)


@case("shares and counts of lines")
def shares():
    gather = ("gather", "--elements", "4096")
    done, summary = expect("  - metric: coalescing.sector_use\n    where: { kernel: gather_sequential }\n    equals: 100 %\n"
                           "  - metric: coalescing.sector_use\n    at_least: 50 %\n", workload=gather, probes="coalescing")
    equal([each["passed"] for each in summary["expectations"]], [True, False], "the worst kernel counts")
    check("coalescing.sector_use is 12.5 %, expected at least 50.0 %" in done.stderr, done.stderr)


# ---- explain -----------------------------------------------------------------------------------------------------
@case("explain says what would attach, without running anything")
def explain():
    image = os.path.join(DATA, "images", "two_kernels.ptx")
    with tempfile.TemporaryDirectory() as folder:
        path = write_set(folder, "some", 'kernels: ["copy*"]\nlaunches: { skip: 3 }\nprobes:\n  - plugin: bandwidth\n')
        done = egpu("probeset", "explain", "--simulated", "-j", path, image)
        equal(done.returncode, 0, done.stderr)
        got = json.loads(done.stdout)
        equal([(probe["state"], probe["sites"], probe["kernels"]) for probe in got["probes"]], [("attached", 2, 1)], "probes")
        equal({kernel["name"]: kernel["probes"] for kernel in got["kernels"]},
              {"copy_words": ["bandwidth/count_traffic"], "store_words": []}, "kernels")
        done = egpu("probeset", "explain", "--simulated", path, image)
        check("bandwidth/count_traffic  gpu/mem  attached" in done.stdout, done.stdout)
        check("launches: not the first 3" in done.stdout, done.stdout)


# ---- the schema ----------------------------------------------------------------------------------------------------
@case("no set of the tests is refused by the schema and taken by egpu")
def schema_is_json():
    with open(os.path.join(CONFIGS, "probeset.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    equal(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "dialect")
    # An installation has it where its sets are.
    check(os.path.exists(os.path.join(BUILD, "share", "egpu", "probesets", "probeset.schema.json")), "installed")


finish()
