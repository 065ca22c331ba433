// SPDX-License-Identifier: Apache-2.0
// Where a tensor map (CUtensorMap, 128 bytes) holds what decides on the bytes of its box. How a map is laid out is
// nowhere written down: this was measured on an H200, driver 580.159, 2026-12-01, by encoding maps that differ in one
// argument. Copies read maps this way (inject/rewrite/tensor_maps.cpp) where the agent has found that the driver at
// hand writes them so (agent/driver/tensor_maps.cpp); elsewhere the bytes stay unknown.
#pragma once

#include <cstdint>

namespace egpu::tensor_map {

/// Bits of a map, from the first byte's lowest.
struct Field {
    unsigned at, bits;
};

/// 0 u8, 1 u16, 2 u32, 3 s32, 4 u64, 5 s64, 6 f16, 7 f32 and tf32, 8 the same with subnormals as zero, 9 f64, 10 bf16.
/// (CUtensorMapDataType numbers them otherwise.)
inline constexpr Field kElementType{71, 4};
/// Bytes of an element by that number, four bits each, from the lowest.
inline constexpr std::uint64_t kElementBytes = 0x28442884421;
/// 0: none, and the first dimension has no stride (cuda.h, cuTensorMapEncodeTiled).
inline constexpr Field kInterleave{75, 2};

/// The stride of a dimension, less one.
constexpr Field stride_of(unsigned dimension) {
    return {416 + 3 * dimension, 3};
}
/// The box in a dimension, less one.
constexpr Field box_of(unsigned dimension) {
    return {440 + 8 * dimension, 8};
}

}  // namespace egpu::tensor_map
