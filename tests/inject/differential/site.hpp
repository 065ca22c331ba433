// SPDX-License-Identifier: Apache-2.0
// The place where a random program runs: a launch, the lanes that fire, and what each of them finds in its context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ebpf/specializer/specializer.hpp"
#include "gpu/simulated/executor/device.hpp"
#include "inject/codegen/codegen.hpp"

namespace egpu::inject::testing {

/// One block of a grid of one, in which one thread fires or all do.
struct DifferentialSite {
    ebpf::Granularity granularity = ebpf::Granularity::thread;
    std::uint32_t sm = 75;  ///< target
    simulated::Dimensions block{32, 1, 1};
    std::uint32_t chosen = 0;  ///< number of the one thread that fires
    std::uint32_t bytes_per_lane = 4;
    ebpf::Space space = ebpf::Space::global;
    std::uint64_t address = 0, latency = 0;  ///< of thread 0; the others' follow it
    std::vector<std::uint32_t> value;        ///< the four words that the load moves

    /// Reads choices from the first kChoiceBytes bytes.
    static constexpr std::size_t kChoiceBytes = 8;
    explicit DifferentialSite(std::span<const std::uint8_t> choices);

    std::uint32_t threads() const { return block.x * block.y * block.z; }
    SiteBinding binding() const;
    /// What a specialiser may know.
    ebpf::SiteConstants constants() const;
    /// The context of a thread that fires beside those of `mask` in its warp.
    std::vector<std::byte> context_of(std::uint32_t thread, std::uint32_t mask) const;
    /// Threads of `thread`'s warp, as a mask.
    std::uint32_t warp_mask(std::uint32_t thread) const;
    /// What egpu_arg gives, by parameter.
    std::vector<std::uint64_t> arguments(bool all_fire) const;
    /// A module whose one kernel, "differential", has the text where the chosen thread or all are.
    std::string module(const FunctionContext& function, const std::string& start, const std::string& probe,
                       const std::string& flush) const;
    std::vector<std::byte> parameters(bool all_fire) const;
};

inline constexpr std::uint32_t kAllThreads = 0xffffffff;

}  // namespace egpu::inject::testing
