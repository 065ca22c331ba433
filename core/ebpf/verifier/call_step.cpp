// SPDX-License-Identifier: Apache-2.0
// Steps of calls: helpers, functions of the program, and the return from them.
#include <algorithm>

#include "ebpf/verifier/walk.hpp"

namespace egpu::ebpf {
namespace {

void clobber_arguments(Frame& frame) {
    for (unsigned i = 1; i <= 5; ++i)
        frame.registers[i] = Value{};
}

Variability result_variability(const Helper& called) {
    // A uniform result is the same for the lanes of a warp; that it is the same at each firing isn't said.
    return called.uniform_result ? Variability::warp : Variability::lane;
}

}  // namespace

/// Variability, provenance and expression of the bytes that an argument points to.
Scalar Walk::memory_content(const State& state, const MemoryAccess& access) const {
    const Span span = span_of(access);
    Scalar content;
    if (access.pointer.kind == Kind::map_value) {
        content.variability = Variability::lane;
        content.loaded_from = content.plainly_loaded_from = map_bit(access.pointer.map);
    } else if (access.pointer.kind == Kind::stack) {
        content = state.frames[access.pointer.frame].stack.joined(static_cast<std::int32_t>(span.first),
                                                                  static_cast<std::int32_t>(span.end - span.first));
    } else if (access.pointer.kind == Kind::constants && span.exact) {
        for (std::int64_t at = span.first; at < span.end; ++at)
            content.expression =
                combine(0xa05, content.expression,
                        std::to_integer<std::uint64_t>(object_.constants[static_cast<std::size_t>(at)]));
    }
    if (!span.exact)
        content.expression = combine(0xa06, content.expression, address_expression(access));
    content.variability = most_varying(content.variability, access.pointer.scalar.variability);
    return content;
}

/// Checks what the arguments point to. `key`: variability and expression of the key's bytes.
Verdict Walk::helper_memory(State& state, const Helper& called, Scalar& key) {
    for (unsigned argument = 0; argument < called.arguments.size(); ++argument) {
        const MemoryAccess access = argument_access(scene(state), called, argument);
        if (access.bytes == 0)
            continue;
        if (auto refusal = check_argument_access(scene(state), access))
            return refusal;
        if (auto refusal = use_stack(state, access))
            return refusal;
        const Span span = span_of(access);
        if (called.arguments[argument] == ArgumentKind::map_word) {
            note_atomic(state, access);
            note_written(access);
            state.cost = state.cost + Cost{0, 0, 1};
            continue;
        }
        const Scalar content = memory_content(state, access);
        if (access.kind == AccessKind::read)
            note(state, note_argument_place(scene(state), access));
        if (called.arguments[argument] == ArgumentKind::map_key) {
            key = content;
            note(state, note_index(scene(state), called, access));
        }
        if (called.arguments[argument] == ArgumentKind::map_value) {
            const std::uint32_t map = state.get(1).map;
            if (auto refusal = check_update_source(scene(state), map, content))
                return refusal;
            found_.values_written.insert({map, 0, object_.maps[map].value_bytes});
        }
        if (access.kind == AccessKind::write) {
            Scalar written;
            written.variability = Variability::lane;
            written.depth = state.depth();
            Stack& stack = state.frames[access.pointer.frame].stack;
            const auto first = static_cast<std::int32_t>(span.first);
            if (span.exact)
                stack.fill(first, static_cast<std::int32_t>(access.bytes), written);
            else
                stack.write_somewhere(first, static_cast<std::int32_t>(span.end - span.first), written);
        }
    }
    return std::nullopt;
}

Value Walk::helper_result(State& state, const Helper& called, const Scalar& key) {
    if (called.changes_word())
        return loaded(state, argument_access(scene(state), called, 0));
    Value result = Value::number(called.id == HelperId::get_prandom_u32 ? Scalar::of_bytes(4) : Scalar());
    if (called.asks_lanes())
        result.scalar.derive_from(state.get(1).scalar);
    if (called.id == HelperId::lanes_sum)
        result.scalar.origin = Origin::of_all_lanes;
    result.scalar.variability = result_variability(called);
    if (called.id == HelperId::argument)
        result.scalar.application_address = true;
    if (called.returns != ReturnKind::map_value_or_null)
        return result;
    result = Value::pointer(Kind::map_value_or_null);
    result.map = state.get(1).map;
    result.identity = state.next_identity++;
    result.made_at = state.at;
    result.element = key.expression;
    result.scalar.variability = key.variability;
    return result;
}

/// True where map and key are static: the same for all that come here, and at each time that this path does. `key`
/// becomes what says which element it is.
bool Walk::lookup_is_static(State& state, Scalar& key) {
    const Value map = state.get(1);
    const std::uint64_t place = state.place();
    key.variability = most_varying(key.variability, map.scalar.variability);
    key.expression = combine(0xa07, map.map, key.expression);
    if (!names_same(state, key.expression) || known_.searched.contains(place))
        key.variability = most_varying(key.variability, Variability::warp);
    const bool is_static = key.variability == Variability::site;
    (is_static ? static_places_ : dynamic_places_).insert(place);
    if (!is_static)
        dynamic_lookups_.emplace(state.at, map.map);
    return is_static;
}

Verdict Walk::step_helper(State& state, Explored::Node node) {
    const Helper* called = nullptr;
    if (auto refusal = check_helper(scene(state), called))
        return refusal;
    Scalar key = Scalar::constant(0);
    if (auto refusal = helper_memory(state, *called, key))
        return refusal;
    if (called->prints()) {
        found_.formats.insert(static_cast<std::uint32_t>(state.get(1).scalar.value()));
        if (object_.print_map)
            found_.maps_used.insert(*object_.print_map);
    }
    const bool looks_up = called->returns == ReturnKind::map_value_or_null;
    // A lookup by a static key is an address in the end: it costs the one instruction already counted.
    const bool is_static = looks_up && lookup_is_static(state, key);
    if (looks_up || called->id == HelperId::map_update_elem) {
        note(state, note_map_varies(scene(state), *called));
        note(state, note_never_absent(scene(state), *called));
        const std::uint32_t map = state.get(1).map;
        if (!object_.maps[map].is_array() && !(is_static && called->id == HelperId::map_lookup_or_init))
            found_.searched_maps.insert(map);
    }
    const Cost cost{is_static || called->cost == 0 ? 0 : called->cost - 1, looks_up ? 1u : 0u, 0};
    if (auto refusal = pay(state, cost, node))
        return refusal;
    const Value result = helper_result(state, *called, key);
    clobber_arguments(state.frame());
    state.set(0, result);
    ++state.at;
    return std::nullopt;
}

Verdict Walk::step_local_call(State& state) {
    const std::uint32_t target = target_of(program_.instructions[state.at], state.at);
    if (auto refusal = check_local_call(scene(state), target))
        return refusal;
    calls_.emplace(state.frame().function, target);
    Frame called;
    called.function = target;
    called.return_to = state.at + 1;
    for (unsigned i = 1; i <= 5; ++i)
        called.registers[i] = state.frame().registers[i];
    state.frames.push_back(std::move(called));
    state.at = target;
    return std::nullopt;
}

Verdict Walk::step_exit(State& state, Explored::Node node, bool& ended) {
    if (auto refusal = check_return(scene(state)))
        return refusal;
    if (state.frames.size() == 1) {
        explored_.finish(node, state.cost);
        ended = true;
        return std::nullopt;
    }
    state.close_frame();
    const Value result = state.get(0);
    state.at = state.frame().return_to;
    state.frames.pop_back();
    clobber_arguments(state.frame());
    state.set(0, result);
    return std::nullopt;
}

std::uint32_t Walk::stack_of(std::uint32_t function) const {
    const auto known = stack_of_function_.find(function);
    return known == stack_of_function_.end() ? 0 : (known->second + 7) / 8 * 8;
}

/// The deepest chain of calls; recursion was refused, so there is one.
Verdict Walk::check_total_stack(std::uint32_t& bytes) const {
    struct Below {
        std::uint32_t bytes = 0;
        std::optional<std::uint32_t> called;
    };
    std::map<std::uint32_t, Below> deepest;
    for (std::size_t level = 0; level <= kFrameLimit; ++level)
        for (const auto& [caller, called] : calls_)
            if (const std::uint32_t all = stack_of(called) + deepest[called].bytes; all > deepest[caller].bytes)
                deepest[caller] = {all, called};
    std::vector<FunctionStack> chain{{0, stack_of(0)}};
    for (auto next = deepest[0].called; next; next = deepest[*next].called)
        chain.push_back({*next, stack_of(*next)});
    bytes = stack_of(0) + deepest[0].bytes;
    return check_stack_depth(scene(refused_state_), chain);
}

}  // namespace egpu::ebpf
