// SPDX-License-Identifier: Apache-2.0
// The kinds of injection point that this version offers, and two programs for each: one that does nothing and one that
// counts. They are asked of the table of events, so that a new event is among them by itself.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "ebpf/object/object.hpp"

namespace egpu::cli {

/// Injection points that are tried together: one, or one event in each of its spaces.
struct Kind {
    std::string name;  ///< "gpu.warp/load_return", "gpu/load.SPACE"
    std::vector<ebpf::InjectionPoint> points;
};

/// Every event at every granularity, `instruction` for all opcodes; those that have spaces once more with each space.
std::vector<Kind> offered_kinds();
/// The one of that name, or what an injection point says ("gpu/load.shared/*gemm*"), or an event's name for it at each
/// granularity ("load").
Result<std::vector<Kind>> kinds_named(const std::string& name);

/// Programs of one sort for some kinds. `programs[i][j]` (indices into `object`) is at point j of kind i.
struct KindPrograms {
    ebpf::Object object;
    std::vector<std::vector<std::size_t>> programs;
};
/// `return 0`.
Result<KindPrograms> programs_that_do_nothing(const std::vector<Kind>& kinds);
/// Each adds one to an element of its own, of one array for each SM.
Result<KindPrograms> programs_that_count(const std::vector<Kind>& kinds);

}  // namespace egpu::cli
