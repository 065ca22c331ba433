// SPDX-License-Identifier: Apache-2.0
// What `egpu run` says at the end (TARGETS E6.1 to E6.4), from a view of the session.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "host/export/summary.hpp"
#include "host/pipeline/pipeline.hpp"
#include "host/view/session_view.hpp"

namespace egpu::cli {

/// Why a map's values are not all that there was to count: "counted in 12 of 100 launches" (or, where they are not the
/// last ones, "at least: by now ..."), no copy at the end of a session that has `ended`, a full map, a program that was
/// refused; "" where they are all.
std::string coverage_text(const host::SessionView& view, const host::MapData& data, bool ended);

/// Lines without their "egpu: " prefix; at most 20 and the findings.
std::vector<std::string> run_report(const host::SessionView& view, const host::RunFacts& facts);

/// Warnings for probes that ran nowhere, with "did you mean" (E6.4).
std::vector<Diagnostic> nowhere_warnings(const host::SessionView& view, const host::KernelSelection& selection);
/// The one for a probe that is known to have run in no launched kernel.
Diagnostic nowhere_warning(const host::SessionView& view, const host::Probe& probe);

/// A program that was refused while others of its probe ran, and what that means for its maps.
std::vector<Diagnostic> refused_warnings(const host::SessionView& view);

/// Patterns of -k that match no launched kernel, where another one matches.
std::vector<Diagnostic> mistyped_kernel_warnings(const host::SessionView& view, const host::KernelSelection& selection);

/// Why the totals are not whole: launches that ran uninstrumented, no final copy, a full map. Empty: they are exact.
std::vector<Diagnostic> completeness_warnings(const host::SessionView& view);

}  // namespace egpu::cli
