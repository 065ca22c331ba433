// SPDX-License-Identifier: Apache-2.0
// How many warps of a kernel a streaming multiprocessor holds at once, as far as registers decide it.
#pragma once

#include <cstdint>

namespace egpu::host {

/// The sizes of block that a kernel may be launched with.
struct BlockBounds {
    std::uint32_t most_threads = 0;  ///< .maxntid or .reqntid; 0: none, so 1,024
    bool required = false;           ///< .reqntid: this size and no other
};

/// Resident warps for blocks of this many threads; shared memory, which a copy never has more of, left out.
std::uint32_t resident_warps(std::uint32_t architecture, std::uint32_t registers, std::uint32_t block_threads);
/// The same for the size that the bounds name; where they name none, for blocks of one warp without a limit of blocks.
std::uint32_t resident_warps(std::uint32_t architecture, std::uint32_t registers, const BlockBounds& bounds);

/// Among the allowed sizes of block, the smallest for which a copy has fewer resident warps; 0: there is none.
std::uint32_t first_size_with_fewer(std::uint32_t architecture, const BlockBounds& bounds,
                                    std::uint32_t original_registers, std::uint32_t copy_registers);

/// The most registers a thread may have without one resident warp less: registers are given out by eight.
constexpr std::uint32_t same_allocation(std::uint32_t registers) {
    return (registers + 7) / 8 * 8;
}

}  // namespace egpu::host
