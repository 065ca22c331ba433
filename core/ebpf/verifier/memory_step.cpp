// SPDX-License-Identifier: Apache-2.0
// Steps of loads, stores and atomic operations (RFC 9669 section 5).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ebpf/verifier/domain/arithmetic.hpp"
#include "ebpf/verifier/walk.hpp"

namespace egpu::ebpf {
namespace {

MemoryAccess access_of(const State& state, const Instruction& i, AccessKind kind) {
    MemoryAccess access;
    access.kind = kind;
    const unsigned base = kind == AccessKind::read ? i.source : i.destination;
    access.pointer = state.get(base);
    access.register_name = fmt::format("r{}", base);
    access.offset = i.offset;
    access.bytes = access_bytes(i);
    return access;
}

/// The expression of what lies at a place that isn't constant, out of several candidates.
std::uint64_t expression_at(const MemoryAccess& access, std::uint64_t content) {
    return combine(0xa01, content, address_expression(access));
}

/// Read-only data at a known place is a constant.
Scalar constant_load(const Object& object, const MemoryAccess& access) {
    const Span span = span_of(access);
    const std::uint32_t bytes = access.bytes;
    if (!span.exact) {
        Scalar number = Scalar::of_bytes(bytes);
        number.expression = expression_at(access, bytes);
        return number;
    }
    std::uint64_t number = 0;
    std::memcpy(&number, object.constants.data() + span.first, bytes);
    return Scalar::constant(number);
}

}  // namespace

/// What is loaded from a checked place. Which place that is may vary even where it is exact: another path comes with
/// another pointer.
Value Walk::loaded(State& state, const MemoryAccess& access) {
    Value value = held(state, access);
    value.scalar.variability = most_varying(value.scalar.variability, access.pointer.scalar.variability);
    return value;
}

/// What the memory at a checked place holds.
Value Walk::held(State& state, const MemoryAccess& access) {
    const Span span = span_of(access);
    Scalar number = Scalar::of_bytes(access.bytes);
    switch (access.pointer.kind) {
        case Kind::context: {
            const ContextField* field = field_at(context_, static_cast<std::uint32_t>(span.first), access.bytes);
            found_.fields_read.insert(std::string(field->name));
            note(state, note_leaders_field(scene(state), *field));
            if (const auto known = observer_ == nullptr ? std::nullopt : observer_->constant_field(*field))
                return Value::constant(*known);
            // A special register of the hardware that PTX calls volatile: two reads may differ.
            if (field->name == "sm")
                return Value::number(context_number(*field, program_.point));
            return state.read_field(*field, context_number(*field, program_.point));
        }
        case Kind::stack: {
            const Stack& stack = state.frames[access.pointer.frame].stack;
            const auto first = static_cast<std::int32_t>(span.first);
            StackFault fault;
            if (span.exact)
                return *stack.read(first, static_cast<std::int32_t>(access.bytes), fault);
            const Scalar all = stack.joined(first, static_cast<std::int32_t>(span.end - span.first));
            number.derive_from(all);
            number.expression = expression_at(access, all.expression);
            break;
        }
        case Kind::constants:
            if (!span.exact)
                note(state, note_constant_index());
            number = constant_load(object_, access);
            break;
        default: {
            if (object_.maps[access.pointer.map].per_sm()) {
                Value part = Value::number(number);
                part.kind = Kind::partial_sum;
                part.map = access.pointer.map;
                return part;
            }
            number.loaded_from = map_bit(access.pointer.map);
            if (access.kind == AccessKind::read) {
                number.plainly_loaded_from = number.loaded_from;
                number.origin = span.exact ? Origin::map_value : Origin::computed;
                number.origin_offset = span.first;
            }
            number.variability = Variability::lane;  // other threads write it meanwhile
        }
    }
    return Value::number(number);
}

/// Notes how deep a frame reaches, and that all frames together fit.
Verdict Walk::use_stack(const State& state, const MemoryAccess& access) {
    if (access.pointer.kind != Kind::stack)
        return std::nullopt;
    auto& depth = stack_of_function_[state.frames[access.pointer.frame].function];
    depth = std::max(depth, static_cast<std::uint32_t>(-span_of(access).first));
    std::vector<FunctionStack> chain;
    for (const Frame& frame : state.frames)
        chain.push_back({frame.function, stack_of(frame.function)});
    return check_stack_depth(scene(state), chain);
}

Verdict Walk::step_load(State& state) {
    const Instruction& i = program_.instructions[state.at];
    if (auto refusal = check_writable(i.destination))
        return refusal;
    if (auto refusal = check_readable(scene(state), i.source))
        return refusal;
    const MemoryAccess access = access_of(state, i, AccessKind::read);
    if (auto refusal = check_access(scene(state), access))
        return refusal;
    if (auto refusal = use_stack(state, access))
        return refusal;
    Value value = loaded(state, access);
    if (mode_of(i) == kModeMemSigned && value.is_scalar()) {
        value.scalar = sign_extend(value.scalar, 8 * access.bytes, Width::bits64);
        value.scalar.link = 0;
    }
    state.set(i.destination, value);
    ++state.at;
    return std::nullopt;
}

Verdict Walk::step_store(State& state) {
    const Instruction& i = program_.instructions[state.at];
    if (auto refusal = check_readable(scene(state), i.destination))
        return refusal;
    const bool of_register = class_of(i) == kClassStx;
    if (of_register)
        if (auto refusal = check_readable(scene(state), i.source))
            return refusal;
    Value stored =
        of_register ? state.get(i.source) : Value::constant(static_cast<std::uint64_t>(std::int64_t{i.immediate}));
    const MemoryAccess access = access_of(state, i, AccessKind::write);
    if (auto refusal = check_access(scene(state), access))
        return refusal;
    if (auto refusal = use_stack(state, access))
        return refusal;
    if (access.pointer.kind == Kind::map_value) {
        if (auto refusal = check_shared_store(scene(state), access, stored))
            return refusal;
        note(state, note_decided_store(scene(state), access, stored));
        note_written(access);
    } else {
        if (auto refusal = check_stack_store(scene(state), access, stored))
            return refusal;
        const Span span = span_of(access);
        const bool whole = span.exact && access.bytes == 8;
        if (!whole && stored.is_pointer())
            return check_number(scene(state), stored, "stored in part, or at a place that isn't constant");
        if (!span.exact && stored.kind == Kind::partial_sum)
            return check_number(scene(state), stored, "stored at a place that isn't constant");
        if (of_register && span.exact && stored.is_scalar() && !stored.scalar.is_constant())
            stored.scalar.link = state.link(i.source);  // Stack::write drops it where only a part is stored
        stored.scalar.variability = most_varying(stored.scalar.variability, access.pointer.scalar.variability);
        stored.scalar.depth = state.depth();
        Stack& stack = state.frames[access.pointer.frame].stack;
        const auto first = static_cast<std::int32_t>(span.first);
        if (!span.exact)
            stored.scalar.expression = expression_at(access, stored.scalar.expression);
        if (span.exact)
            stack.write(first, static_cast<std::int32_t>(access.bytes), stored);
        else
            stack.write_somewhere(first, static_cast<std::int32_t>(span.end - span.first), stored.scalar);
    }
    ++state.at;
    return std::nullopt;
}

/// Of a checked access to a map's value.
void Walk::note_written(const MemoryAccess& access) {
    const Span span = span_of(access);
    found_.values_written.insert(
        {access.pointer.map, static_cast<std::uint32_t>(span.first), static_cast<std::uint32_t>(span.end)});
}

/// An addition may be kept in a register where that holds at each visit: one to another element rules it out.
void Walk::note_atomic(State& state, const MemoryAccess& access) {
    const bool first = found_.atomics.insert(state.at).second;
    const bool same = names_same(state, combine(0xa02, access.pointer.element, address_expression(access)));
    const bool kept = program_.instructions[state.at].immediate == kAdd && access.bytes == 8 && same &&
                      access.pointer.scalar.variability == Variability::site;
    if (kept && first)
        found_.register_adds.insert(state.at);
    else if (!kept)
        found_.register_adds.erase(state.at);
}

Verdict Walk::step_atomic(State& state) {
    const Instruction& i = program_.instructions[state.at];
    const bool compares = i.immediate == kCompareExchange;
    for (const unsigned index : {unsigned{i.destination}, unsigned{i.source}})
        if (auto refusal = check_readable(scene(state), index))
            return refusal;
    if (compares)
        if (auto refusal = check_readable(scene(state), 0))
            return refusal;
    const MemoryAccess access = access_of(state, i, AccessKind::atomic);
    // What an operation on other memory lacks is said before alignment and bounds are.
    if (auto refusal = check_atomic(scene(state), access, state.get(i.source)))
        return refusal;
    if (auto refusal = check_access(scene(state), access))
        return refusal;
    if (compares)
        if (auto refusal = check_number(scene(state), state.get(0), "used in an atomic operation"))
            return refusal;
    const bool fetches = (i.immediate & kFetch) != 0;
    const unsigned result = compares ? 0 : i.source;
    if (fetches)
        if (auto refusal = check_writable(result))
            return refusal;
    if (i.immediate == kExchange)
        note(state, note_decided_store(scene(state), access, state.get(i.source)));
    if (compares)
        note(state, note_compare_exchange(scene(state), access));
    if ((i.immediate & ~kFetch) == kAdd)
        note_addition(state, note_added_by_all(scene(state), access, state.get(i.source)));
    if (fetches)
        state.set(result, loaded(state, access));
    note_atomic(state, access);
    note_written(access);
    state.cost = state.cost + Cost{0, 0, 1};
    ++state.at;
    return std::nullopt;
}

}  // namespace egpu::ebpf
