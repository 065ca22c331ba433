// SPDX-License-Identifier: Apache-2.0
// Running a kernel on the simulated GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gpu/simulated/executor/module.hpp"

namespace egpu::simulated {

/// Why a launch ended early. `text` is whole: kernel, block, thread, PTX line, source line, address, nearest
/// allocation.
struct Fault {
    FaultKind kind = FaultKind::trap;
    std::string text;
    std::string kernel;
    Dimensions block{0, 0, 0};
    Dimensions thread{0, 0, 0};
    std::uint32_t ptx_line = 0;  ///< 0: unknown
    std::string source_file;     ///< from .loc; may be empty
    std::uint32_t source_line = 0;
    std::uint64_t address = 0;  ///< of a memory fault
};

class Profile;

struct LaunchEnvironment {
    DeviceMemory* memory = nullptr;  ///< where the module was loaded to
    std::uint32_t device_ordinal = 0;
    std::uint64_t grid_id = 1;                    ///< %gridid
    Dimensions cluster{0, 0, 0};                  ///< blocks a cluster; 0: as the kernel says, else none
    std::uint32_t sm_count = 4;                   ///< block i runs on SM i % sm_count
    std::uint32_t workers = 1;                    ///< host threads; with 1 a launch is deterministic
    std::uint64_t step_budget = 20'000'000'000;   ///< warp instructions
    std::uint32_t shared_limit = 227 * 1024;      ///< bytes of shared memory a block may have
    std::uint64_t heap_limit = 8 << 20;           ///< bytes that malloc in kernels may hold
    std::uint64_t stack_limit = 512 << 10;        ///< local bytes a thread
    std::function<void(std::string_view)> print;  ///< printf in kernels; called by one thread at a time; empty: stdout
    Profile* profile = nullptr;                   ///< of this kernel: what it executes is added; costs time
};

struct LaunchStatistics {
    std::uint64_t blocks = 0;
    std::uint64_t warp_instructions = 0;
    std::uint64_t lane_instructions = 0;  ///< one for each active lane of each instruction
};

struct LaunchResult {
    std::optional<Fault> fault;
    LaunchStatistics statistics;
    explicit operator bool() const { return !fault.has_value(); }
};

/// How large clusters are where a launch asks for `asked` (0: for none); 0 where there are none.
Dimensions cluster_of(const Kernel& kernel, Dimensions asked);
/// Why a launch can't have such clusters; empty where it can.
std::string problem_of_cluster(const Kernel& kernel, Dimensions grid, Dimensions asked);

/// Runs a grid to its end (or to its first fault) and returns. `parameters` is laid out as Kernel::parameters says.
LaunchResult launch(const Kernel& kernel, Dimensions grid, Dimensions block, std::uint32_t dynamic_shared_bytes,
                    std::span<const std::byte> parameters, const LaunchEnvironment& environment);

}  // namespace egpu::simulated
