// SPDX-License-Identifier: Apache-2.0
// From addresses to host pointers, with the checks that hardware lacks: every access must lie in one allocation and be
// aligned to its size (PTX ISA 9.0, section 6.4.1).
#include <bit>

#include <fmt/format.h>

#include "gpu/simulated/executor/operations/lane.hpp"
#include "gpu/simulated/executor/operations/memory.hpp"

namespace egpu::simulated {
namespace {

std::string_view action(const Instruction& instruction) {
    return instruction.writes ? "write" : "read";
}

bool address_fault(Context& context, FaultKind kind, unsigned lane, std::uint64_t address, std::string text) {
    context.fault.has_address = true;
    context.fault.address = address;
    return report(context, kind, lane, std::move(text));
}

bool outside(Context& context, const Instruction& instruction, unsigned lane, std::uint64_t address,
             std::string_view space, std::uint64_t size) {
    return address_fault(context, FaultKind::illegal_address, lane, address,
                         fmt::format("{} of {} bytes at {} address {:#x}, beyond its {} bytes", action(instruction),
                                     instruction.access_bytes, space, address, size));
}

bool misaligned(Context& context, const Instruction& instruction, unsigned lane, std::uint64_t address) {
    return address_fault(context, FaultKind::misaligned_address, lane, address,
                         fmt::format("{} of {} bytes at {:#x}, which is not a multiple of {}", action(instruction),
                                     instruction.access_bytes, address, instruction.access_bytes));
}

template <typename A>
std::uint64_t address_of(const Context& context, const Instruction& instruction, unsigned lane) {
    const A base = row_at<const A>(context, instruction.sources[0])[lane];
    return static_cast<A>(base + static_cast<A>(instruction.offset));
}

/// One lane of a global access, past the cache.
bool look_up(Context& context, const Instruction& instruction, unsigned lane, std::uint64_t address,
             std::byte*& pointer) {
    const std::uint64_t bytes = instruction.access_bytes;
    const Allocation* const allocation = context.memory->lookup(address);
    if (allocation == nullptr || !allocation->contains(address, bytes)) {
        return address_fault(context, FaultKind::illegal_address, lane, address,
                             fmt::format("{} of {} bytes at {:#x}, {}", action(instruction), bytes, address,
                                         context.memory->describe(address)));
    }
    if (instruction.writes && !allocation->writable_by_kernels()) {
        return address_fault(context, FaultKind::illegal_address, lane, address,
                             fmt::format("write of {} bytes at {:#x}, which is constant memory: {}", bytes, address,
                                         context.memory->describe(address)));
    }
    AddressCache& cache = context.caches[instruction.target];
    cache = {allocation->address, allocation->bytes, allocation->host, allocation->writable_by_kernels()};
    pointer = allocation->host + (address - allocation->address);
    return true;
}

/// All lanes within the allocation that the instruction hit last, and aligned: the usual case, without branches.
template <typename A>
bool resolve_cached(Context& context, const Instruction& instruction, std::byte** pointers) {
    const AddressCache& cache = context.caches[instruction.target];
    const std::uint64_t bytes = instruction.access_bytes;
    if (cache.bytes < bytes) {
        return false;
    }
    const auto* const bases = row_at<const A>(context, instruction.sources[0]);
    const std::uint64_t last = cache.bytes - bytes;
    const auto offset = static_cast<A>(instruction.offset);
    std::uint64_t bad = 0;
    EGPU_LANES_ARE_INDEPENDENT
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const std::uint64_t address = static_cast<A>(bases[lane] + offset);
        const std::uint64_t inside = address - cache.address;
        bad |= (inside > last ? 1U : 0U) | (address & (bytes - 1));
        pointers[lane] = cache.host + inside;
    }
    return bad == 0;
}

template <typename A>
bool resolve_global(Context& context, const Instruction& instruction, Mask mask, std::byte** pointers) {
    if (mask == kAllLanes && resolve_cached<A>(context, instruction, pointers)) {
        return true;
    }
    const std::uint64_t bytes = instruction.access_bytes;
    const AddressCache& cache = context.caches[instruction.target];
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        const std::uint64_t address = address_of<A>(context, instruction, lane);
        if ((address & (bytes - 1)) != 0) {
            return misaligned(context, instruction, lane, address);
        }
        const std::uint64_t inside = address - cache.address;
        if (cache.bytes >= bytes && inside <= cache.bytes - bytes) {
            pointers[lane] = cache.host + inside;
        } else if (!look_up(context, instruction, lane, address, pointers[lane])) {
            return false;
        }
    }
    return true;
}

template <typename A>
bool resolve_shared(Context& context, const Instruction& instruction, Mask mask, std::byte** pointers) {
    const std::uint64_t bytes = instruction.access_bytes;
    const std::uint64_t size = context.block->shared_bytes;
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        const std::uint64_t address = address_of<A>(context, instruction, lane);
        if (bytes > size || address > size - bytes) {
            return outside(context, instruction, lane, address, "shared", size);
        }
        if ((address & (bytes - 1)) != 0) {
            return misaligned(context, instruction, lane, address);
        }
        pointers[lane] = context.block->shared + address;
    }
    return true;
}

bool local_lane(Context& context, const Instruction& instruction, unsigned lane, std::uint64_t address,
                std::byte*& pointer) {
    const std::uint64_t bytes = instruction.access_bytes;
    if (bytes > context.local_stride || address > context.local_stride - bytes) {
        return outside(context, instruction, lane, address, "local", context.local_stride);
    }
    if ((address & (bytes - 1)) != 0) {
        return misaligned(context, instruction, lane, address);
    }
    pointer = context.local + lane * context.local_stride + address;
    return true;
}

template <typename A>
bool resolve_local(Context& context, const Instruction& instruction, Mask mask, std::byte** pointers) {
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        if (!local_lane(context, instruction, lane, address_of<A>(context, instruction, lane), pointers[lane])) {
            return false;
        }
    }
    return true;
}

bool resolve_frame(Context& context, const Instruction& instruction, Mask mask, std::byte** pointers) {
    const std::uint64_t address = context.local_base + static_cast<std::uint64_t>(instruction.offset);
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        if (!local_lane(context, instruction, lane, address, pointers[lane])) {
            return false;
        }
    }
    return true;
}

template <typename A>
bool resolve_parameter(Context& context, const Instruction& instruction, Mask mask, std::byte** pointers) {
    const std::uint64_t bytes = instruction.access_bytes;
    const std::uint64_t size = context.block->parameter_bytes;
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        const std::uint64_t address = address_of<A>(context, instruction, lane);
        if (instruction.writes || bytes > size || address > size - bytes) {
            return outside(context, instruction, lane, address, "parameter", size);
        }
        if ((address & (bytes - 1)) != 0) {
            return misaligned(context, instruction, lane, address);
        }
        pointers[lane] = const_cast<std::byte*>(context.block->parameters) + address;  // never written: see above
    }
    return true;
}

bool in_window(std::uint64_t address, std::uint64_t window) {
    return address >> 32 == window >> 32;
}
bool in_any_window(std::uint64_t address) {
    return in_window(address, kSharedWindow) || in_window(address, kLocalWindow) ||
           in_window(address, kParameterWindow);
}

template <typename A>
bool resolve_generic(Context& context, const Instruction& instruction, Mask mask, std::byte** pointers) {
    if (mask == kAllLanes && resolve_cached<A>(context, instruction, pointers)) {
        return true;
    }
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        const std::uint64_t address = address_of<A>(context, instruction, lane);
        if ((address & (instruction.access_bytes - 1)) != 0) {
            return misaligned(context, instruction, lane, address);
        }
        const AddressCache& cache = context.caches[instruction.target];
        const std::uint64_t bytes = instruction.access_bytes;
        if (in_any_window(address)) {
            pointers[lane] = generic_pointer(context, lane, address, bytes, instruction.writes);
            if (pointers[lane] == nullptr) {
                return false;
            }
        } else if (cache.bytes >= bytes && address - cache.address <= cache.bytes - bytes) {
            pointers[lane] = cache.host + (address - cache.address);
        } else if (!look_up(context, instruction, lane, address, pointers[lane])) {
            return false;
        }
    }
    return true;
}

std::uint64_t window_of(AddressSpace space) {
    switch (space) {
        case AddressSpace::shared:
        case AddressSpace::cluster:
            return kSharedWindow;
        case AddressSpace::local:
            return kLocalWindow;
        case AddressSpace::parameter:
            return kParameterWindow;
        default:
            return 0;
    }
}

template <std::uint64_t Window>
struct ToGeneric {
    template <typename T>
    static T apply(T address) {
        return static_cast<T>(address + Window);
    }
};
template <std::uint64_t Window>
struct FromGeneric {
    template <typename T>
    static T apply(T address) {
        return static_cast<T>(address - Window);
    }
};

template <std::uint64_t Window>
bool is_in_window(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const addresses = row_at<const std::uint64_t>(context, instruction.sources[0]);
    const Mask result = mask_where(mask, [&](unsigned lane) {
        if constexpr (Window != 0) {
            return in_window(addresses[lane], Window);
        } else {
            return !in_any_window(addresses[lane]);
        }
    });
    Mask& destination = mask_at(context, instruction.destination);
    destination = (destination & ~mask) | result;
    return true;
}

bool is_constant(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const addresses = row_at<const std::uint64_t>(context, instruction.sources[0]);
    Mask result = 0;
    for_lanes(mask, [&](unsigned lane) {
        const Allocation* const allocation = context.memory->lookup(addresses[lane]);
        result |= static_cast<Mask>(allocation != nullptr && allocation->kind == AllocationKind::constant ? 1 : 0)
                  << lane;
    });
    Mask& destination = mask_at(context, instruction.destination);
    destination = (destination & ~mask) | result;
    return true;
}

template <typename T>
bool local_address(Context& context, const Instruction& instruction, Mask mask) {
    auto* const destination = row_at<T>(context, instruction.destination);
    const std::uint64_t address = context.local_base + static_cast<std::uint64_t>(instruction.offset);
    for_lanes(mask, [&](unsigned lane) { destination[lane] = static_cast<T>(address); });
    return true;
}

template <template <std::uint64_t> class F>
Handler conversion(AddressSpace space, bool wide) {
    using Wide = std::uint64_t;
    using Narrow = std::uint32_t;
    switch (window_of(space)) {
        case kSharedWindow:
            return wide ? each<F<kSharedWindow>, Wide, Wide> : each<F<kSharedWindow>, Narrow, Narrow>;
        case kLocalWindow:
            return wide ? each<F<kLocalWindow>, Wide, Wide> : each<F<kLocalWindow>, Narrow, Narrow>;
        case kParameterWindow:
            return wide ? each<F<kParameterWindow>, Wide, Wide> : each<F<kParameterWindow>, Narrow, Narrow>;
        default:
            return wide ? each<F<0>, Wide, Wide> : each<F<0>, Narrow, Narrow>;
    }
}

}  // namespace

bool report(Context& context, FaultKind kind, unsigned lane, std::string text) {
    context.fault.kind = kind;
    context.fault.lane = lane;
    context.fault.text = std::move(text);
    return false;
}

std::byte* generic_pointer(Context& context, unsigned lane, std::uint64_t address, std::uint64_t bytes, bool writes) {
    Instruction access;
    access.access_bytes = static_cast<std::uint32_t>(bytes);
    access.writes = writes;
    const std::uint64_t inside = address & 0xffff'ffff;
    if (in_window(address, kSharedWindow)) {
        if (inside >> kClusterRankShift != 0) {
            return cluster_pointer(context, lane, inside, bytes);
        }
        if (bytes > context.block->shared_bytes || inside > context.block->shared_bytes - bytes) {
            outside(context, access, lane, inside, "shared", context.block->shared_bytes);
            return nullptr;
        }
        return context.block->shared + inside;
    }
    if (in_window(address, kLocalWindow)) {
        if (bytes > context.local_stride || inside > context.local_stride - bytes) {
            outside(context, access, lane, inside, "local", context.local_stride);
            return nullptr;
        }
        return context.local + lane * context.local_stride + inside;
    }
    if (in_window(address, kParameterWindow)) {
        const std::uint64_t size = context.block->parameter_bytes;
        if (writes || bytes > size || inside > size - bytes) {
            outside(context, access, lane, inside, "parameter", size);
            return nullptr;
        }
        return const_cast<std::byte*>(context.block->parameters) + inside;
    }
    const Allocation* const allocation = context.memory->lookup(address);
    if (allocation == nullptr || !allocation->contains(address, bytes) ||
        (writes && !allocation->writable_by_kernels())) {
        address_fault(context, FaultKind::illegal_address, lane, address,
                      fmt::format("{} of {} bytes at {:#x}, {}", action(access), bytes, address,
                                  context.memory->describe(address)));
        return nullptr;
    }
    return allocation->host + (address - allocation->address);
}

Resolver resolver_of(AddressSpace space, bool wide, bool frame_relative) {
    if (frame_relative) {
        return resolve_frame;
    }
    switch (space) {
        case AddressSpace::shared:
            return wide ? resolve_shared<std::uint64_t> : resolve_shared<std::uint32_t>;
        case AddressSpace::cluster:
            return cluster_resolver(wide);
        case AddressSpace::local:
            return wide ? resolve_local<std::uint64_t> : resolve_local<std::uint32_t>;
        case AddressSpace::parameter:
            return wide ? resolve_parameter<std::uint64_t> : resolve_parameter<std::uint32_t>;
        case AddressSpace::generic:
            return wide ? resolve_generic<std::uint64_t> : resolve_generic<std::uint32_t>;
        default:
            return wide ? resolve_global<std::uint64_t> : resolve_global<std::uint32_t>;
    }
}

bool is_generic(Resolver resolver) {
    return resolver == resolve_generic<std::uint64_t> || resolver == resolve_generic<std::uint32_t>;
}

LanesBySpace lanes_by_space(const Context& context, const Instruction& instruction, Mask mask) {
    const bool wide = instruction.resolve == resolve_generic<std::uint64_t>;
    LanesBySpace lanes;
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        const std::uint64_t address = wide ? address_of<std::uint64_t>(context, instruction, lane)
                                           : address_of<std::uint32_t>(context, instruction, lane);
        lanes.shared |= in_window(address, kSharedWindow) ? Mask{1} << lane : 0;
        lanes.local |= in_window(address, kLocalWindow) ? Mask{1} << lane : 0;
        lanes.parameter |= in_window(address, kParameterWindow) ? Mask{1} << lane : 0;
    }
    return lanes;
}

Handler to_generic_handler(AddressSpace space, bool wide) {
    return conversion<ToGeneric>(space, wide);
}
Handler from_generic_handler(AddressSpace space, bool wide) {
    return conversion<FromGeneric>(space, wide);
}

Handler is_space_handler(AddressSpace space) {
    switch (space) {
        case AddressSpace::shared:
            return is_shared_handler(false);
        case AddressSpace::cluster:
            return is_shared_handler(true);
        case AddressSpace::local:
            return is_in_window<kLocalWindow>;
        case AddressSpace::parameter:
            return is_in_window<kParameterWindow>;
        case AddressSpace::constant:
            return is_constant;
        case AddressSpace::global:
            return is_in_window<0>;
        default:
            return nullptr;
    }
}

Handler local_address_handler(bool wide) {
    return wide ? local_address<std::uint64_t> : local_address<std::uint32_t>;
}

}  // namespace egpu::simulated
