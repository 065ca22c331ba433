// SPDX-License-Identifier: Apache-2.0
// How kernels are launched that others wrote, as a table (tests/data/counts/*.launches): one line for each,
//
//     FILE KERNEL GRID BLOCK [shared=BYTES] [cooperative] : ARGUMENT ... [| results REASON] [| order REASON]
//                                                                        [| simulated REASON] [| gpu REASON]
//     FILE KERNEL skip REASON
//     FILE KERNEL refused CODE [GRID BLOCK ...]
//
// FILE is without .ptx. KERNEL is a glob on the mangled name, the first line that matches counts. "results": what the
// kernel writes is not the same in two runs, or with probes, for this reason. "order": how often what is executed
// depends on which warp comes first: counts are held to the executor's of the copy itself. "skip": nobody can run it;
// "simulated", "gpu": the simulated GPU, or a real one by this table, can't. "refused": egpu copies no such kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "base/result.hpp"

namespace egpu::launches {

struct Extent {
    std::uint32_t x = 1, y = 1, z = 1;
    std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

struct LaunchLine {
    std::string file, kernel;
    std::string skip, refused;
    Extent grid, block;
    std::uint32_t shared = 0;
    bool cooperative = false;
    bool has_launch = false;  ///< a grid and arguments are given
    std::vector<Argument> arguments;
    std::string results, order, simulated, gpu;  ///< reasons
};

/// All lines; an error names the file and the line that can't be read.
Result<std::vector<LaunchLine>> read_launches(const std::string& path);

}  // namespace egpu::launches
