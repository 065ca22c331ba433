// SPDX-License-Identifier: Apache-2.0
// A verified program made for one site: site fields are constants, branches on them are gone, static keys are
// addresses. Input and output of one fixpoint over the program's graph; loops stay loops.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ebpf/object/object.hpp"

namespace egpu::ebpf {

/// Values of the context's fields that are known where the program is injected ("kernel" -> 3, "space" -> 0).
struct SiteConstants {
    std::map<std::string, std::uint64_t, std::less<>> fields;
};

/// The slot of a map's entry for a key; nullopt where the map is full. Called once for each static key.
using SlotOfKey = std::function<std::optional<std::uint32_t>(std::uint32_t map, std::span<const std::byte> key)>;

/// An address in a map's value that is known: map, slot, byte.
struct StaticElement {
    std::uint32_t map = 0, slot = 0, byte = 0;
    auto operator<=>(const StaticElement&) const = default;
};

/// A 64-bit atomic add with unused result on a static element: may be kept in a register (DESIGN 7).
struct AccumulatorUse {
    StaticElement element;
    std::optional<std::uint64_t> constant;  ///< the added value where it is known
};

/// What is known of an instruction of a specialised program.
struct InstructionFacts {
    bool reachable = false;
    std::optional<std::uint64_t> result;           ///< the destination's value, where constant
    std::optional<StaticElement> pointer_result;   ///< the destination points there
    std::optional<StaticElement> memory;           ///< the address accessed (loads, stores, atomics)
    std::optional<bool> branch;                    ///< conditional jump: always / never taken
};

struct SpecializedProgram {
    const Object* object = nullptr;
    const Program* program = nullptr;
    std::vector<Instruction> instructions;   ///< same numbering as `facts`; unreachable ones are kept in place and marked
    std::vector<InstructionFacts> facts;
    std::vector<AccumulatorUse> accumulators;  ///< candidates, in order of first use
    std::set<std::string> fields_read;         ///< fields that still must be supplied at run time
    std::uint32_t stack_bytes = 0;             ///< bytes of stack still needed; 0 where all slots are registers or constants
    bool empty = false;                        ///< nothing with an effect is left: emit nothing
    std::uint32_t full_maps = 0;               ///< lookups that became NULL since the map is full
};

/// Errors: EGPU-V05x for what this version can't translate (a hash key that isn't static).
Result<SpecializedProgram> specialize(const Object& object, const Program& program, const SiteConstants& constants,
                                      const SlotOfKey& slot_of_key);

}  // namespace egpu::ebpf
