# SPDX-License-Identifier: Apache-2.0
"""Every clang from 14 to 19 that is installed, every instruction set that it writes: the header compiles alone and behind
others, programs are read, verified, and count the same. A clang that isn't there is reported as skipped."""
import os
import re
import shutil
import subprocess
import tempfile

from harness import EGPU, SOURCE, WORKLOAD, Skip, case, check, equal, finish, observed

INCLUDE = os.path.join(SOURCE, "core", "include")
OBJECTS = os.path.join(SOURCE, "tests", "data", "ebpf", "objects")
FOLDER = tempfile.TemporaryDirectory()
BPFTOOL = shutil.which("bpftool") or shutil.which("bpftool", path="/usr/sbin:/sbin")
LINUX_TYPES = "/sys/kernel/btf/vmlinux"
CLANGS = ["clang"] + [f"clang-{version}" for version in range(14, 20)]
INSTRUCTION_SETS = ("v1", "v2", "v3", "v4")


def run(*command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, **options)


def installed():
    """The clangs, each once: "clang" is one of the others by another name, mostly."""
    found, seen = {}, set()
    for name in reversed(CLANGS):
        path = shutil.which(name)
        if path is None or os.path.realpath(path) not in seen:
            found[name] = path
        if path is not None:
            seen.add(os.path.realpath(path))
    return {name: found[name] for name in CLANGS if name in found}


def system_includes():
    """Of asm/types.h, which Debian keeps by architecture."""
    triple = run("cc", "-print-multiarch").stdout.strip()
    return ["-idirafter", f"/usr/include/{triple}"] if triple else []


def compile_with(clang, mcpu, source, target, *options):
    done = run(clang, "-target", "bpf", f"-mcpu={mcpu}", "-g", "-O2", "-Wall", "-Werror", f"-I{INCLUDE}", *options,
               *system_includes(), "-c", source, "-o", target)
    check(done.returncode == 0, f"{os.path.basename(source)}: {done.stderr}")
    return target


def written(name, text):
    path = os.path.join(FOLDER.name, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def chapter_examples():
    with open(os.path.join(INCLUDE, "egpu", "bpf", "README.md"), encoding="utf-8") as file:
        examples = re.findall(r"```c\n(.*?)```", file.read(), re.S)
    check(len(examples) >= 3, "the chapter has no examples")
    return [written(f"example{index}.bpf.c", text) for index, text in enumerate(examples)]


def bundled():
    folder = os.path.join(SOURCE, "plugins")
    found = [os.path.join(folder, plugin, name) for plugin in sorted(os.listdir(folder))
             if os.path.isdir(os.path.join(folder, plugin))
             for name in sorted(os.listdir(os.path.join(folder, plugin))) if name.endswith(".bpf.c")]
    check(len(found) >= 5, found)
    return found


def linux_types():
    """vmlinux.h of the running kernel, made once."""
    path = os.path.join(FOLDER.name, "vmlinux.h")
    if not os.path.exists(path):
        if BPFTOOL is None or not os.path.exists(LINUX_TYPES):
            raise Skip("no bpftool, or no /sys/kernel/btf/vmlinux")
        written("vmlinux.h", run(BPFTOOL, "btf", "dump", "file", LINUX_TYPES, "format", "c").stdout)
    return path


BODY = """
EGPU_OPTION(bool, wide, false, "what the types are for");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, egpu_bytes_t);
} bytes SEC(".maps");
SEC("gpu/mem")
int count(struct egpu_mem_ctx *ctx)
{
	__u32 key = 0;
	egpu_bytes_t *sum = bpf_map_lookup_elem(&bytes, &key);

	if (sum && wide == false)
		__sync_fetch_and_add(sum, ctx->bytes_per_lane);
	return 0;
}
char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""
HEADER = "#include <egpu/bpf/egpu.bpf.h>\n"
# What stands before the header, and whether Linux' own types must be made first.
BEFORE = {"alone": ("", False), "after linux/bpf.h": ("#include <linux/bpf.h>\n", False),
          "after vmlinux.h": ('#include "vmlinux.h"\n', True)}


def accepted(paths):
    done = run(EGPU, "check", *paths)
    said = (done.stdout + done.stderr).splitlines()
    check(done.returncode == 0 and said and said[-1].endswith(", 0 refused"),
          "\n".join(line for line in said if "error" in line or "refused" in line))


def knows(clang, mcpu):
    done = run(clang, "-target", "bpf", f"-mcpu={mcpu}", "-x", "c", "-c", "/dev/null", "-o", os.devnull)
    if done.returncode != 0:
        raise Skip(f"{os.path.basename(clang)} doesn't know -mcpu={mcpu}")


def header(clang, mcpu, before):
    knows(clang, mcpu)
    text, needs_types = BEFORE[before]
    if needs_types:
        linux_types()
    source = written(f"header{list(BEFORE).index(before)}.bpf.c", text + HEADER + BODY)
    accepted([compile_with(clang, mcpu, source, source.replace(".bpf.c", ".bpf.o"), "-Wno-missing-declarations")])


def programs(clang, mcpu):
    knows(clang, mcpu)
    injected = os.path.join(SOURCE, "tests", "data", "ebpf", "inject")
    sources = bundled() + chapter_examples() + [os.path.join(OBJECTS, name + ".bpf.c")
                                                for name in ("globals", "bpftime_places")]
    sources += [os.path.join(injected, name) for name in sorted(os.listdir(injected))]
    objects = [compile_with(clang, mcpu, source, os.path.join(FOLDER.name, os.path.basename(source)[:-2] + ".o"))
               for source in sources]
    accepted(objects)


def counts(clang, mcpu):
    knows(clang, mcpu)
    probes = [compile_with(clang, mcpu, source, os.path.join(FOLDER.name, os.path.basename(source)[:-2] + ".o"))
              for source in (os.path.join(SOURCE, "plugins", "bandwidth", "bandwidth.bpf.c"),
                             os.path.join(OBJECTS, "globals.bpf.c"))]
    done, summary = observed([WORKLOAD, "vecadd", "--elements", "1000", "--launches", "2"], probes=probes,
                             options=["--strict"])
    equal(done.returncode, 0, done.stderr.decode())
    sums = {}
    for metric in summary["metrics"]:
        name = metric["name"].split(".", 1)[1]
        if metric.get("value"):
            sums[name] = sums.get(name, 0) + metric["value"]
    equal((sums["accesses"], sums["count.calls"], sums["narrow"]), (6000, 4000, 4003), done.stderr.decode())


def absent(name):
    raise Skip(f"{name} is not installed")


for clang_name, clang_path in installed().items():
    if clang_path is None:
        case(clang_name)(lambda name=clang_name: absent(name))
        continue
    for instruction_set in INSTRUCTION_SETS:
        for place in BEFORE:
            case(f"{clang_name} {instruction_set}: the header {place}")(
                lambda path=clang_path, mcpu=instruction_set, before=place: header(path, mcpu, before))
        case(f"{clang_name} {instruction_set}: bundled programs, examples and fixtures are accepted")(
            lambda path=clang_path, mcpu=instruction_set: programs(path, mcpu))
        case(f"{clang_name} {instruction_set}: the same counts")(
            lambda path=clang_path, mcpu=instruction_set: counts(path, mcpu))

FOLDER.cleanup()
finish()
