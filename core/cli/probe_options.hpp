// SPDX-License-Identifier: Apache-2.0
// Options that several commands share: which probes, which kernels.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

#include "host/pipeline/pipeline.hpp"
#include "host/programs/programs.hpp"

namespace egpu::cli {

struct ProbeOptions {
    std::vector<std::string> what;  ///< -p
    host::KernelSelection kernels;  ///< -k, --exclude-kernel
};

void add_probe_options(CLI::App& command, ProbeOptions& options);

/// All of -p, loaded; errors are printed behind "egpu: " and give nullopt.
std::optional<std::vector<host::LoadedProbe>> load_probes(const ProbeOptions& options);

}  // namespace egpu::cli
