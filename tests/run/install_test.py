#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installed into a prefix that is then moved: egpu demo runs from there, and programs compile against it."""
import os
import re
import shutil
import subprocess
import tempfile

from harness import BUILD, SOURCE, Skip, case, check, equal, finish

HELLO = os.path.join(SOURCE, "tests", "data", "programs", "hello.bpf.c")


def installed(folder):
    """An installation whose prefix was moved after it was made."""
    first, second = os.path.join(folder, "first"), os.path.join(folder, "second")
    done = subprocess.run(["cmake", "--install", BUILD, "--prefix", first], capture_output=True, timeout=120)
    equal(done.returncode, 0, "cmake --install, " + done.stderr.decode())
    shutil.move(first, second)
    return second


def demo_and_files(prefix, folder):
    egpu = os.path.join(prefix, "bin", "egpu")
    demo = subprocess.run([egpu, "demo"], capture_output=True, timeout=120, cwd=folder)
    text = demo.stderr.decode()
    equal(demo.returncode, 0, "egpu demo, " + text)
    check("gather_strided            2       n/a  8.39 MB  8.39 MB          32.0               12.5 %" in text, text)
    if shutil.which("clang"):
        own = subprocess.run([egpu, "run", "-p", HELLO, "--", os.path.join(prefix, "bin", "egpu-workload"), "vecadd",
                              "--elements", "1024", "--block", "128", "--launches", "1"], capture_output=True, timeout=120)
        check("vector_add     32" in own.stderr.decode(), own.stderr.decode())
    for root, _, names in os.walk(prefix):
        for name in names:
            if name.endswith((".cmake", ".pc", ".json")):
                with open(os.path.join(root, name), encoding="utf-8") as file:
                    check(SOURCE not in file.read(), f"{name} names the source folder")


class Author:
    """Somebody who has an installed egpu, a compiler, and nothing else of ours."""

    def __init__(self, prefix, folder):
        self.prefix, self.folder = prefix, folder
        self.environment = dict(os.environ, PATH=os.path.join(prefix, "bin") + ":" + os.environ["PATH"])
        for name in ("EGPU_PLUGIN_PATH", "CMAKE_PREFIX_PATH", "CPATH"):
            self.environment.pop(name, None)

    def run(self, *words, code=0):
        done = subprocess.run(words, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=300)
        text = done.stdout.decode()
        equal(done.returncode == 0, code == 0, " ".join(words) + ", " + text)
        return text

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def edit(self, name, before, after):
        with open(self.path("hello", name), encoding="utf-8") as file:
            text = file.read()
        check(before in text, f"{name} has no {before!r}")
        with open(self.path("hello", name), "w", encoding="utf-8") as file:
            file.write(text.replace(before, after, 1))

    def configure(self, name="hello", code=0):
        return self.run("cmake", "-S", name, "-B", name + "/build", code=code)

    def build(self, name="hello", code=0):
        return self.run("cmake", "--build", name + "/build", code=code)


def needs_clang():
    if not shutil.which("clang"):
        raise Skip("no clang")


with tempfile.TemporaryDirectory() as parent:
    prefix = []

    @case("a moved installation")
    def moved():
        prefix.append(installed(parent))
        demo_and_files(prefix[0], parent)

    @case("the documentation is installed, and its relative links lead somewhere")
    def documentation():
        root = os.path.join(prefix[0], "share", "doc", "egpu")
        documents = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names
                     if name.endswith(".md")]
        for name in ("README.md", "plugins/README.md", "plugins/template/README.md", "configs/README.md", "ui/README.md",
                     "core/include/egpu/bpf/README.md"):
            check(os.path.join(root, name) in documents, f"{name} is not installed")
        dead, links = [], 0
        for document in documents:
            with open(document, encoding="utf-8") as file:
                targets = re.findall(r"\]\(([^)#]+)[^)]*\)", file.read())
            for target in targets:
                if not target.startswith(("http", "mailto:")):
                    links += 1
                    if not os.path.exists(os.path.join(os.path.dirname(document), target)):
                        dead.append(f"{os.path.relpath(document, root)} -> {target}")
        equal(dead, [], "dead links")
        check(links > 20, f"only {links} links")

    def author(name):
        needs_clang()
        folder = os.path.join(parent, name)
        os.mkdir(folder)
        return Author(prefix[0], folder)

    @case("an author's three commands, from the template to a finding")
    def from_the_template():
        one = author("template")
        one.run("egpu", "plugin", "new", "hello")
        equal(sorted(os.listdir(one.path("hello"))),
              ["CMakeLists.txt", "README.md", "hello.bpf.c", "hello.cpp", "hello.test.yaml"], "its files")
        one.configure()
        text = one.build()
        check("warning" not in text, text)
        check("1 tests passed" in one.run("ctest", "--test-dir", "hello/build", "--output-on-failure").replace(
            "100% tests passed, 0 tests failed out of 1", "1 tests passed"), "ctest")
        text = one.run("egpu", "run", "-p", "hello/build/hello.so", "--", "egpu-workload", "vecadd", "--elements", "32",
                       "--block", "32", "--launches", "1")
        check("finding: vector_add: fewer warps than SMs" in text, text)
        text = one.run("egpu", "run", "--plugin-path", "hello/build", "-p", "hello", "--", "egpu-workload", "vecadd")
        check("65 536" in text, text)
        one.run("cmake", "--install", "hello/build", "--prefix", one.path("home", ".local"))
        one.environment.update(HOME=one.path("home"))
        one.environment.pop("XDG_DATA_HOME", None)
        text = one.run("egpu", "run", "-p", "hello", "--", "egpu-workload", "vecadd")
        check("65 536" in text, text)
        symbols = one.run("nm", "-D", "--defined-only", "hello/build/hello.so").split()
        equal(symbols[2:], ["egpu_plugin_descriptor"], "what it exports")
        check("is there already: nothing was changed" in one.run("egpu", "plugin", "new", "hello", code=1), "a second time")

    @case("a name of several words")
    def several_words():
        one = author("words")
        one.run("egpu", "plugin", "new", "warp-count")
        one.configure("warp-count")
        one.build("warp-count")
        one.run("ctest", "--test-dir", "warp-count/build", "--output-on-failure")
        check("can't be a plugin's name" in one.run("egpu", "plugin", "new", "Warp_Count", code=2), "a name that can't be")

    @case("a plugin of its programs alone")
    def programs_alone():
        one = author("alone")
        one.run("egpu", "plugin", "new", "hello")
        os.remove(one.path("hello", "hello.cpp"))
        one.edit("CMakeLists.txt", "  SOURCES  hello.cpp)", "  SUMMARY \"Says \\\"hello\\\"\" VERSION 1.2.3)")
        one.edit("hello.test.yaml", "      - findings: [{ id: small-grid, kernel: vector_add }]", "      - findings: []")
        one.configure()
        one.build()
        one.run("ctest", "--test-dir", "hello/build", "--output-on-failure")
        text = one.run("egpu", "plugin", "info", "hello/build/hello.so")
        for line in ("version  1.2.3", 'summary  Says "hello"', "ABI      0.1"):
            check(line in text.splitlines(), text)
        check("libstdc++" not in one.run("readelf", "-d", "hello/build/hello.so"), "it needs no C++ library")

    def mistake(name, file, before, after, said, tested=False):
        @case(f"an author's mistake: {name}")
        def shown():
            one = author(name.replace(" ", "_"))
            one.run("egpu", "plugin", "new", "hello")
            one.edit(file, before, after)
            one.configure()
            text = one.build(code=0 if tested else 1)
            if tested:
                text = one.run("ctest", "--test-dir", "hello/build", "--output-on-failure", code=1)
            for each in said:
                check(re.search(each, text), f"no {each!r} in\n{text}")

    mistake("no NULL check", "hello.bpf.c", "\tif (count)\n\t\t__sync", "\t__sync",
            [r"hello\.bpf\.c:18:\d+: error: 'count' may be NULL here", r"fix:  if \(!count\) return 0;"])
    mistake("an unknown kind of map", "hello.bpf.c", "BPF_MAP_TYPE_PERCPU_HASH", "BPF_MAP_TYPE_QUEUE",
            [r"hello\.bpf\.c:6:\d+: error: .*BPF_MAP_TYPE_QUEUE"])
    mistake("a kind of map that egpu has not", "hello.bpf.c", "BPF_MAP_TYPE_PERCPU_HASH", "22",
            [r"hello\.bpf\.c: error: map 'warps' has type 22"])
    mistake("a wrong key in the test file", "hello.test.yaml", "    expect:", "    expects:",
            [r"hello\.test\.yaml:7:5: error: a case has no key 'expects'", "did you mean 'expect'"], tested=True)
    mistake("an error in C++", "hello.cpp", "host.launches(kernel)", "host.lauches(kernel)", [r"hello\.cpp:11:\d+: error: "])
    mistake("a wrong map in host.map", "hello.cpp", '"warps"', '"warp"',
            [r"hello\.cpp:10: the object has no map 'warp'; did you mean 'warps'\?"])
    mistake("a wrong type in host.map", "hello.cpp", "std::uint64_t>(", "std::uint32_t>(",
            [r"hello\.cpp:10: map 'warps' has keys of 4 and values of 8 bytes, not 4 and 4"])
    mistake("a wrong number in the test file", "hello.test.yaml", "value: 32", "value: 31",
            [r"hello\.test\.yaml:8:9: error: case 'one count a warp': map 'warps' is not as expected",
             r"- \{ key: vector_add, value: 31 \}", r"\+ \{ key: vector_add, value: 32 \}"], tested=True)

    @case("a file that the check complains of is kept, and the build fails until it is well")
    def kept_for_the_check():
        one = author("kept")
        one.run("egpu", "plugin", "new", "hello")
        one.configure()
        one.build()
        one.edit("hello.cpp", '"warps"', '"warp"')
        said = "the object has no map 'warp'"
        for _ in range(2):
            check(said in one.build(code=1), "the build says it")
            check(said in one.run("egpu", "plugin", "check", "hello/build/hello.so", code=1), "the new file was kept")
        one.edit("hello.cpp", '"warp"', '"warps"')
        one.build()
        one.run("egpu", "plugin", "check", "hello/build/hello.so")
        one.edit("hello.bpf.c", "\tif (count)\n", "")
        one.build(code=1)
        check(not os.path.exists(one.path("hello", "build", "hello.so")), "no plugin of before a refused program")
        one.edit("hello.bpf.c", "\t\t__sync", "\tif (count)\n\t\t__sync")
        one.build()
        one.run("ctest", "--test-dir", "hello/build", "--output-on-failure")

    @case("find_package: the same minor version only, and pkg-config")
    def packages():
        one = author("packages")
        one.run("egpu", "plugin", "new", "hello")
        one.edit("CMakeLists.txt", "egpu 0.1 REQUIRED", "egpu 0.2 REQUIRED")
        check("0.1.0" in one.configure(code=1), "another minor version is refused")
        one.edit("CMakeLists.txt", "egpu 0.2 REQUIRED", "egpu 0.1 REQUIRED")
        one.edit("CMakeLists.txt", "PROGRAMS hello.bpf.c", "PROGRAMS hallo.bpf.c")
        check("there is no file hallo.bpf.c" in one.configure(code=1), "a file that is not there")
        if not shutil.which("pkg-config"):
            return
        for root, _, names in os.walk(one.prefix):
            if "egpu.pc" in names:
                one.environment["PKG_CONFIG_PATH"] = root
        flags = one.run("pkg-config", "--cflags", "egpu").split()
        included = os.path.realpath(flags[0][2:])
        check(os.path.exists(os.path.join(included, "egpu", "plugin.h")), str(flags))
        folder = os.path.realpath(one.run("pkg-config", "--variable=pluginsdir", "egpu").strip())
        check(os.path.exists(os.path.join(folder, "bandwidth.so")), folder)


finish()
