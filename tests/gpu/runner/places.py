# SPDX-License-Identifier: Apache-2.0
"""Where things are: egpu, its programs, the toolkit; and which GPU is meant."""
import copy
import os
import shutil

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def first_existing(paths):
    return next((path for path in paths if path and os.path.exists(path)), None)


class Places:
    def __init__(self, options):
        self.simulated = options.simulated
        self.prebuilt = options.prebuilt
        self.quick = options.quick
        self.jobs = getattr(options, "jobs", 1)  # tests/bench has these places too, and runs one at a time
        self.folder = None
        self.egpu = os.path.abspath(options.egpu or os.path.join(ROOT, "build", "dev", "bin", "egpu"))
        self.binaries = os.path.dirname(self.egpu)
        prefix = os.path.dirname(self.binaries)
        self.libraries = first_existing([os.path.join(prefix, "lib", "egpu"), os.path.join(prefix, "lib64", "egpu")]) or ""
        self.agent = os.path.join(self.libraries, "libegpu-agent.so")
        self.stand_ins = [os.path.join(self.libraries, "simulated", name) for name in ("libcuda.so.1", "libcudart.so.13")]
        self.workload = os.path.join(self.binaries, "egpu-workload")
        self.programs = os.path.abspath(options.programs or os.path.join(ROOT, "build", "gpu-tests"))
        # Programs for tests only lie in the build tree, not in an installation.
        self.endings = first_existing([os.path.join(self.programs, "egpu-endings"),
                                       os.path.join(prefix, "workloads", "egpu-endings")])
        self.launches = first_existing([os.path.join(self.programs, "egpu-launches"),
                                        os.path.join(prefix, "workloads", "egpu-launches")])
        # Where tests are told of the corpus for one architecture, the others lie beside it.
        one = os.environ.get("EGPU_PTX_CORPUS")
        self.corpus = getattr(options, "corpus", None) or (os.path.dirname(os.path.abspath(one)) if one else None)
        cuda = os.environ.get("CUDA_HOME", "/usr/local/cuda")
        self.nvcc = first_existing([os.environ.get("CUDACXX")]) or shutil.which("nvcc") or first_existing([os.path.join(cuda, "bin", "nvcc")])

    def for_case(self, folder):
        """The same places, with a folder of the case's own."""
        own = copy.copy(self)
        own.folder = folder
        return own

    def environment(self, **more):
        """For egpu: cache and temporary files lie in the case's folder."""
        return dict(os.environ, EGPU_CACHE_DIR=os.path.join(self.folder, "cache"), TMPDIR=self.folder, **more)

    def left_behind(self):
        """What lies in the case's folder beside the cache: temporary files that egpu forgot."""
        return sorted(set(os.listdir(self.folder)) - {"cache"})

    def plain_environment(self):
        """For a program without egpu: on the simulated GPU the stand-ins, preloaded by hand."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("EGPU_")}
        if self.simulated:
            environment["LD_PRELOAD"] = ":".join(self.stand_ins)
        return environment

    def egpu_run(self, *options):
        return [self.egpu, "run"] + (["--simulated"] if self.simulated else []) + list(options)
