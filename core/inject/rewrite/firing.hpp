// SPDX-License-Identifier: Apache-2.0
// One program at one site, specialised: what the plan of a rewrite is made of.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "inject/match/match.hpp"
#include "inject/rewrite/rewrite.hpp"

namespace egpu::inject {

/// At run time, which of the lanes that execute a generic access a program fires for.
struct SpaceTest {
    enum class Kind {
        always,
        in_space,   ///< the address is in `space`
        elsewhere,  ///< the address is in none of global, shared and local
    };
    Kind kind = Kind::always;
    ptx::AccessSpace space = ptx::AccessSpace::generic;
};

struct Firing {
    std::size_t program = 0;  ///< index in RewriteRequest::programs
    Site site;
    std::uint32_t site_id = 0;
    SpaceTest test;
    ebpf::Space space = ebpf::Space::generic;  ///< that the program sees
    std::shared_ptr<const ebpf::SpecializedProgram> specialized;
};

struct Plan {
    /// A program looks up keys that are known only at run time: lanes part there, so nothing is counted together.
    bool parts_lanes = false;
    std::vector<Firing> firings;  ///< by program, then in the order of the text
    std::vector<ProgramOutcome> outcomes;
};

/// Finds the sites of every program, gives them numbers and specialises the programs for them.
Result<Plan> make_plan(const RewriteRequest& request);

/// The eBPF names of what an access does.
ebpf::Access to_access(const ptx::MemoryAccess& access);
ebpf::Space to_space(ptx::AccessSpace space);

}  // namespace egpu::inject
