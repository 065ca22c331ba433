// SPDX-License-Identifier: Apache-2.0
// Settings of a run: command line over environment over probe sets over defaults (TARGETS E5).
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/sampling.hpp"
#include "host/probesets/asked.hpp"

namespace egpu::cli {

/// As the command line and the environment give them; "" where neither does.
struct RunSettingOptions {
    std::string wait, gpu_memory, sample, launch_skip, launch_count, summary, record;
    std::string reserve;
    bool strict = false, no_expect = false;
};

/// --wait, EGPU_WAIT and so on; those of a probe set's keys that this version has not are refused by name.
void add_run_settings(CLI::App& command, RunSettingOptions& options);

/// The same as values.
struct GivenSettings {
    std::optional<std::uint64_t> wait_ns, gpu_memory_bytes;
    std::optional<std::uint32_t> sample_launches, launch_skip, launch_count;
    std::optional<Sampling> sampling;  ///< of blocks or warps
    std::uint64_t reserve_bytes = 0;

    /// Of these, sets need not agree.
    host::DecidedElsewhere decided(const RunSettingOptions& options) const;
};
/// All that can't be read: EGPU-X050, X054, X058.
Result<GivenSettings> parse_settings(const RunSettingOptions& options);

/// What a run is started with.
struct Settled {
    std::uint32_t wait_ms = 0;
    std::uint64_t gpu_memory_bytes = 0, reserve_bytes = 0;
    std::uint32_t sample_launches = 1;
    Sampling sampling;  ///< as the command line says; that of a set is its probes' own
    host::LaunchWindow launches;
    bool strict = false;
    std::string summary;  ///< with its placeholders; "" for none
    std::string record;
};
Settled settle(const RunSettingOptions& options, const GivenSettings& given, const host::RunSettings& sets);

}  // namespace egpu::cli
