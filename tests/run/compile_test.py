#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies compiled as their originals were: options, proof, baselines, the cache on disk, the driver's compiler."""
import json
import os
import shutil
import subprocess
import tempfile

from harness import BUILD, EGPU, SOURCE, Skip, case, check, equal, finish

DATA = os.path.join(SOURCE, "tests", "data", "fatbin")
MOCK_DRIVER = os.path.join(BUILD, "tests", "gpu_cuda", "mock")
DRIVER = os.path.exists("/dev/nvidiactl")
TOOLKIT = "/usr/local/cuda/bin"
PTXAS = shutil.which("ptxas") or shutil.which("ptxas", path=TOOLKIT)
NVCC = shutil.which("nvcc") or shutil.which("nvcc", path=TOOLKIT)

KERNELS = """
__constant__ float table[8];
__global__ void axpy(float* p, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) p[i] = p[i] * 3.f + p[i + n] * table[n & 7];
}
__global__ void __launch_bounds__(128) rotate(double* p) {
    __shared__ double s[128];
    s[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = s[(threadIdx.x + 1) & 127] * p[0] + p[1];
}
"""


def egpu(arguments, cache, **environment):
    variables = {key: value for key, value in os.environ.items() if not key.startswith("EGPU_")}
    variables.update(EGPU_CACHE_DIR=cache, **environment)
    return subprocess.run([EGPU] + arguments, env=variables, stdin=subprocess.DEVNULL, capture_output=True, timeout=300)


def kernels(file, cache, probes=("bandwidth",), architecture="sm_90", **environment):
    line = ["kernels", "-j", "--arch", architecture]
    for probe in probes:
        line += ["-p", probe]
    done = egpu(line + [file], cache, **environment)
    equal(done.returncode, 0, done.stderr.decode())
    return {kernel["name"]: kernel for kernel in json.loads(done.stdout)}


def built(folder, *options, source=KERNELS):
    if not NVCC or not PTXAS:
        raise Skip("no nvcc or ptxas")
    path, target = os.path.join(folder, "kernels.cu"), os.path.join(folder, "kernels.fatbin")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    subprocess.run([NVCC, "-arch=sm_90", "-fatbin", *options, path, "-o", target], check=True, timeout=120)
    return target


def cached(folder):
    return [name for _, _, names in os.walk(folder) for name in names if name != "statistics"]


def options_case(*options):
    @case("compiled as the original was: " + (" ".join(options) or "no options"))
    def _():
        with tempfile.TemporaryDirectory() as folder:
            found = kernels(built(folder, *options), os.path.join(folder, "cache"))
            equal(sorted(found), ["axpy", "rotate"], "kernels")
            for kernel in found.values():
                equal(kernel["state"], "instrumented", kernel["reason"])
                equal(kernel["proof"], "proved", kernel["proof_reason"])
                check(not [note for note in kernel["notes"] if "recorded option" in note], kernel["notes"])
                check(kernel["registers"]["original"] > 0, "no registers")
                for column in ("registers", "spill_bytes", "local_bytes", "resident_warps"):
                    equal(kernel[column]["reassembled"] is None, False, column)
                    check(kernel[column]["instrumented"] is not None, column)
                check(kernel["resident_warps"]["instrumented"] >= kernel["resident_warps"]["original"], kernel)
    return _


for some in ((), ("-maxrregcount=32",), ("-Xptxas", "-O1"), ("-fmad=false",), ("-Xptxas", "-dlcm=cg"), ("-lineinfo",),
             ("-use_fast_math", "-Xptxas", "-fmad=false", "-maxrregcount=24")):
    options_case(*some)


POLYNOMIAL = """
__constant__ float table[64];
__global__ void polynomial(const float* in, float* out, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 64; ++k) sum = sum * in[i] + table[k];
    if (i < n) out[i] = sum;
}
"""


@case("constants stay in the constant bank where registers depend on it")
def _():
    with tempfile.TemporaryDirectory() as folder:
        target = built(folder, source=POLYNOMIAL)
        forms = {form: kernels(target, os.path.join(folder, "cache"), EGPU_CONSTANTS=form)["polynomial"]
                 for form in ("", "address", "bank")}
        for form, kernel in forms.items():
            equal(kernel["registers"]["reassembled"], kernel["registers"]["original"], "registers without programs")
            noted = [note for note in kernel["notes"] if note.startswith("constants in the constant bank (256 bytes")]
            equal(len(noted), 0 if form == "address" else 1, f"notes of {kernel['notes']}")
        equal(forms[""]["registers"], forms["bank"]["registers"], "chosen by figures")
        check(forms["bank"]["registers"]["instrumented"] + 8 <= forms["address"]["registers"]["instrumented"], forms)
        # A table that is used once costs nothing by address.
        equal(kernels(built(folder), os.path.join(folder, "cache"))["axpy"]["notes"], [], "notes")


@case("the recorded options matter: without them the code differs")
def _():
    if not PTXAS:
        raise Skip("no ptxas")
    with tempfile.TemporaryDirectory() as folder:
        target = built(folder, "-Xptxas", "-O1")
        # The same length, so that the note stays a note: level 1 becomes level 3.
        with open(target, "rb") as file:
            content = file.read()
        if content.count(b"-O 1 ") == 0:
            raise Skip("the fatbinary is compressed")
        with open(target, "wb") as file:
            file.write(content.replace(b"-O 1 ", b"-O 3 "))
        found = kernels(target, os.path.join(folder, "cache"))
        # The other kernel's code is the same at both levels, and so proved: what is compared is code, not options.
        equal(found["axpy"]["proof"], "differs", "proof")


@case("committed fixture of another architecture, with a record of options")
def _():
    if not PTXAS:
        raise Skip("no ptxas")
    with tempfile.TemporaryDirectory() as folder:
        for kernel in kernels(os.path.join(DATA, "options.fatbin"), folder, architecture="sm_75").values():
            check(kernel["proof"] == "proved" or "compiled by ptxas 13.0" in kernel["proof_reason"], kernel)


@case("a table shows three figures and what is proved")
def _():
    with tempfile.TemporaryDirectory() as folder:
        done = egpu(["kernels", "-p", "bandwidth", built(folder)], os.path.join(folder, "cache"))
        text = done.stdout.decode()
        for wanted in (", proved", "WARPS", "registers, warps that fit on an SM: original / reassembled / instrumented"):
            check(wanted in text, f"{wanted} is missing in\n{text}")


@case("the second time everything comes from the cache, and doctor counts it")
def _():
    if not PTXAS:
        raise Skip("no ptxas")
    with tempfile.TemporaryDirectory() as folder:
        cache, file = os.path.join(folder, "cache"), os.path.join(DATA, "kernels.ptx")
        first = kernels(file, cache)
        files = sorted(cached(cache))
        check(files, "nothing was kept")
        equal(kernels(file, cache), first, "the second answer")
        equal(sorted(cached(cache)), files, "files")
        said = egpu(["doctor"], cache).stdout.decode()
        check(f"compiled copies are kept in {cache}: {len(files)} in" in said, said)
        check(f"; {len(files)} of {2 * len(files)} were found there" in said, said)


@case("damaged entries are compiled again")
def _():
    if not PTXAS:
        raise Skip("no ptxas")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(DATA, "kernels.ptx")
        first = kernels(file, folder)
        for root, _, names in os.walk(folder):
            for name in names:
                with open(os.path.join(root, name), "r+b") as entry:
                    entry.seek(80)
                    entry.write(b"damage")
        equal(kernels(file, folder), first, "the second answer")


@case("EGPU_CACHE=0 keeps nothing")
def _():
    with tempfile.TemporaryDirectory() as folder:
        cache = os.path.join(folder, "cache")
        kernels(os.path.join(DATA, "kernels.ptx"), cache, EGPU_CACHE="0")
        check(not os.path.exists(cache), "it was made")
        check("compiled copies are not kept: EGPU_CACHE=0" in egpu(["doctor"], cache, EGPU_CACHE="0").stdout.decode(), "doctor")


@case("where no ptxas is, the driver compiles; where no driver is either, the reason says so")
def _():
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(DATA, "kernels.ptx")
        found = kernels(file, folder, EGPU_PTXAS="none", LD_LIBRARY_PATH=MOCK_DRIVER)
        equal({kernel["state"] for kernel in found.values()}, {"instrumented"}, "states")
        said = egpu(["doctor"], folder, EGPU_PTXAS="none", LD_LIBRARY_PATH=MOCK_DRIVER).stdout.decode()
        check("PTX compiler: the driver's own (CUDA 12.8); EGPU_PTXAS=none" in said, said)
        for mode, reason in (("error", "the driver's compiler refuses"), ("crash", "the driver's compiler crashed (signal 6)")):
            found = kernels(file, os.path.join(folder, mode), EGPU_PTXAS="none", LD_LIBRARY_PATH=MOCK_DRIVER,
                            EGPU_MOCK_LINK=mode)
            for kernel in found.values():
                equal(kernel["state"], "failed", mode)
                check(reason in kernel["reason"], kernel["reason"])
        if DRIVER:
            return
        found = kernels(file, folder, EGPU_PTXAS="none", LD_LIBRARY_PATH="/nonexistent")
        for kernel in found.values():
            equal(kernel["state"], "failed", "no compiler")
            check("EGPU_PTXAS=none, and no NVIDIA driver" in kernel["reason"], kernel["reason"])
            check("EGPU_PTXAS" in kernel["fix"], kernel["fix"])


@case("a ptxas that is too old for the PTX or the device gives way to the driver's compiler")
def _():
    with tempfile.TemporaryDirectory() as folder:
        old = os.path.join(folder, "ptxas")
        for complaint in ("copy.ptx, line 1; fatal   : Unsupported .version 99.0; current version is '7.0'",
                          "fatal   : Value 'sm_90' is not defined for option 'gpu-name'"):
            with open(old, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n[ $1 = --version ] && echo release 12.0 && exit\necho \"ptxas {complaint}\"\nexit 255\n")
            os.chmod(old, 0o700)
            file = os.path.join(DATA, "kernels.ptx")
            found = kernels(file, os.path.join(folder, "a"), EGPU_PTXAS=old, LD_LIBRARY_PATH=MOCK_DRIVER)
            equal({kernel["state"] for kernel in found.values()}, {"instrumented"}, complaint)
            if DRIVER:
                continue
            found = kernels(file, os.path.join(folder, "b"), EGPU_PTXAS=old, LD_LIBRARY_PATH="/nonexistent")
            equal({kernel["state"] for kernel in found.values()}, {"failed"}, complaint)


@case("a session tells how copies were compiled when it is asked")
def _():
    with tempfile.TemporaryDirectory() as folder:
        done = egpu(["run", "-v", "--simulated", "-p", "bandwidth", "--", os.path.join(BUILD, "bin", "egpu-workload"), "vecadd"],
                    folder)
        equal(done.returncode, 0, done.stderr.decode())


finish()
