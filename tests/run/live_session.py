# SPDX-License-Identifier: Apache-2.0
"""A running session whose probes are changed, and the checks of what it counted; for the tests beside this file."""
import json
import os
import signal
import subprocess
import tempfile
import time

from harness import EGPU, WORKLOAD, check, end, equal, segments, wait_for

ELEMENTS = 1024
FOLDER = tempfile.mkdtemp(prefix="egpu-live-")

PROGRAM = """#include <egpu/bpf/egpu.bpf.h>
struct {{
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, {entries});
	__type(key, egpu_kernel_id_t);
	__type(value, {value});
}} stores SEC(".maps");

SEC("gpu/store")
int on_store(struct egpu_mem_ctx *ctx)
{{
	egpu_kernel_id_t key = ctx->kernel;
	{value} *n = egpu_map_lookup_or_init(&stores, &key);

	{test}
	__sync_fetch_and_add(n, {step});
	return 0;
}}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""


def program(name, entries=64, value="egpu_count_t", step=1, test="if (!n)\n\t\treturn 0;"):
    path = os.path.join(FOLDER, name + ".bpf.c")
    with open(path, "w", encoding="utf-8") as file:
        file.write(PROGRAM.format(entries=entries, value=value, step=step, test=test))
    return path


class Run:
    """A session over a workload that runs until it is ended, or over `command`, which ends by itself."""

    def __init__(self, workload="loop", probes=(), options=(), command=None):
        self.summary_file = os.path.join(FOLDER, f"summary-{time.monotonic_ns()}.json")
        line = [EGPU, "run", "--summary", self.summary_file]
        for probe in probes:
            line += ["-p", probe]
        self.process = subprocess.Popen(
            line + list(options) + ["--"] +
            (command or [WORKLOAD, workload, "--elements", str(ELEMENTS), "--seconds", "120"]),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for(lambda: self.launches()[0] > 0, "the first launch")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self.process, signal.SIGKILL)

    def ask(self, *words):
        return subprocess.run([EGPU, *words, "-s", str(self.process.pid)], capture_output=True, timeout=150)

    def change(self, *words):
        """A change of the probes that must go well; its answer."""
        done = self.ask("probe", *words, "-j")
        equal(done.returncode, 0, f"exit code of probe {words}: {done.stdout.decode()}{done.stderr.decode()}")
        return json.loads(done.stdout)

    def launches(self):
        done = self.ask("kernels", "-j")
        kernels = json.loads(done.stdout) if done.returncode == 0 else []
        return (sum(k["launches"] for k in kernels), sum(k["launches_instrumented"] for k in kernels))

    def probes(self):
        return {p["probe"]: p for p in json.loads(self.ask("probe", "list", "-j").stdout)}

    def wait_for_launches(self, which=0, more=5):
        before = self.launches()[which]
        wait_for(lambda: self.launches()[which] >= before + more, "further launches")

    def stop(self, interrupt=True):
        """Ends it as Ctrl-C does, or waits for its end; what it printed and its summary."""
        if interrupt:
            self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=60)
        equal(self.process.returncode, 0, "exit code, " + out.decode() + err.decode())
        check(b"result ok" in out, "the program's own result: " + out.decode())
        equal(segments([self.process.pid]), [], "segments")
        check(not os.path.exists(socket_of(self.process.pid)), "the socket is gone")
        with open(self.summary_file, encoding="utf-8") as file:
            return err.decode(), json.load(file)


def socket_of(pid):
    return f"/dev/shm/egpu-{os.getuid()}-{pid}.sock"


def values(summary, name):
    return [m for m in summary["metrics"] if m["name"] == name and m["value"]]


def check_counts(summary, name="bandwidth.accesses", each=ELEMENTS):
    """Each value is exactly that of the launches that it says it covers."""
    found = values(summary, name)
    check(found, f"{name} has values")
    for metric in found:
        equal(metric["value"], metric["launches_covered"] * each, f"{name} of {metric['launches_covered']} launches")
    return found[0]
