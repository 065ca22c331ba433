#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the code blocks of the documentation.

- ```c blocks that hold a whole program (a license) are compiled and must be accepted by `egpu check`;
- ```yaml blocks that hold a whole probe set must be accepted by `egpu check`;
- blocks that begin with "$ egpu ..." are run; every line they show must be printed, in that order; numbers of seconds
  may differ, a line "..." stands for any lines;
- commands in ``` and ```sh blocks that begin with "egpu " must name commands and options that exist.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "run"))
from harness import BUILD, EGPU, SOURCE, Skip, case, check, equal, finish  # noqa: E402


def blocks(path):
    """(language, text, line) of each fenced block."""
    language, lines, start = None, [], 0
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        if line.startswith("```"):
            if language is None:
                language, lines, start = line[3:].strip(), [], number
            else:
                yield language, "".join(lines), start
                language = None
        elif language is not None:
            lines.append(line)


def documents():
    for root, folders, names in os.walk(SOURCE):
        folders[:] = [name for name in folders if name not in ("build", ".git", "data") and not name.startswith("build-")]
        for name in names:
            if name.endswith(".md"):
                yield os.path.join(root, name)


def accepted(program):
    if not shutil.which("clang"):
        raise Skip("no clang")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "block.bpf.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(program)
        done = subprocess.run([EGPU, "check", path], capture_output=True, timeout=60)
        equal(done.returncode, 0, done.stdout.decode() + done.stderr.decode())


def accepted_set(text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, re.search(r"^name: (\S+)$", text, re.MULTILINE).group(1) + ".yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([EGPU, "check", path], capture_output=True, timeout=60)
        equal(done.returncode, 0, done.stdout.decode() + done.stderr.decode())


def without_times(line):
    return re.sub(r"\d+\.\d+ s\b", "N s", line.rstrip())


def prints(text):
    lines = text.splitlines()
    environment = dict(os.environ, PATH=os.path.join(BUILD, "bin") + ":" + os.environ["PATH"])
    done = subprocess.run(["/bin/sh", "-c", lines[0][2:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
                          timeout=120)
    printed = [without_times(line) for line in done.stdout.decode().splitlines()]
    at = 0
    for line in lines[1:]:
        wanted = without_times(line)
        # stdout and stderr are two streams: a line of the application may come a little earlier or later.
        here = at if line.startswith("egpu:") else 0
        if wanted in ("...", ""):
            continue
        check(wanted in printed[here:], f"not printed: {line}\n" + "\n".join(printed))
        if line.startswith("egpu:"):
            at = printed.index(wanted, here) + 1


GROUPS = ("map", "probe", "plugin")  # commands that have commands of their own


def command_exists(line):
    words = line.split("#")[0].split()
    if " -- " in line:
        words = words[:words.index("--")]
    names = [word for word in words[1:] if re.fullmatch(r"[a-z]+", word)][:2]
    help_text = subprocess.run([EGPU, words[1], "--help"], capture_output=True, timeout=30)
    equal(help_text.returncode, 0, f"egpu {words[1]} --help")
    known = help_text.stdout.decode()
    if len(words) > 2 and words[1] in GROUPS:
        check(names[1] in known, f"egpu {words[1]} has no {names[1]}")
        known = subprocess.run([EGPU, words[1], names[1], "--help"], capture_output=True, timeout=30).stdout.decode()
    for word in words[2:]:
        if word.startswith("--") and word != "--help" and word != "--version":
            check(word in known, f"{words[1]} has no {word}")
    if words[1] in ("map", "probe", "probeset"):
        check(names[1] in known, f"egpu {words[1]} has no {names[1]}")


for document in sorted(documents()):
    name = os.path.relpath(document, SOURCE)
    for language, text, line in blocks(document):
        if language == "c" and 'SEC("license")' in text:
            case(f"{name}:{line} program")(lambda text=text: accepted(text))
        if language == "yaml" and re.search(r"^egpu: 1$", text, re.MULTILINE):
            case(f"{name}:{line} probe set")(lambda text=text: accepted_set(text))
        if text.startswith("$ egpu "):
            case(f"{name}:{line} output")(lambda text=text: prints(text))
        for command in text.splitlines():
            if language in ("", "sh") and re.match(r"egpu [a-z]", command):
                case(f"{name}:{line} {command.strip()}")(lambda command=command: command_exists(command))


@case("README's hello.bpf.c is the one that tests run")
def same_hello():
    with open(os.path.join(SOURCE, "tests", "data", "programs", "hello.bpf.c"), encoding="utf-8") as file:
        hello = file.read()
    check(any(text == hello for language, text, _ in blocks(os.path.join(SOURCE, "README.md")) if language == "c"),
          "README shows tests/data/programs/hello.bpf.c")


@case("the author's guide shows the template")
def same_template():
    guide = [text for _, text, _ in blocks(os.path.join(SOURCE, "plugins", "README.md"))]
    for name in ("CMakeLists.txt", "hello.cpp", "hello.test.yaml"):
        with open(os.path.join(SOURCE, "plugins", "template", name), encoding="utf-8") as file:
            check(file.read() in guide, f"plugins/README.md shows plugins/template/{name}")
    with open(os.path.join(SOURCE, "plugins", "template", "hello.bpf.c"), encoding="utf-8") as file, \
            open(os.path.join(SOURCE, "tests", "data", "programs", "hello.bpf.c"), encoding="utf-8") as tested:
        equal(file.read(), tested.read(), "the template's program and the README's")


@case("the author's guide's example builds, its tests pass, it runs")
def author():
    if not shutil.which("clang"):
        raise Skip("no clang")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cmake", "--install", BUILD, "--prefix", os.path.join(folder, "egpu")], check=True,
                       stdout=subprocess.DEVNULL, timeout=120)
        environment = dict(os.environ, PATH=os.path.join(folder, "egpu", "bin") + ":" + os.environ["PATH"],
                           CMAKE_PREFIX_PATH=os.path.join(folder, "egpu"))
        guide = os.path.join(SOURCE, "plugins", "README.md")
        for _, text, line in list(blocks(guide)):
            if text.startswith(("egpu plugin new", "cmake -S hello")):
                done = subprocess.run(["/bin/sh", "-e", "-c", text], cwd=folder, env=environment, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, timeout=300)
                equal(done.returncode, 0, f"plugins/README.md:{line}, " + done.stdout.decode())


finish()
