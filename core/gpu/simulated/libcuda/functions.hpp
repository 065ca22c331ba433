// SPDX-License-Identifier: Apache-2.0
// What is known of a function, and how many of its blocks fit on an SM.
#pragma once

#include "gpu/simulated/libcuda/driver.hpp"

namespace egpu::simulated {

/// Resources of an SM, those of compute capability 9.0 (CUDA C++ Programming Guide, "Technical Specifications per
/// Compute Capability").
inline constexpr int kSmCount = 8;
inline constexpr int kThreadsPerSm = 2048;
inline constexpr int kBlocksPerSm = 32;
inline constexpr int kRegistersPerSm = 65536;
inline constexpr int kThreadsPerBlock = 1024;
inline constexpr int kWarpSize = 32;
inline constexpr unsigned kPortableCluster = 8;  ///< blocks of a cluster, without the function's permission for more
inline constexpr int kSharedPerSm = 228 * 1024;
inline constexpr int kSharedReserved = 1024;  ///< of each block
inline constexpr int kSharedPerBlock = 48 * 1024;
inline constexpr int kSharedPerBlockOptIn = 227 * 1024;

CUresult get_attribute(const Function& function, CUfunction_attribute attribute, int* value);
CUresult set_attribute(Function& function, CUfunction_attribute attribute, int value);
CUresult parameter_info(const Function& function, std::size_t index, std::size_t* offset, std::size_t* bytes);

/// Dynamic shared memory a launch may ask for.
int max_dynamic_shared(const Function& function);
/// Threads a block of it may have.
int max_threads(const Function& function);
/// Blocks of this size that an SM holds at a time.
int resident_blocks(const Function& function, int threads, std::size_t dynamic_shared);

}  // namespace egpu::simulated
