// SPDX-License-Identifier: Apache-2.0
// Shared memory of the blocks of a cluster: shared::cluster addresses, mapa, getctarank, isspacep.shared (PTX ISA 9.0,
// sections 5.1.7, 9.7.9.21 to 9.7.9.23).
#include <bit>

#include <fmt/format.h>

#include "gpu/simulated/executor/operations/lane.hpp"
#include "gpu/simulated/executor/operations/memory.hpp"

namespace egpu::simulated {
namespace {

bool is_shared(std::uint64_t generic) {
    return generic >> 32 == kSharedWindow >> 32;
}

/// Of an address within the shared window: the block that it is in.
std::uint32_t rank_of(const Context& context, std::uint64_t inside) {
    const std::uint64_t tag = inside >> kClusterRankShift;
    return tag == 0 ? context.block->cluster_rank : static_cast<std::uint32_t>(tag - 1);
}

bool fault_at(Context& context, FaultKind kind, unsigned lane, std::uint64_t address, std::string text) {
    context.fault.has_address = true;
    context.fault.address = address;
    return report(context, kind, lane, std::move(text));
}

template <typename A>
bool resolve_cluster(Context& context, const Instruction& instruction, Mask mask, std::byte** pointers) {
    const auto* const bases = row_at<const A>(context, instruction.sources[0]);
    const std::uint64_t bytes = instruction.access_bytes;
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        const std::uint64_t address = static_cast<A>(bases[lane] + static_cast<A>(instruction.offset));
        if ((address & (bytes - 1)) != 0) {
            return fault_at(
                context, FaultKind::misaligned_address, lane, address,
                fmt::format("access of {} bytes at shared::cluster address {:#x}, which is not a multiple of it", bytes,
                            address));
        }
        pointers[lane] = cluster_pointer(context, lane, address, bytes);
        if (pointers[lane] == nullptr) {
            return false;
        }
    }
    return true;
}

/// sources: 0 an address in shared memory (generic where `Window` says so), 1 the rank.
template <typename A, std::uint64_t Window>
bool map_address(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const from = row_at<const A>(context, instruction.sources[0]);
    const auto* const ranks = row_at<const std::uint32_t>(context, instruction.sources[1]);
    auto* const to = row_at<A>(context, instruction.destination);
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        if (Window != 0 && !is_shared(from[lane])) {
            return fault_at(context, FaultKind::illegal_instruction, lane, from[lane],
                            fmt::format("mapa of {:#x}, which is not in shared memory", from[lane]));
        }
        if (ranks[lane] >= context.block->cluster_size) {
            return report(
                context, FaultKind::illegal_instruction, lane,
                fmt::format("mapa to rank {} of a cluster of {} blocks", ranks[lane], context.block->cluster_size));
        }
        to[lane] = static_cast<A>(Window + ((std::uint64_t{ranks[lane]} + 1) << kClusterRankShift) +
                                  (from[lane] & kClusterOffsetMask));
    }
    return true;
}

template <typename A, bool Generic>
bool rank_of_address(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const from = row_at<const A>(context, instruction.sources[0]);
    auto* const to = row_at<std::uint32_t>(context, instruction.destination);
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        if (Generic && !is_shared(from[lane])) {
            return fault_at(context, FaultKind::illegal_instruction, lane, from[lane],
                            fmt::format("getctarank of {:#x}, which is not in shared memory", from[lane]));
        }
        to[lane] = rank_of(context, from[lane] & 0xffff'ffff);
    }
    return true;
}

/// isspacep.shared::cta (own memory) and .shared::cluster.
template <bool WholeCluster>
bool is_shared_address(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const addresses = row_at<const std::uint64_t>(context, instruction.sources[0]);
    const Mask result = mask_where(mask, [&](unsigned lane) {
        const std::uint64_t inside = addresses[lane] & 0xffff'ffff;
        return is_shared(addresses[lane]) && (WholeCluster ? rank_of(context, inside) < context.block->cluster_size
                                                           : inside >> kClusterRankShift == 0);
    });
    Mask& destination = mask_at(context, instruction.destination);
    destination = (destination & ~mask) | result;
    return true;
}

/// The generic address that an operand names: sources[0] + offset, in the space's window.
template <typename A, std::uint64_t Window, bool OwnOnly>
bool generic_address(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const bases = row_at<const A>(context, instruction.sources[0]);
    auto* const to = row_at<std::uint64_t>(context, instruction.destination);
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        const std::uint64_t inside = static_cast<A>(bases[lane] + static_cast<A>(instruction.offset));
        if (OwnOnly && inside >> kClusterRankShift != 0) {
            return fault_at(context, FaultKind::illegal_address, lane, inside,
                            fmt::format("{:#x} is no shared::cta address", inside));
        }
        to[lane] = Window + inside;
    }
    return true;
}

bool generic_address_of_local(Context& context, const Instruction& instruction, Mask mask) {
    auto* const to = row_at<std::uint64_t>(context, instruction.destination);
    const std::uint64_t address = kLocalWindow + context.local_base + static_cast<std::uint64_t>(instruction.offset);
    for_lanes(mask, [&](unsigned lane) { to[lane] = address; });
    return true;
}

template <typename A>
Handler generic_address_from(AddressSpace space) {
    switch (space) {
        case AddressSpace::shared:
            return generic_address<A, kSharedWindow, true>;
        case AddressSpace::cluster:
            return generic_address<A, kSharedWindow, false>;
        case AddressSpace::local:
            return generic_address<A, kLocalWindow, false>;
        case AddressSpace::parameter:
            return generic_address<A, kParameterWindow, false>;
        default:
            return generic_address<A, 0, false>;
    }
}

}  // namespace

std::byte* cluster_pointer(Context& context, unsigned lane, std::uint64_t inside, std::uint64_t bytes) {
    const std::uint32_t rank = rank_of(context, inside);
    if (inside >> 32 != 0 || rank >= context.block->cluster_size) {
        fault_at(context, FaultKind::illegal_address, lane, inside,
                 fmt::format("shared::cluster address {:#x} is of block rank {}, in a cluster of {} blocks", inside,
                             rank, context.block->cluster_size));
        return nullptr;
    }
    const BlockMemory& block = *context.block->cluster[rank];
    const std::uint64_t at = inside & kClusterOffsetMask;
    if (block.ended) {
        fault_at(context, FaultKind::illegal_address, lane, inside,
                 fmt::format("shared memory of block rank {} of the cluster, all of whose threads have left", rank));
        return nullptr;
    }
    if (bytes > block.shared_bytes || at > block.shared_bytes - bytes) {
        fault_at(
            context, FaultKind::illegal_address, lane, inside,
            fmt::format("access of {} bytes at shared address {:#x} of block rank {} of the cluster, beyond its {} "
                        "bytes",
                        bytes, at, rank, block.shared_bytes));
        return nullptr;
    }
    return block.shared + at;
}

Resolver cluster_resolver(bool wide) {
    return wide ? resolve_cluster<std::uint64_t> : resolve_cluster<std::uint32_t>;
}

Handler map_address_handler(bool generic, bool wide) {
    if (generic) {
        return wide ? map_address<std::uint64_t, kSharedWindow> : nullptr;
    }
    return wide ? map_address<std::uint64_t, 0> : map_address<std::uint32_t, 0>;
}

Handler rank_of_address_handler(bool generic, bool wide) {
    if (generic) {
        return wide ? rank_of_address<std::uint64_t, true> : nullptr;
    }
    return wide ? rank_of_address<std::uint64_t, false> : rank_of_address<std::uint32_t, false>;
}

Handler is_shared_handler(bool whole_cluster) {
    return whole_cluster ? is_shared_address<true> : is_shared_address<false>;
}

Handler generic_address_handler(AddressSpace space, bool wide, bool frame_relative) {
    if (frame_relative) {
        return generic_address_of_local;
    }
    return wide ? generic_address_from<std::uint64_t>(space) : generic_address_from<std::uint32_t>(space);
}

}  // namespace egpu::simulated
