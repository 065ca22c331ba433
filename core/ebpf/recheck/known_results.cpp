// SPDX-License-Identifier: Apache-2.0
#include "ebpf/recheck/known_results.hpp"

#include <algorithm>
#include <vector>

#include "ebpf/recheck/claims.hpp"

namespace egpu::ebpf {
namespace {

constexpr std::int64_t kTooBig = -7, kExists = -17;  // E2BIG, EEXIST (asm-generic/errno-base.h)
constexpr std::uint64_t kNoExist = 1;                // BPF_NOEXIST

Value number(std::int64_t value) {
    return Value::constant(static_cast<std::uint64_t>(value));
}

/// The bytes behind a pointer, where all of them are known.
std::optional<std::vector<std::uint8_t>> known_bytes(const Scene& scene, const Value& pointer, std::uint32_t count) {
    if (!pointer.scalar.is_constant())
        return std::nullopt;
    const auto first = static_cast<std::int64_t>(pointer.scalar.value());
    std::vector<std::uint8_t> bytes;
    if (pointer.kind == Kind::constants) {
        const auto& constants = scene.object.constants;
        if (first < 0 || first + count > static_cast<std::int64_t>(constants.size()))
            return std::nullopt;
        for (std::uint32_t byte = 0; byte < count; ++byte)
            bytes.push_back(std::to_integer<std::uint8_t>(constants[static_cast<std::size_t>(first) + byte]));
        return bytes;
    }
    const bool in_stack = pointer.kind == Kind::stack && pointer.frame < scene.state.frames.size() &&
                          first >= -kStackBytes && first + count <= 0;
    if (!in_stack)
        return std::nullopt;
    for (std::uint32_t byte = 0; byte < count; ++byte) {
        StackFault fault;
        const auto value = scene.state.frames[pointer.frame].stack.read(
            static_cast<std::int32_t>(first) + static_cast<std::int32_t>(byte), 1, fault);
        if (!value || !value->is_constant())
            return std::nullopt;
        bytes.push_back(static_cast<std::uint8_t>(value->scalar.value()));
    }
    return bytes;
}

std::optional<Value> looked_up(const Scene& scene, const SpecializedProgram& program) {
    const auto key = named_key(scene, program);
    if (!key)
        return std::nullopt;
    if (!program.keys[*key].slot)
        return number(0);
    Value found = Value::pointer(Kind::map_value);
    found.map = program.keys[*key].map;
    found.identity = identity_of_key(*key);
    found.made_at = scene.at;
    return found;
}

/// An element of an array is there unless its index is outside; which entries a hash has is known at run time only.
std::optional<Value> updated(const Scene& scene) {
    const MapDefinition& map = scene.map(scene.state.get(1).map);
    const Value flags = scene.state.get(4);
    if (!map.is_array() || !flags.is_constant())
        return std::nullopt;
    if (flags.scalar.value() == kNoExist)
        return number(kExists);
    const auto key = known_bytes(scene, scene.state.get(2), map.key_bytes);
    if (!key || key->size() != 4)
        return std::nullopt;
    std::uint32_t index = 0;
    for (std::uint32_t byte = 0; byte < 4; ++byte)
        index |= std::uint32_t{(*key)[byte]} << (8 * byte);
    return number(index < map.max_entries ? 0 : kTooBig);
}

}  // namespace

std::optional<std::uint32_t> named_key(const Scene& scene, const SpecializedProgram& program) {
    const Value map = scene.state.get(1);
    if (map.kind != Kind::map_object || map.map >= scene.object.maps.size() || program.keys.empty())
        return std::nullopt;
    const auto bytes = known_bytes(scene, scene.state.get(2), scene.map(map.map).key_bytes);
    if (!bytes)
        return std::nullopt;
    const auto key = std::ranges::find_if(
        program.keys, [&](const StaticKey& each) { return each.map == map.map && each.bytes == *bytes; });
    if (key == program.keys.end())
        return std::nullopt;
    return static_cast<std::uint32_t>(key - program.keys.begin());
}

std::optional<Value> known_result(const Scene& scene, const Helper& called, const SpecializedProgram& program) {
    switch (called.id) {
        case HelperId::map_lookup_elem:
        case HelperId::map_lookup_or_init: {
            const auto& claimed = program.facts[scene.at].destination_after;
            const bool is_claimed = claimed.is_constant() || claimed.is_static_element();
            return is_claimed ? looked_up(scene, program) : std::nullopt;
        }
        case HelperId::map_update_elem:
            return scene.state.get(1).kind == Kind::map_object ? updated(scene) : std::nullopt;
        case HelperId::value:  // the verifier lets it stand where there is a value
        case HelperId::bpftime_barrier:
            return number(0);
        case HelperId::lanes_min:
        case HelperId::lanes_max: {
            const Value value = scene.state.get(1);
            return value.is_constant() ? std::optional(value) : std::nullopt;
        }
        default:
            return called.arguments[0] == ArgumentKind::stack_word ? std::optional(number(0)) : std::nullopt;
    }
}

}  // namespace egpu::ebpf
