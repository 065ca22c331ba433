// SPDX-License-Identifier: Apache-2.0
// From what a user names (`-p WHAT`) to verified programs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/sampling.hpp"
#include "ebpf/object/object.hpp"
#include "ebpf/verifier/verifier.hpp"
#include "host/catalogue/selection.hpp"
#include "host/installation/folders.hpp"

namespace egpu::host {

/// One program of a probe and what the verifier said.
struct CheckedProgram {
    std::uint32_t index = 0;  ///< in Object::programs
    std::optional<ebpf::Verification> verification;
    std::vector<Diagnostic> refusal;  ///< where not accepted
};

/// One `-p`: an object with its programs checked. Programs that were refused don't run; the others do.
struct LoadedProbe {
    std::string name;  ///< "bandwidth"; of a plugin: its id, of another file: its name without folder and extensions
    std::string path;
    std::string version;    ///< of a plugin; "" of anything else
    bool has_code = false;  ///< `path` is a plugin with code of its own, to be called during the session
    std::shared_ptr<const ebpf::Object> object;
    std::vector<CheckedProgram> programs;
    std::vector<KernelSelection> kernels;  ///< each narrows the others; none: all kernels
    Sampling sampling;                     ///< which blocks or warps run its programs
};

/// An object from a name or a file (.bpf.c is compiled, .bpf.o read, of a plugin its own). Errors: EGPU-X02x with "did
/// you mean", EGPU-X08x for plugins, the compiler's messages, EGPU-B0xx.
Result<std::shared_ptr<const ebpf::Object>> load_object(const std::string& what);

/// The verifier over the programs of probe.object, or of those that `only` names: probe.programs is made anew.
void check_programs(LoadedProbe& probe, const ebpf::VerifierOptions& options = {},
                    const std::vector<std::string>& only = {});

/// EGPU-S035 where blocks or warps are sampled and an accepted program runs once a grid: who is sampled in a launch, no
/// thread of it knows.
Status check_sampling(const LoadedProbe& probe);

/// load_object and the verifier.
Result<LoadedProbe> load_probe(const std::string& what, const ebpf::VerifierOptions& options = {});

}  // namespace egpu::host
