// SPDX-License-Identifier: Apache-2.0
// From what a user asks for (`-p WHAT`, several times) to verified probes, settings of the run and expectations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/sampling.hpp"
#include "host/probesets/load.hpp"
#include "host/programs/programs.hpp"

namespace egpu::host {

/// What sets say of the whole run. The command line is laid over it.
struct RunSettings {
    std::optional<Placed<LaunchWindow>> launches;
    std::optional<Placed<std::uint32_t>> sample_launches;
    std::optional<Placed<std::uint64_t>> wait_ns, gpu_memory_bytes;
    std::optional<Placed<bool>> strict;
    std::optional<Text> summary, record;
};

/// Of these the command line decides: sets need not agree on them, and what a probe says of them is not heeded.
struct DecidedElsewhere {
    bool launches = false, sample_launches = false, wait = false, gpu_memory = false, summary = false, record = false;
    std::optional<Sampling> sampling;  ///< of all probes
};

struct Asked {
    std::vector<LoadedProbe> probes;
    std::vector<std::string> names;  ///< of sets, and of probes that no set brought
    RunSettings settings;
    std::vector<Expectation> expectations;
};

/// All of `what`: a name is looked up as probe set, then as plugin or installed program; a file ends in .yaml, or in
/// what load_probe takes. Probe sets stand side by side: the kernels of each are for its own probes, and where two say
/// different things of the whole run that is an error (EGPU-S027). All problems: EGPU-S0xx, those of load_probe,
/// EGPU-X023 where two probes have one name, EGPU-S034 where two sample blocks or warps in different ways.
Result<Asked> ask_for(const std::vector<std::string>& what, const DecidedElsewhere& decided = {},
                      const ebpf::VerifierOptions& options = {});

/// One set: what it brings. All its problems, those of reading it first.
Result<Asked> ask_for(const ReadSet& set, const ebpf::VerifierOptions& options = {});

}  // namespace egpu::host
