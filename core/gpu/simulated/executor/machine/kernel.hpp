// SPDX-License-Identifier: Apache-2.0
// What is known of a kernel, and the ways it can go wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace egpu::simulated {

struct Program;  // decoded code, program.hpp

struct ParameterInfo {
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;
    std::uint32_t alignment = 1;
};

struct Dimensions {
    std::uint32_t x = 1, y = 1, z = 1;
    std::uint64_t count() const { return std::uint64_t{x} * y * z; }
    bool operator==(const Dimensions&) const = default;
};

inline constexpr std::uint32_t kMostBlocksOfCluster = 16;

/// A kernel, ready to launch.
struct Kernel {
    std::string name;
    std::vector<ParameterInfo> parameters;
    std::uint32_t parameter_bytes = 0;  ///< offset + bytes of the last one
    std::uint32_t static_shared_bytes = 0;
    std::uint32_t local_bytes = 0;         ///< .local of the kernel and the deepest chain of known calls
    std::uint32_t registers = 0;           ///< an estimate, in 32-bit registers; at most 255
    Dimensions max_threads{0, 0, 0};       ///< .maxntid; 0: not given
    Dimensions required_threads{0, 0, 0};  ///< .reqntid; 0: not given
    Dimensions required_cluster{0, 0, 0};  ///< .reqnctapercluster; 0: not given
    bool explicit_cluster = false;         ///< .explicitcluster: a launch must say how large clusters are
    std::uint32_t max_cluster_rank = 0;    ///< .maxclusterrank; 0: not given
    std::shared_ptr<const Program> program;
};

enum class FaultKind {
    bad_launch,  ///< block too large, too much shared memory, too few parameter bytes
    illegal_address,
    misaligned_address,
    divergent_barrier,  ///< lanes of a warp at different barriers, or all warps wait for one that can't complete
    deadlock,           ///< all warps of a cluster wait, for each other or for what never comes
    trap,
    assertion,            ///< __assertfail
    step_budget,          ///< more warp instructions than allowed: taken for a hang
    call_depth,           ///< recursion deeper than the simulated stack
    illegal_instruction,  ///< an indirect call or branch to nowhere, a function that could not be decoded
};
/// "illegal address", as it stands in messages.
std::string_view to_string(FaultKind kind);

}  // namespace egpu::simulated
