# SPDX-License-Identifier: Apache-2.0
"""Typical mistakes (tests/data/mistakes): `egpu check` names each by its code and says what to change; changed so, the
program is accepted. Usage: mistakes_test.py EGPU FOLDER. Exit code 77: there is no clang."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile


def check(egpu, folder, name, text):
    """Exit code and output of egpu check on a program."""
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run([egpu, "check", path], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


def mended(header, source):
    """The source with the header's changes: lines after '// -' give way to the lines after '// +'."""
    changes, last = [], ""
    for line in header:
        if not line.startswith(("// -", "// +")):
            continue
        if line[3] == "-" and last != "-":
            changes.append(([], []))
        last = line[3]
        changes[-1][last == "+"].append(line[4:] + "\n")
    for before, after in changes:
        old = "".join(before)
        if source.count(old) != 1:
            raise ValueError(f"the lines to change stand {source.count(old)} times in it: {old}")
        source = source.replace(old, "".join(after))
    return source if changes else None


def problem_with(egpu, folder, path):
    """"" or what is wrong."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    first = re.match(r"// (EGPU-[A-Z]\d+): (.+)\n", text)
    header = [line for line in text.split("\n\n")[0].splitlines() if line.startswith("//")]
    source = text[text.index("#include"):]
    if not first:
        return "its first line is not '// CODE: words of the fix'"
    code, words = first.groups()
    status, said = check(egpu, folder, os.path.basename(path), source)
    if f"[{code}]" not in said or words not in said:
        return f"expected {code} and '{words}', got:\n{said}"
    if (status == 0) != ("warning: " in said and "error: " not in said):
        return f"exit code {status}:\n{said}"
    places = re.findall(r"^(\S+?\.c(?::\d+)?)(?::\d+)?: (?:error|warning): .*\[" + code + r"\]$", said, re.M)
    if not places or len(set(places)) != len(places):
        return f"{code} is not said once for each line of the source:\n{said}"
    changed = mended(header, source)
    if changed is None:
        return "it doesn't say how it is mended"
    status, said = check(egpu, folder, "mended_" + os.path.basename(path), changed)
    return "" if status == 0 and code not in said and "accepted" in said else f"mended, exit code {status}:\n{said}"


def main():
    egpu, data = sys.argv[1:]
    if not any(shutil.which(name) for name in ["clang"] + [f"clang-{n}" for n in range(14, 20)]):
        print("skipped: there is no clang")
        return 77
    paths = sorted(glob.glob(os.path.join(data, "*.bpf.c")))
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            wrong = problem_with(egpu, folder, path)
            failures += 1 if wrong else 0
            if wrong:
                print(f"{os.path.basename(path)}: {wrong}")
    print(f"{len(paths) - failures} passed, {failures} failed")
    return 1 if failures or len(paths) < 20 else 0


sys.exit(main())
