// SPDX-License-Identifier: Apache-2.0
// Helper calls: the helper exists on a GPU, at this event, and each argument is what its table row says.
#include <fmt/format.h>

#include "ebpf/helpers/helpers.hpp"
#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {
namespace {

Refusal argument_refusal(const Helper& called, unsigned argument, std::string_view must_be, std::string fix = {}) {
    Refusal refusal;
    refusal.code = "EGPU-V018";
    refusal.message = fmt::format("argument {} of {} must be {}", argument + 1, called.name, must_be);
    refusal.why = called.summary;
    refusal.fix = std::move(fix);
    return refusal;
}

/// egpu_value() where there is a value: what is stored is known before, what is loaded when it has arrived.
Verdict check_event(const Scene& scene, const Helper& called) {
    if (called.id != HelperId::value)
        return std::nullopt;
    const Event event = scene.program.point.event;
    if (event == Event::store || waits_for_value(event))
        return std::nullopt;
    Refusal refusal;
    refusal.code = "EGPU-V019";
    refusal.message = fmt::format("there is no value at {}", scene.program.section);
    refusal.why = "a stored value is known at gpu/store, a loaded or exchanged one when it has arrived";
    refusal.fix =
        "run the program at gpu/store, gpu/load_return or gpu/atomic_return; a space may follow, as in .global";
    return refusal;
}

Refusal constant_size(const Helper& called, unsigned argument) {
    Refusal refusal = argument_refusal(called, argument, "a constant size of 1 to 16 bytes");
    refusal.fix = "pass the size of the variable: egpu_value(ctx, &value, sizeof(value))";
    return refusal;
}

Refusal word_size(const Helper& called, unsigned argument, const Value& value) {
    Refusal refusal =
        argument_refusal(called, argument, "the size of a word, 4 or 8 bytes",
                         fmt::format("{}(&value->member, number): the header adds the size", called.name));
    if (value.is_constant()) {
        refusal.message =
            fmt::format("{} needs a word of 4 or 8 bytes; this one has {}", called.name, value.scalar.value());
        refusal.fix = "make the member __u32 or __u64";
    }
    return refusal;
}

bool constant_between(const Value& value, std::uint64_t low, std::uint64_t high) {
    return value.is_constant() && value.scalar.value() >= low && value.scalar.value() <= high;
}

Verdict check_constant(const Scene& scene, const Helper& called, unsigned argument, const Value& value) {
    if (called.id == HelperId::value && !constant_between(value, 1, 16))
        return constant_size(called, argument);
    if (called.id == HelperId::argument && !constant_between(value, 0, 1023))
        return argument_refusal(called, argument, "a constant number of a parameter, from 0",
                                "egpu_arg(ctx, 0) is the first one");
    if (called.id == HelperId::map_update_elem && !constant_between(value, 0, 2))
        return argument_refusal(called, argument, "BPF_ANY, BPF_NOEXIST or BPF_EXIST", "BPF_ANY writes in any case");
    if (called.id == HelperId::ringbuf_output)
        return argument == 2 ? check_record_size(scene, called, value)
               : constant_between(value, 0, 2)
                   ? std::nullopt
                   : Verdict(argument_refusal(called, argument, "0", "nobody waits for a record"));
    if (called.id == HelperId::trace_vprintk && argument == 3)
        return check_printed_bytes(scene, called, value);
    if (called.changes_word() && !constant_between(value, 4, 4) && !constant_between(value, 8, 8))
        return word_size(called, argument, value);
    if (!value.is_constant())
        return argument_refusal(called, argument, "a constant");
    return std::nullopt;
}

/// A pointer to memory that can be read; what lies there is checked as an access.
Verdict check_memory(const Scene& scene, const Helper& called, unsigned argument, const Value& value) {
    const ArgumentKind kind = called.arguments[argument];
    const MapDefinition& map = scene.map(scene.state.get(1).map);
    const std::string what = kind == ArgumentKind::map_key
                                 ? fmt::format("a pointer to a key of {} bytes", map.key_bytes)
                                 : fmt::format("a pointer to a value of {} bytes", map.value_bytes);
    if (value.kind == Kind::context) {
        Refusal refusal = argument_refusal(called, argument, what);
        refusal.why = "a context is a list of values, not memory";
        refusal.fix = "copy the field to a variable, and pass its address";
        return refusal;
    }
    if (value.kind == Kind::stack || value.is_map_pointer() || value.kind == Kind::constants)
        return std::nullopt;
    Refusal refusal = argument_refusal(called, argument, what);
    refusal.fix = kind == ArgumentKind::map_key ? "put the key into a variable, and pass its address: &key"
                                                : "put the value into a variable, and pass its address: &value";
    return refusal;
}

/// A word of a map's value: shards of per-SM maps are added up when read, and a sum of extremes is none.
Verdict check_word(const Scene& scene, const Helper& called, unsigned argument, const Value& value) {
    if (!value.is_map_pointer())
        return argument_refusal(called, argument, "a pointer into a map's value",
                                "look the value up first, and pass the address of a member: &value->member");
    const MapDefinition& map = scene.map(value.map);
    if (!map.per_sm())
        return std::nullopt;
    Refusal refusal;
    refusal.code = "EGPU-V015";
    refusal.message = fmt::format("{} on the per-SM map '{}'", called.name, map.name);
    refusal.why = "its copies, one for each SM, are added up when read: a sum of each SM's extreme is no extreme";
    refusal.fix = "use BPF_MAP_TYPE_HASH or BPF_MAP_TYPE_ARRAY, which have one value for all SMs";
    return refusal;
}

Verdict check_argument(const Scene& scene, const Helper& called, unsigned argument) {
    const Value value = scene.state.get(argument + 1);
    switch (called.arguments[argument]) {
        case ArgumentKind::none:
            return std::nullopt;
        case ArgumentKind::map:
            if (value.kind != Kind::map_object)
                return argument_refusal(called, argument, "a map of this object",
                                        "pass the address of a map that this file defines: &my_map");
            if (scene.map(value.map).is_ring())
                return argument_refusal(called, argument, "a map with keys, and a ring buffer has none",
                                        "bpf_ringbuf_output(&ring, &event, sizeof(event), 0) appends to it");
            return std::nullopt;
        case ArgumentKind::ring:
            return check_ring(scene, called);
        case ArgumentKind::record:
            if (value.kind != Kind::stack && value.kind != Kind::constants)
                return argument_refusal(called, argument, "a pointer to a local variable",
                                        "copy what is sent to a local variable, and pass its address: &event");
            return std::nullopt;
        case ArgumentKind::text:
            return std::nullopt;  // with its size
        case ArgumentKind::printed:
            return check_number(scene, value, "printed");
        case ArgumentKind::map_key:
        case ArgumentKind::map_value:
            return check_memory(scene, called, argument, value);
        case ArgumentKind::map_word:
            return check_word(scene, called, argument, value);
        case ArgumentKind::context:
            if (value.kind != Kind::context || !value.scalar.is_constant() || value.scalar.value() != 0)
                return argument_refusal(called, argument, "the program's context", "pass ctx as the program got it");
            return std::nullopt;
        case ArgumentKind::stack_buffer:
            if (value.kind != Kind::stack)
                return argument_refusal(called, argument, "a pointer to a variable",
                                        "pass a local variable's address: &value");
            return std::nullopt;
        case ArgumentKind::stack_word:
            if (value.kind != Kind::stack)
                return argument_refusal(called, argument, "a pointer to a 64-bit variable",
                                        "pass the address of a local __u64: &value");
            return std::nullopt;
        case ArgumentKind::constant:
            return check_constant(scene, called, argument, value);
        case ArgumentKind::scalar:
            return check_number(scene, value, "passed to a helper");
    }
    return std::nullopt;
}

Verdict check_update(const Scene& scene) {
    const MapDefinition& map = scene.map(scene.state.get(1).map);
    if (!map.per_sm())
        return std::nullopt;
    Refusal refusal;
    refusal.code = "EGPU-V015";
    refusal.message = fmt::format("a value is stored in the per-SM map '{}'", map.name);
    refusal.why =
        "its copies, one for each SM, are added up when read: what is stored by one would be added to the others";
    refusal.fix = "count with __sync_fetch_and_add, or use BPF_MAP_TYPE_HASH or BPF_MAP_TYPE_ARRAY";
    return refusal;
}

}  // namespace

Verdict check_helper(const Scene& scene, const Helper*& called) {
    const auto number = static_cast<std::uint32_t>(scene.instruction().immediate);
    called = helper(number);
    if (called == nullptr)
        return unknown_helper(scene, number);
    if (auto refusal = check_event(scene, *called))
        return refusal;
    if (auto refusal = check_lanes(scene, *called))
        return refusal;
    for (unsigned argument = 0; argument < called->arguments.size(); ++argument) {
        if (called->arguments[argument] == ArgumentKind::none)
            continue;
        if (called->arguments[argument] == ArgumentKind::printed && argument - 2 >= numbers_printed(scene))
            continue;
        if (auto refusal = check_readable(scene, argument + 1))
            return called->arguments[argument] == ArgumentKind::printed ? too_few_printed(scene, *called, argument - 2)
                                                                        : refusal;
        if (auto refusal = check_argument(scene, *called, argument))
            return refusal;
        if (called->prints() && argument == 1)
            if (auto refusal = check_text(scene, *called))
                return refusal;
    }
    return called->id == HelperId::map_update_elem ? check_update(scene) : std::nullopt;
}

MemoryAccess argument_access(const Scene& scene, const Helper& called, unsigned argument) {
    MemoryAccess access;
    access.pointer = scene.state.get(argument + 1);
    access.register_name = fmt::format("r{}", argument + 1);
    switch (called.arguments[argument]) {
        case ArgumentKind::map_key:
            access.is_key = true;
            access.bytes = scene.map(scene.state.get(1).map).key_bytes;
            break;
        case ArgumentKind::map_value:
            access.bytes = scene.map(scene.state.get(1).map).value_bytes;
            break;
        case ArgumentKind::map_word:
            access.kind = AccessKind::atomic;
            access.bytes = static_cast<std::uint32_t>(scene.state.get(argument + 3).scalar.value());
            break;
        case ArgumentKind::record:
            access.is_record = true;
            access.bytes = static_cast<std::uint32_t>(scene.state.get(argument + 2).scalar.value());
            break;
        case ArgumentKind::stack_buffer:
            access.kind = AccessKind::write;
            access.bytes = static_cast<std::uint32_t>(scene.state.get(argument + 2).scalar.value());
            break;
        case ArgumentKind::stack_word:
            access.kind = AccessKind::write;
            access.bytes = 8;
            break;
        default:
            break;
    }
    return access;
}

}  // namespace egpu::ebpf
