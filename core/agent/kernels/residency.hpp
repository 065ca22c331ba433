// SPDX-License-Identifier: Apache-2.0
// Whether a copy keeps its original's resident blocks, for the shape of a launch (DESIGN 6, rule 3). A grid may be
// sized by an occupancy query on the original: with fewer resident blocks it would wait for ever.
#pragma once

#include <cstdint>

#include "gpu/device/driver.h"

namespace egpu::agent {

/// A launch as far as its residency depends on it.
struct BlockShape {
    unsigned int threads = 0;
    unsigned int shared_bytes = 0;        ///< dynamic
    unsigned int cluster[3] = {0, 0, 0};  ///< all 0: none asked for at the launch
    unsigned int carveout = 0;            ///< 0: none asked for at the launch; else percent + 2
    bool cooperative = false;
    const CUlaunchConfig* config = nullptr;  ///< of cuLaunchKernelEx
};

/// A copy and its original in one context.
struct Functions {
    static constexpr unsigned int kConfigurations = 16;

    CUfunction copy = nullptr;
    CUfunction original = nullptr;
    std::uint32_t registers = 0, original_registers = 0;
    std::uint32_t resident_warps = 0;  ///< bit w-1: blocks of w warps keep the original's residency
    /// Atomic; launch shapes that were looked into, with the answer.
    std::uint64_t configurations[kConfigurations] = {};
};

/// Asks the driver for each block size. False where no block that the original can have keeps its residency, or where
/// the driver doesn't say. Inside OwnCalls, context current.
bool compare_residency(Functions* functions);

/// On a launch. No driver call, except the first time that a shape comes which the block size doesn't settle: dynamic
/// shared memory where the plain block would lose, clusters, cooperative launches; then two (about 2 us).
bool keeps_residency(Functions* functions, const BlockShape& shape);

/// After an attribute was changed, which may change the answers.
void forget_configurations(Functions* functions);

}  // namespace egpu::agent
