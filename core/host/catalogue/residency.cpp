// SPDX-License-Identifier: Apache-2.0
// CUDA C++ Programming Guide, table "Technical specifications per compute capability". A multiprocessor has four parts
// of 16,384 registers; a warp's are given out in units of 256.
#include "host/catalogue/residency.hpp"

#include <algorithm>

namespace egpu::host {
namespace {

constexpr std::uint32_t kWarp = 32, kParts = 4, kRegistersOfPart = 16384, kUnit = 256, kMostThreads = 1024;

struct Limits {
    std::uint32_t warps = 64, blocks = 32;
};

Limits limits_of(std::uint32_t architecture) {
    switch (architecture) {
        case 75:
            return {32, 16};
        case 86:
        case 87:
            return {48, 16};
        case 89:
        case 110:
        case 120:
        case 121:
            return {48, 24};
        default:
            return {64, 32};
    }
}

std::uint32_t warps_by_registers(std::uint32_t registers) {
    const std::uint32_t of_warp = (std::max(registers, 1U) * kWarp + kUnit - 1) / kUnit * kUnit;
    return kRegistersOfPart / of_warp * kParts;
}

}  // namespace

std::uint32_t resident_warps(std::uint32_t architecture, std::uint32_t registers, std::uint32_t block_threads) {
    const Limits limits = limits_of(architecture);
    const std::uint32_t of_block = std::max((block_threads + kWarp - 1) / kWarp, 1U);
    const std::uint32_t blocks =
        std::min({warps_by_registers(registers) / of_block, limits.warps / of_block, limits.blocks});
    return blocks * of_block;
}

std::uint32_t resident_warps(std::uint32_t architecture, std::uint32_t registers, const BlockBounds& bounds) {
    if (bounds.most_threads != 0)
        return resident_warps(architecture, registers, bounds.most_threads);
    return std::min(warps_by_registers(registers), limits_of(architecture).warps);
}

std::uint32_t first_size_with_fewer(std::uint32_t architecture, const BlockBounds& bounds,
                                    std::uint32_t original_registers, std::uint32_t copy_registers) {
    const std::uint32_t most = bounds.most_threads != 0 ? std::min(bounds.most_threads, kMostThreads) : kMostThreads;
    for (std::uint32_t threads = bounds.required ? most : kWarp; threads < most + kWarp; threads += kWarp) {
        const std::uint32_t size = std::min(threads, most);
        if (resident_warps(architecture, copy_registers, size) < resident_warps(architecture, original_registers, size))
            return size;
    }
    return 0;
}

}  // namespace egpu::host
