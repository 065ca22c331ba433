// SPDX-License-Identifier: Apache-2.0
// Handlers of the instructions that touch memory: how an address becomes a pointer, loads and stores, atomics.
#pragma once

#include <string_view>

#include "gpu/simulated/executor/machine/context.hpp"
#include "gpu/simulated/executor/machine/program.hpp"
#include "gpu/simulated/executor/machine/type.hpp"

namespace egpu::simulated {

enum class AddressSpace : std::uint8_t { generic, global, constant, shared, cluster, local, parameter };

/// `frame_relative`: the address is that of a variable of the function's local memory (sources[0] is then unused).
Resolver resolver_of(AddressSpace space, bool wide_address, bool frame_relative);

/// True for accesses by generic address, whose space each lane's address says.
bool is_generic(Resolver resolver);
/// Of the lanes of a generic access, those whose address lies in a window of its own; all others are in global memory.
struct LanesBySpace {
    Mask shared = 0, local = 0, parameter = 0;
};
LanesBySpace lanes_by_space(const Context& context, const Instruction& instruction, Mask mask);

/// Loads of `type` into rows of 32 or 64 bits; nullptr where there is no such load.
Handler load_handler(Type type, bool wide_destination);
/// Stores of `type` from rows of 32 or 64 bits.
Handler store_handler(Type type, bool wide_source);
/// atom and red: `operation` is "add", "cas", ...; nullptr where there is none for the type.
Handler atomic_handler(std::string_view operation, Type type);
/// One element's part of a reduction over memory (cp.reduce.async, red.async); nullptr where there is none.
Element element_reduction(std::string_view operation, Type type);

/// Address conversions: cvta, cvta.to, isspacep, and the address of a variable in local memory.
Handler to_generic_handler(AddressSpace space, bool wide);
Handler from_generic_handler(AddressSpace space, bool wide);
Handler is_space_handler(AddressSpace space);
Handler local_address_handler(bool wide);

/// Clusters (cluster.cpp): mapa, getctarank, isspacep.shared; nullptr where there is no such form.
Resolver cluster_resolver(bool wide_address);
Handler map_address_handler(bool generic, bool wide);
Handler rank_of_address_handler(bool generic, bool wide);
Handler is_shared_handler(bool whole_cluster);
/// Where bytes at a shared::cluster address are; nullptr (and a fault) where they are nowhere.
std::byte* cluster_pointer(Context& context, unsigned lane, std::uint64_t inside, std::uint64_t bytes);
/// destination (64 bits) = the generic address of sources[0] + offset in the space.
Handler generic_address_handler(AddressSpace space, bool wide, bool frame_relative);

/// Reports a fault of one lane; returns false, as handlers do.
bool report(Context& context, FaultKind kind, unsigned lane, std::string text);

/// Where `bytes` bytes at a generic address are for one lane; nullptr (and a fault) where they are nowhere.
std::byte* generic_pointer(Context& context, unsigned lane, std::uint64_t address, std::uint64_t bytes, bool writes);

}  // namespace egpu::simulated
