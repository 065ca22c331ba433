// SPDX-License-Identifier: Apache-2.0
// Loads, stores and atomics of the abstract machine.
#include <fmt/format.h>

#include "ebpf/isa/semantics.hpp"
#include "ebpf/specializer/machine.hpp"
#include "ebpf/specializer/sources.hpp"

namespace egpu::ebpf::specializer {
namespace {

using Kind = Value::Kind;

constexpr const char* kSettleFirst = "make the pointer in each branch and access it there";

/// The context field that covers [offset, offset + bytes): loads may read a part of one, as clang narrows them.
const ContextField* covering_field(ContextKind kind, std::int64_t offset, std::uint32_t bytes) {
    for (const auto& field : context_fields()) {
        const bool present = kind == ContextKind::kernel ? field.in_kernel_context : field.in_mem_context;
        if (present && offset >= field.offset && offset + bytes <= std::int64_t{field.offset} + field.bytes)
            return &field;
    }
    return nullptr;
}

std::optional<StaticElement> element_of(const Value& base, std::int64_t offset) {
    if (!base.is_static_element() || base.offset + offset < 0 || base.offset + offset > 0xffffffffll)
        return std::nullopt;
    return StaticElement{base.map, base.slot, static_cast<std::uint32_t>(base.offset + offset)};
}

}  // namespace

Value Machine::load_immediate(std::uint32_t at) {
    const Instruction& i = code_.instructions[at];
    const Instruction& high = code_.instructions[at + 1];
    if (i.source == kPseudoMap)
        return Value::map_of(static_cast<std::uint32_t>(i.immediate));
    if (i.source == kPseudoMapValue) {
        if (static_cast<std::uint32_t>(i.immediate) == Object::kConstantsMap)
            return Value::constants_at(high.immediate);
        const auto map = static_cast<std::uint32_t>(i.immediate);
        if (map >= object_.maps.size() || !object_.maps[map].is_array()) {
            refuse(at, "EGPU-V056", "address in a map that is no array", "the object is damaged", "compile it again");
            return Value::unknown();
        }
        return Value::element(map, keys_.number_of(map, std::vector<std::uint8_t>(object_.maps[map].key_bytes)),
                              high.immediate);
    }
    return Value::of(static_cast<std::uint32_t>(i.immediate) | std::uint64_t{static_cast<std::uint32_t>(high.immediate)}
                                                                   << 32);
}

/// What a load makes of a number it found: its width was applied already, memsx extends the sign (RFC 9669 5.2).
Value Machine::loaded(const Instruction& i, const Value& value) const {
    if (!value.is_constant())
        return access_bytes(i) == 8 ? value : Value::unknown(value.sources);
    const std::uint64_t number = truncated(value.constant, access_bytes(i));
    return Value::of(mode_of(i) == kModeMemSigned ? sign_extended(number, access_bytes(i)) : number);
}

Value Machine::load_field(std::uint32_t at, std::int64_t offset, InstructionFacts* facts) {
    const Instruction& i = code_.instructions[at];
    const ContextKind kind = context_of(program_.point.event);
    const ContextField* field = covering_field(kind, offset, access_bytes(i));
    if (field == nullptr) {
        refuse(at, "EGPU-V058", fmt::format("no context field at offset {}", offset),
               "the bytes read belong to no single field", "read a field by its name");
        return Value::unknown();
    }
    const auto byte = static_cast<std::uint32_t>(offset - field->offset);
    const auto known = constants_.fields.find(field->name);
    if (known != constants_.fields.end())
        return Value::of(truncated(known->second, field->bytes) >> (byte * 8));
    if (facts != nullptr) {
        facts->field = field;
        facts->field_byte = byte;
    }
    return Value::unknown(source_bit(*field));
}

Value Machine::load_constant(std::uint32_t at, const Value& base, std::int64_t offset) {
    const std::uint32_t bytes = access_bytes(code_.instructions[at]);
    if (!base.offset_known) {
        refuse(at, "EGPU-V055",
               fmt::format("read-only data at an offset that depends on {}", describe_sources(base.sources)),
               "constant tables indexed at run time are not available yet",
               "use an array map, or a switch over the values");
        return Value::unknown(base.sources);
    }
    const std::int64_t begin = base.offset + offset;
    if (begin < 0 || begin + bytes > static_cast<std::int64_t>(object_.constants.size())) {
        refuse(at, "EGPU-V056", "read outside the read-only data", "", "check the index");
        return Value::unknown();
    }
    std::uint64_t number = 0;
    for (std::uint32_t byte = 0; byte < bytes; ++byte)
        number |= std::to_integer<std::uint64_t>(object_.constants[static_cast<std::size_t>(begin) + byte])
                  << (byte * 8);
    return Value::of(number);
}

void Machine::load(std::uint32_t at, State& state, InstructionFacts* facts) {
    const Instruction& i = code_.instructions[at];
    const Value base = state.reg(i.source, code_.depth[at]);
    Value value = Value::unknown(base.sources);
    if (base.kind == Kind::context && base.offset_known) {
        value = load_field(at, base.offset + i.offset, facts);
    } else if (base.kind == Kind::constant_data) {
        value = load_constant(at, base, i.offset);
    } else if (base.kind == Kind::stack && !base.offset_known) {
        value = Value::unknown(base.sources | kFromStack);
    } else if (base.kind == Kind::stack && in_frame(base.offset + i.offset, access_bytes(i))) {
        value = state.load(base.map, base.offset + i.offset, access_bytes(i));
    } else if (base.kind == Kind::map_value) {
        value = Value::unknown(base.sources | kFromMap);
        if (facts != nullptr)
            facts->memory = element_of(base, i.offset);
    } else {
        refuse(at, "EGPU-V056", "load from an address of which the kind of memory isn't known",
               "the pointer differs between paths, or is no pointer to the stack, the context or a map", kSettleFirst);
    }
    state.set_reg(i.destination, code_.depth[at], loaded(i, value));
}

void Machine::store(std::uint32_t at, State& state, InstructionFacts* facts) {
    const Instruction& i = code_.instructions[at];
    const Value base = state.reg(i.destination, code_.depth[at]);
    const bool is_atomic = class_of(i) == kClassStx && mode_of(i) == kModeAtomic;
    if (base.kind == Kind::map_value) {
        if (facts != nullptr)
            facts->memory = element_of(base, i.offset);
    } else if (base.kind != Kind::stack || (base.offset_known && !in_frame(base.offset + i.offset, access_bytes(i)))) {
        refuse(at, "EGPU-V056", "store to an address of which the kind of memory isn't known",
               "the pointer differs between paths, or is no pointer to the stack or a map", kSettleFirst);
    }
    if (is_atomic) {
        atomic(at, state, base, facts);
        return;
    }
    if (base.kind != Kind::stack)
        return;
    const Value value = class_of(i) == kClassSt
                            ? Value::of(static_cast<std::uint64_t>(static_cast<std::int64_t>(i.immediate)))
                            : state.reg(i.source, code_.depth[at]);
    if (!base.offset_known)
        state.forget_frame(base.map, value.sources | base.sources);
    else if (in_frame(base.offset + i.offset, access_bytes(i)))
        state.store(base.map, base.offset + i.offset, access_bytes(i), value);
}

/// RFC 9669 5.3. On the stack it is plain arithmetic; in a map nothing is known of the old value.
void Machine::atomic(std::uint32_t at, State& state, const Value& base, InstructionFacts* facts) {
    const Instruction& i = code_.instructions[at];
    const std::uint8_t depth = code_.depth[at];
    const std::uint32_t bytes = access_bytes(i);
    const Value operand = state.reg(i.source, depth);
    const Value expected = state.reg(0, depth);
    if (facts != nullptr)
        facts->arguments = {expected};
    Value old = Value::unknown(base.sources | kFromMap);
    const bool known_place = base.kind == Kind::stack && base.offset_known && in_frame(base.offset + i.offset, bytes);
    if (known_place) {
        const std::int64_t offset = base.offset + i.offset;
        old = state.load(base.map, offset, bytes);
        Value stored = Value::unknown(old.sources | operand.sources | expected.sources);
        if (i.immediate == kExchange)
            stored = operand;
        else if (i.immediate != kCompareExchange && old.is_constant() && operand.is_constant())
            stored = Value::of(atomic_result(i.immediate, old.constant, operand.constant, bytes));
        else if (i.immediate == kCompareExchange && old.is_constant() && expected.is_constant())
            stored = old.constant == truncated(expected.constant, bytes) ? operand : old;
        state.store(base.map, offset, bytes, stored);
    } else if (base.kind == Kind::stack) {
        state.forget_frame(base.map, operand.sources | base.sources);
        old = Value::unknown(kFromStack);
    }
    if (bytes < 8 && !old.is_constant())
        old = Value::unknown(old.sources);
    if (i.immediate == kCompareExchange)
        state.set_reg(0, depth, old);
    else if ((i.immediate & kFetch) != 0)
        state.set_reg(i.source, depth, old);
}

}  // namespace egpu::ebpf::specializer
