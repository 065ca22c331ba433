// SPDX-License-Identifier: Apache-2.0
// A verified program made for one site: site fields are constants, branches on them are gone, static keys are
// addresses. Input and output of one fixpoint over the program's graph; loops stay loops.
#pragma once

#include <array>
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
#include "ebpf/specializer/value.hpp"

namespace egpu::ebpf {

using specializer::kAnyMap;

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
    std::uint32_t instruction = 0;          ///< of SpecializedProgram::instructions
};

/// Any other access to a map's values: what can stand in the way of keeping an element in a register.
struct MapAccess {
    std::uint32_t map = 0;              ///< kAnyMap: one of several
    std::optional<std::uint32_t> slot;  ///< nothing: known only at run time
    std::optional<std::uint32_t> byte;  ///< offset in the value
    std::uint32_t bytes = 0;
    bool reads = false, writes = false;
    /// An add of 64 bits without fetch: it commutes with the adds of an accumulator on the same element.
    bool is_commuting_add = false;
    std::uint32_t instruction = 0;
};

/// What is known of an instruction of a specialised program.
struct InstructionFacts {
    bool reachable = false;
    bool result_needed = false;                   ///< the register it writes is read at run time
    bool needed = false;                          ///< must be executed at run time
    std::optional<std::uint64_t> result;          ///< the destination's value, where constant
    std::optional<StaticElement> pointer_result;  ///< the destination points there
    std::optional<StaticElement> memory;          ///< the address accessed (loads, stores, atomics)
    std::optional<bool> branch;                   ///< conditional jump: always / never taken
    /// Destination and source register before the instruction; slots are those of SlotOfKey.
    specializer::Value destination_before, source_before;
    specializer::Value destination_after;
    std::vector<specializer::Value> arguments;  ///< of a helper call: r1 to r5; of a compare-and-exchange: r0
    const ContextField* field = nullptr;        ///< a load of this context field ...
    std::uint32_t field_byte = 0;               ///< ... from this byte of it
};

/// A key known before the program runs, and what SlotOfKey said of it; nullopt: its lookups are NULL.
struct StaticKey {
    std::uint32_t map = 0;
    std::vector<std::uint8_t> bytes;
    std::optional<std::uint32_t> slot;
};

/// Bytes of the stack that are still needed at run time. Slots don't overlap.
struct StackSlot {
    std::uint32_t depth = 0;
    std::int64_t offset = 0;  ///< from the frame's top, negative
    std::uint32_t bytes = 0;
    bool in_memory = false;      ///< false: always accessed whole, so one register holds it
    std::uint32_t position = 0;  ///< where in_memory: byte in the local array; a multiple of 8 apart from `offset`
};

struct SpecializedProgram {
    const Object* object = nullptr;
    const Program* program = nullptr;
    std::vector<Instruction>
        instructions;  ///< same numbering as `facts`; unreachable ones are kept in place and marked
    std::vector<InstructionFacts> facts;
    std::vector<std::uint32_t> origins;        ///< index in Program::instructions (local calls are written out)
    std::vector<std::uint8_t> depths;          ///< call depth: r6 to r10 belong to it
    std::vector<StaticKey> keys;               ///< each that was asked for
    std::vector<AccumulatorUse> accumulators;  ///< candidates, in order of first use
    std::vector<MapAccess> accesses;           ///< all other accesses to map values, in order
    std::set<std::string> fields_read;         ///< fields that still must be supplied at run time
    std::vector<StackSlot> stack;
    std::uint32_t stack_bytes = 0;  ///< bytes of stack still needed; 0 where all slots are registers or constants
    bool empty = false;             ///< nothing with an effect is left: emit nothing
    std::uint32_t full_maps = 0;    ///< lookups that became NULL since the map is full

    static constexpr std::uint32_t kEnd = 0xffffffff;
    std::vector<std::uint32_t> onward;  ///< per instruction: the first needed one from there on; kEnd: none

    /// True for a look-up or an update of a hash whose keys are searched for at run time, where it is reached.
    bool searches(std::uint32_t at) const;
    /// Where control goes after `at` (a jump: when not taken), past what isn't needed; nothing: the program ends.
    std::optional<std::uint32_t> next_needed(std::uint32_t at) const;
    /// The first instruction that is executed at run time.
    std::optional<std::uint32_t> first_needed() const { return needed_from(0); }
    /// Where a needed conditional jump goes when it is taken.
    std::optional<std::uint32_t> taken_needed(std::uint32_t at) const;
    std::optional<std::uint32_t> needed_from(std::uint32_t at) const;
};

/// How many numbers a call of bpf_trace_printk prints, by its text.
std::size_t numbers_printed(const SpecializedProgram& program, std::uint32_t at);

/// Errors: EGPU-V05x for what this version can't translate (a hash key that isn't static).
Result<SpecializedProgram> specialize(const Object& object, const Program& program, const SiteConstants& constants,
                                      const SlotOfKey& slot_of_key);

/// True where an access could see or change an element while it is kept in registers. An element may be an
/// accumulator iff no access of any program of the session stands in the way (map indices are one program's: with
/// programs of several objects, compare within one numbering).
bool stands_in_the_way(const MapAccess& access, const StaticElement& element);

}  // namespace egpu::ebpf
