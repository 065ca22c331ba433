// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies (PTX ISA 9.0, sections 9.7.9.25 and 9.7.9.12): cp.async, cp.async.bulk and cp.reduce.async.bulk
// without tensors, st.async, red.async.
//
// They are done when they are issued, which the ISA allows: their order among each other and against the thread's other
// accesses is open until the thread waits. Groups are therefore always complete, and a kernel that forgets to wait is
// not found out here.
#pragma once

#include <cstdint>

#include "gpu/simulated/executor/machine/context.hpp"
#include "gpu/simulated/executor/machine/program.hpp"

namespace egpu::simulated {

/// cp.async: sources 0 and 1 are generic addresses; variant says what sources[2] is.
enum class CopySize : std::uint8_t { whole, source_bytes, ignore_source };
Handler copy_handler_of(CopySize size);

/// Bulk copies: sources 0 destination, 1 source (generic), 2 bytes, 3 mbarrier. Bits of Instruction::variant; the first
/// of Program::places at `list` is the block mask of a multicast, or the byte mask.
enum BulkOptions : std::uint8_t { kBulkCompletes = 1, kBulkMulticast = 2, kBulkMasked = 4 };
Handler bulk_copy_handler();
/// Elements of `access_bytes` are combined by Instruction::element.
Handler bulk_reduce_handler();
/// Only looks whether the size and the address can be.
Handler bulk_prefetch_handler();

/// st.async: sources 0 destination, 1 mbarrier; `vector` values of `access_bytes` in the rows at `list`. With
/// Instruction::element it is red.async.
Handler async_store_handler();

}  // namespace egpu::simulated
