# SPDX-License-Identifier: Apache-2.0
"""Programs written for bpftime on the simulated GPU: what is taken gives right values, what isn't is refused with a sentence."""
import os
import subprocess
import tempfile

from harness import EGPU, SOURCE, WORKLOAD, case, check, equal, finish, observed

OBJECTS = os.path.join(SOURCE, "tests", "data", "ebpf", "objects")
LAUNCHES, BLOCKS, BLOCK = 2, 4, 256
THREADS = LAUNCHES * BLOCKS * BLOCK
VECADD = [WORKLOAD, "vecadd", "--elements", "1000", "--launches", str(LAUNCHES), "--block", str(BLOCK)]


def values(name, command):
    """{"threads": ...} of all maps of a program; entries of arrays of one number as "exits[0]"."""
    done, summary = observed(command, probes=(os.path.join(OBJECTS, name + ".bpf.c"),), options=["--strict"])
    equal(done.returncode, 0, done.stderr.decode())
    found = {}
    for metric in summary["metrics"]:
        key = metric["name"].split(".", 1)[1]
        entry = metric.get("key")
        found[key if entry is None else f"{key}[{entry}]"] = metric["value"]
    return found, done.stderr.decode()


@case("kprobe, kretprobe, array maps and every helper of the GPU's side")
def places():
    found, said = values("bpftime_places", VECADD)
    wanted = {"threads": THREADS, "blocks": LAUNCHES * BLOCKS, "thread_x": LAUNCHES * BLOCKS * sum(range(BLOCK)),
              "block_x": LAUNCHES * BLOCK * sum(range(BLOCKS)), "block_size": THREADS * BLOCK,
              "grid_size": THREADS * BLOCKS, "lanes": THREADS // 32 * sum(range(32)), "times": THREADS}
    for name, value in wanted.items():
        row = [found[key] for key in found if key.split("[")[0] == name and found[key]]
        equal(row, [value], name + said)


@case("memory capture counts each access")
def memory():
    done, _ = observed(VECADD, probes=(os.path.join(OBJECTS, "bpftime_memory.bpf.c"),))
    equal(done.returncode, 0, done.stderr.decode())
    check(f"{LAUNCHES * 3 * 1000:,}".replace(",", " ") in done.stderr.decode(), done.stderr.decode())


HEAD = """
#include <egpu/bpf/egpu.bpf.h>
struct { __uint(type, 1503); __uint(max_entries, 4); __type(key, __u32); __type(value, __u64); } map SEC(".maps");
static long (*ebpf_puts)(const char *) = (void *)501;
static long (*bpf_cuda_exit)(void) = (void *)507;
struct pt_regs { unsigned long registers[21]; };
SEC("kprobe/_Z10vector_addPKfS0_Pfj")
"""


@case("bpf_printk prints")
def prints():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "probe.bpf.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(HEAD + 'int cuda__probe() { bpf_printk("here"); return 0; }\nchar LICENSE[] SEC("license") = "GPL";\n')
        done, summary = observed(VECADD, probes=(path,))
    text = done.stderr.decode()
    check("egpu: vector_add, block 0, thread 0: here" in text, text)
    (ring,) = summary["ring_buffers"]
    equal(ring["records"] + ring["dropped"], THREADS, "lines")


REFUSED = {
    "puts": ('int cuda__probe() { char text[] = "here"; ebpf_puts(text); return 0; }', "bpf_printk prints a line"),
    "the end of threads": ("int cuda__probe() { bpf_cuda_exit(); return 0; }", "would end threads of the application"),
    "the process": ("int cuda__probe() { return bpf_get_current_pid_tgid() >> 32; }", "Linux knows the process"),
    "records": ("int cuda__probe(void *ctx) { __u64 x = 1; return bpf_perf_event_output(ctx, &map, 0, &x, 8); }",
                "define a BPF_MAP_TYPE_RINGBUF"),
    "registers": ("int cuda__probe(struct pt_regs *ctx) { return ctx->registers[10]; }", "in which there is nothing"),
    "counting without atomics": ("int cuda__probe() { __u32 key = 0; __u64 *count = bpf_map_lookup_elem(&map, &key);"
                                 " if (count) *count += 1; return 0; }", "EGPU-V014"),
    "counting by updates": ("int cuda__probe() { __u32 key = 0; __u64 *count = bpf_map_lookup_elem(&map, &key), next;"
                            " if (!count) return 0; next = *count + 1;"
                            " return bpf_map_update_elem(&map, &key, &next, BPF_ANY); }", "EGPU-V014"),
}


def refused(text, sentence):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "probe.bpf.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(HEAD + text)
        done = subprocess.run([EGPU, "check", path], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    said = (done.stdout + done.stderr).decode()
    equal(done.returncode, 1, said)
    check(sentence in said, said)
    check("fix:" in said, said)


for name, (text, sentence) in REFUSED.items():
    case("refused with a sentence: " + name)(lambda text=text, sentence=sentence: refused(text, sentence))

finish()
