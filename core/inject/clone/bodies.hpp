// SPDX-License-Identifier: Apache-2.0
// One copy with two bodies, for programs that run in one block or warp in N: which body it takes is chosen at entry.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "base/sampling.hpp"

namespace egpu::inject {

struct JoinedBodies {
    std::string ptx;
    std::uint32_t instructions = 0;      ///< of the choice
    std::uint32_t warps_of_a_group = 1;  ///< that take one body together; 4 where the kernel has warpgroup instructions
};

/// `others` and `sampled` are copies of the same kernel `entry`, the first without the programs that are sampled.
/// `sampling` is not all. EGPU-P260: shared memory is declared where two bodies can't share it.
Result<JoinedBodies> join_bodies(const std::string& others, const std::string& sampled, const std::string& entry,
                                 const Sampling& sampling);

}  // namespace egpu::inject
