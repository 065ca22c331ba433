// SPDX-License-Identifier: Apache-2.0
// What handlers see of the warp they run in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "gpu/simulated/executor/machine/kernel.hpp"
#include "gpu/simulated/executor/machine/program.hpp"
#include "gpu/simulated/memory/device_memory.hpp"

namespace egpu::simulated {

/// A range of one allocation, remembered by the memory instruction that hit it last.
struct AddressCache {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;  ///< 0: nothing remembered
    std::byte* host = nullptr;
    bool writable = false;
};

/// What went wrong in a handler. `text` stands before "by thread ... of block ..." in the message.
struct HandlerFault {
    FaultKind kind = FaultKind::trap;
    unsigned lane = 0;
    bool has_address = false;
    std::uint64_t address = 0;
    std::string text;
};

/// Addresses of shared::cluster. Those of the block's own memory are what they are in shared::cta; in those of a block
/// of the cluster, itself included, that `mapa` gives, bits 24 and up are its rank + 1. No block has 16 MiB.
inline constexpr unsigned kClusterRankShift = 24;
inline constexpr std::uint64_t kClusterOffsetMask = (std::uint64_t{1} << kClusterRankShift) - 1;

/// The thread-independent part of a block that memory handlers need.
struct BlockMemory {
    std::byte* shared = nullptr;
    std::uint64_t shared_bytes = 0;
    const std::byte* parameters = nullptr;
    std::uint64_t parameter_bytes = 0;
    const BlockMemory* const* cluster = nullptr;  ///< the blocks of its cluster, by rank
    std::uint32_t cluster_size = 1;
    std::uint32_t cluster_rank = 0;
    bool ended = false;  ///< all its threads have left: its shared memory is nobody's
};

struct Context {
    std::byte* base[4] = {};  ///< by RowBase
    const Program* program = nullptr;
    AddressCache* caches = nullptr;  ///< Program::memory_slots of them, of the worker
    const DeviceMemory* memory = nullptr;
    const BlockMemory* block = nullptr;
    std::byte* local = nullptr;      ///< local memory of the warp: lane l has [l * stride, (l + 1) * stride)
    std::uint64_t local_stride = 0;  ///< bytes a lane
    std::uint64_t local_base = 0;    ///< where the frame's own variables begin, in each lane's memory
    std::uint64_t cycles = 0;        ///< %clock64
    Mask carry = 0;                  ///< CC.CF of each lane
    bool looked = false;             ///< it has seen or changed what others may wait for (deadlocks)
    bool timed = false;              ///< it has read a clock
    HandlerFault fault;
};

template <typename T>
T* row_at(const Context& context, Place place) {
    return reinterpret_cast<T*>(context.base[place.base()] + place.offset());
}
inline Mask& mask_at(const Context& context, Place place) {
    return *row_at<Mask>(context, place);
}

/// Values that the lanes of a warp give each other.
struct Exchange {
    Mask members = 0;  ///< lanes named by the member mask
    Mask arrived = 0;  ///< lanes that have gathered
    Mask predicates = 0;
    // Only what was gathered is read: lanes in `arrived`.
    std::uint64_t values[kLanes];
    std::uint32_t lanes[kLanes];   ///< shfl: operand b
    std::uint32_t clamps[kLanes];  ///< shfl: operand c
};

}  // namespace egpu::simulated
