// SPDX-License-Identifier: Apache-2.0
// Where a context's field has its value: for the verifier, which refuses a program that reads it elsewhere, and for
// those who make up a context.
#pragma once

#include "ebpf/events/events.hpp"

namespace egpu::ebpf {

/// What bytes_per_lane is at most where an instruction says it: that of wgmma.mma_async.sp with both matrices in shared
/// memory, 64 x 32 and 64 x 256 bytes of which 128 lanes have a part each (PTX ISA 9.0, 9.7.15). Bulk copies, which are
/// events of their own, have any size.
constexpr std::uint32_t kLargestBytesPerLane = (64 * 32 + 64 * 256) / 128;

/// True where a program at this point finds the field's value in its context.
bool is_known_at(const ContextField& field, const InjectionPoint& point);

/// For whom the field's value is the same at this point: the bytes of an asynchronous copy are those of each lane.
Variability variability_at(const ContextField& field, const InjectionPoint& point);

}  // namespace egpu::ebpf
