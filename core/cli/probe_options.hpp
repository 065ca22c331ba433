// SPDX-License-Identifier: Apache-2.0
// Options that several commands share: which probes, which kernels.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

#include "host/pipeline/pipeline.hpp"
#include "host/probesets/asked.hpp"

namespace egpu::cli {

struct ProbeOptions {
    std::vector<std::string> what;  ///< -p
    host::KernelSelection kernels;  ///< -k, --exclude-kernel
};

void add_probe_options(CLI::App& command, ProbeOptions& options);

/// False where a pattern of -k or --exclude-kernel can't be read, which is said (EGPU-X057): a usage error.
bool kernel_patterns_are_fine(const ProbeOptions& options);

/// All of -p, loaded; errors are printed behind "egpu: " and give nullopt.
std::optional<host::Asked> load_probes(const ProbeOptions& options, const host::DecidedElsewhere& decided = {});

}  // namespace egpu::cli
