# SPDX-License-Identifier: Apache-2.0
"""A profiler's counts of global memory accesses, by kernel: Nsight Compute's command line, and what it writes."""
import csv
import glob
import os
import re
import shutil
import tempfile

from programs import Skip, check, run

OPERATIONS = ("ld", "st", "atom", "red")
# Counted by the hardware for the whole kernel: requests to L1 and the sectors of 32 bytes that they are for; and, as a check on
# what ptxas made of the PTX, executed machine instructions of a warp.
REQUESTS = {operation: f"l1tex__t_requests_pipe_lsu_mem_global_op_{operation}.sum" for operation in OPERATIONS}
SECTORS = {operation: f"l1tex__t_sectors_pipe_lsu_mem_global_op_{operation}.sum" for operation in OPERATIONS}
INSTRUCTIONS = {operation: f"smsp__sass_inst_executed_op_global_{operation}.sum" for operation in OPERATIONS}
METRICS = [*REQUESTS.values(), *SECTORS.values(), *INSTRUCTIONS.values()]
# Of egpu's accesses: one that gives the old value and one that does not are both atomics.
ACCESSES = {"load": ("ld",), "store": ("st",), "atomic": ("atom", "red")}


def find_ncu(given=None):
    """Path of ncu; Skip where there is none."""
    homes = [os.environ.get("CUDA_HOME", "/usr/local/cuda")] + sorted(glob.glob("/usr/local/cuda-*"), reverse=True)
    candidates = [given] if given else ([shutil.which("ncu")] + [os.path.join(home, "bin", "ncu") for home in homes] +
                                        sorted(glob.glob("/opt/nvidia/nsight-compute/*/ncu"), reverse=True))
    found = next((path for path in candidates if path and os.path.exists(path)), None)
    if found is None:
        raise Skip(f"no ncu at {given}" if given else "no ncu on this machine (--ncu FILE)")
    return found


def number_of(text):
    """A count as ncu writes it, "1,048,576" or "1048576" or "1048576.00"; None where it has none ("n/a", "")."""
    plain = re.sub(r"[,'\s\u00a0\u202f]", "", text)
    return int(float(plain)) if re.fullmatch(r"\d+(\.\d+)?", plain) else None


def parse(text):
    """[(kernel, {metric: count})], one for each launch, of what ncu --csv writes, a row for each metric. Lines of other
    things stand before it and between its rows."""
    rows = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    header = next((row for row in rows if "Metric Name" in row and "Kernel Name" in row), None)
    check(header is not None, f"ncu wrote no table: {text[-600:]}")
    launches = {}
    for row in rows[rows.index(header) + 1:]:
        if len(row) < len(header) or row == header:
            continue
        of = dict(zip(header, row))
        # An id counts the profiled launches of all processes together.
        _, values = launches.setdefault((of.get("Process ID", ""), of["ID"]), (of["Kernel Name"], {}))
        count = number_of(of["Metric Value"])
        if count is not None:
            values[of["Metric Name"]] = count
    return list(launches.values())


def unknown_metrics(text, metrics):
    """Those of the metrics that ncu says it doesn't know."""
    lines = [line for line in text.splitlines() if "ailed to find metric" in line or "nvalid metric" in line or "nknown metric" in line]
    return [metric for metric in metrics if any(metric.split(".")[0] in line for line in lines)]


def why_not(text):
    """The line in which ncu says why it profiles nothing; "" where it doesn't."""
    lines = [line.strip() for line in text.splitlines() if "==ERROR==" in line or "ERR_NVGPUCTRPERM" in line or
             "No kernels were profiled" in line or "LibraryNotLoaded" in line]
    return "; ".join(dict.fromkeys(lines))[:500]


def profile(ncu, command, seconds, environment, launches=None):
    """[(kernel, {metric: count})] of a program's launches, at most the first `launches`. Skip where ncu may not count."""
    metrics = list(METRICS)
    while True:
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "ncu.csv")
            limit = ["--launch-count", str(launches)] if launches else []
            outcome = run([ncu, "--clock-control", "none", "--csv", "--print-units", "base", "--print-kernel-base", "mangled",
                           "--log-file", log, *limit, "--metrics", ",".join(metrics), *command], seconds,
                          dict(environment, LC_ALL="C", TMPDIR=folder))
            text = ""
            if os.path.exists(log):
                with open(log, encoding="utf-8", errors="replace") as file:
                    text = file.read()
        said = text + "\n" + outcome.output + "\n" + outcome.errors
        unknown = unknown_metrics(said, metrics)
        if not unknown:
            break
        metrics = [metric for metric in metrics if metric not in unknown]
        check(metrics, f"ncu knows none of the metrics: {why_not(said)}")
    if "ERR_NVGPUCTRPERM" in said:
        raise Skip(f"ncu may not read the counters: {why_not(said)}")
    found = parse(text if '"Metric Name"' in text else outcome.output) if '"Metric Name"' in text + outcome.output else []
    check(found, f"ncu counted nothing, exit code {outcome.code}: {why_not(said) or said[-600:]}")
    check(outcome.code == 0, f"exit code {outcome.code} under ncu: {why_not(said) or outcome.errors[-600:]}")
    return found


def totals(found):
    """{kernel: {"launches": N, metric: sum over its launches}}."""
    sums = {}
    for kernel, values in found:
        of_kernel = sums.setdefault(kernel, {"launches": 0})
        of_kernel["launches"] += 1
        for metric, count in values.items():
            of_kernel[metric] = of_kernel.get(metric, 0) + count
    return sums


def of_access(sums, names, access):
    """The sum of an access's operations of REQUESTS, SECTORS or INSTRUCTIONS; None where one was not counted."""
    values = [sums.get(names[operation]) for operation in ACCESSES[access]]
    return None if None in values else sum(values)
