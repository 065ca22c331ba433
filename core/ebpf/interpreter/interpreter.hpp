// SPDX-License-Identifier: Apache-2.0
// The reference engine: what a program means, one instruction at a time, with every access checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "ebpf/object/object.hpp"

namespace egpu::ebpf {

/// A map of the reference engine: keys to values, both as bytes.
using ReferenceMap = std::map<std::vector<std::byte>, std::vector<std::byte>>;

/// What a lookup or an atomic operation named while it ran.
struct NamedElement {
    std::size_t at = 0;                ///< instruction
    std::vector<std::size_t> returns;  ///< of the calls under way, outermost first, where each goes on
    std::uint32_t map = 0;
    std::vector<std::byte> key;        ///< of lookups
    const std::byte* bytes = nullptr;  ///< of atomic operations, where they are done; else nullptr
};

/// What a program sent to a ring buffer.
struct SentRecord {
    std::uint32_t map = 0;  ///< by index of Object::maps
    std::vector<std::byte> bytes;
    bool operator==(const SentRecord&) const = default;
};

struct Execution {
    std::vector<std::byte> context;             ///< r1 points to it
    std::span<std::byte> memory;                ///< conformance: r1 = memory, r2 = length where not empty
    std::vector<ReferenceMap>* maps = nullptr;  ///< by index of Object::maps
    std::uint64_t clock = 0, time_ns = 0;
    std::vector<std::byte> value;  ///< what egpu_value gives; empty: -EINVAL
    std::vector<std::uint64_t> arguments;
    std::uint64_t step_limit = 1'000'000;
    std::vector<SentRecord> records;  ///< in the order in which they were sent
    bool was_misaligned = false;      ///< set by a load or store at an address that is no multiple of its size
    std::function<void(const NamedElement&)> on_name;  ///< told of each, where it is set
};

/// r0, or the fault ("load of 8 bytes at offset 520 of the stack").
Result<std::uint64_t> interpret(const Object& object, std::span<const Instruction> program, Execution& execution);

}  // namespace egpu::ebpf
