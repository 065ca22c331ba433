// SPDX-License-Identifier: Apache-2.0
// From a probe's entry in a set to a verified probe.
#pragma once

#include <string>
#include <vector>

#include "host/probesets/probeset.hpp"
#include "host/programs/programs.hpp"

namespace egpu::host {

/// What the probe is called: its name, else what its plugin or file is named.
std::string entry_name(const ProbeEntry& entry);

/// Loaded, its options and its maps' sizes set, verified. EGPU-S020 (no such plugin), S021 (no such program), S022 and
/// S023 (option), S024 (its file or code), S025 (version), S028 (its map).
Result<LoadedProbe> load_entry(const ProbeEntry& entry, const ProbeSet& set, const ebpf::VerifierOptions& options);

/// EGPU-S028 for sizes of maps of a probe that the set has not.
std::vector<Diagnostic> misplaced_maps(const ProbeSet& set, const std::vector<std::string>& probes);

}  // namespace egpu::host
