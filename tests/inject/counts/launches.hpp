// SPDX-License-Identifier: Apache-2.0
// How kernels are launched that others wrote, as a table (tests/data/counts/*.launches): one line for each,
//
//     FILE KERNEL GRID BLOCK [shared=BYTES] : ARGUMENT ... [| results REASON] [| order REASON]
//     FILE KERNEL skip REASON
//     FILE KERNEL refused CODE
//
// FILE is without .ptx. KERNEL is a glob on the mangled name, the first line that matches counts. "results": what the
// kernel writes is not the same with probes, for this reason. "order": how often what is executed depends on which warp
// comes first: counts are held to the executor's of the copy itself. "skip": the simulated GPU can't run it. "refused":
// egpu copies no such kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arguments.hpp"

namespace egpu::inject::testing {

struct LaunchLine {
    std::string file, kernel;
    std::string skip, refused;
    simulated::Dimensions grid, block;
    std::uint32_t shared = 0;
    std::vector<Argument> arguments;
    std::string results, order;  ///< reasons
};

/// Throws nothing; a line that can't be read has `skip` empty and a failure is added to the test.
std::vector<LaunchLine> read_launches(const std::string& path);

}  // namespace egpu::inject::testing
