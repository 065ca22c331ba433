// SPDX-License-Identifier: Apache-2.0
// Special registers (PTX ISA 9.0, chapter 10) that are rows: filled when a block starts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/simulated/executor/machine/program.hpp"

namespace egpu::simulated {

inline constexpr std::uint32_t kRow32 = kLanes * 4;
inline constexpr std::uint32_t kRow64 = kLanes * 8;

/// Rows of a warp, all 32-bit.
enum class WarpRow : std::uint32_t {
    tid_x,
    tid_y,
    tid_z,
    laneid,
    lanemask_eq,
    lanemask_lt,
    lanemask_le,
    lanemask_gt,
    lanemask_ge,
    warpid,
    count
};

/// Rows of a block, all 32-bit; then gridid, 64-bit.
enum class BlockRow : std::uint32_t {
    ctaid_x,
    ctaid_y,
    ctaid_z,
    ntid_x,
    ntid_y,
    ntid_z,
    nctaid_x,
    nctaid_y,
    nctaid_z,
    nwarpid,
    smid,
    nsmid,
    dynamic_smem_size,
    total_smem_size,
    warp_size,
    zero,
    clusterid_x,
    clusterid_y,
    clusterid_z,
    nclusterid_x,
    nclusterid_y,
    nclusterid_z,
    cluster_ctaid_x,
    cluster_ctaid_y,
    cluster_ctaid_z,
    cluster_nctaid_x,
    cluster_nctaid_y,
    cluster_nctaid_z,
    cluster_ctarank,
    cluster_nctarank,
    is_explicit_cluster,  ///< a predicate: all bits or none
    count
};

inline constexpr std::uint32_t kWarpRowBytes = static_cast<std::uint32_t>(WarpRow::count) * kRow32;
inline constexpr std::uint32_t kGridIdOffset = static_cast<std::uint32_t>(BlockRow::count) * kRow32;
inline constexpr std::uint32_t kBlockRowBytes = kGridIdOffset + kRow64;

constexpr Place place_of(WarpRow row) {
    return {RowBase::warp, static_cast<std::uint32_t>(row) * kRow32};
}
constexpr Place place_of(BlockRow row) {
    return {RowBase::block, static_cast<std::uint32_t>(row) * kRow32};
}
inline constexpr Place kGridIdPlace{RowBase::block, kGridIdOffset};

}  // namespace egpu::simulated
