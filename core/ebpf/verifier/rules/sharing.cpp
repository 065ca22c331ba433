// SPDX-License-Identifier: Apache-2.0
// Rules 8 and 16: a map's value is shared by every thread of the GPU. No read-modify-write that isn't atomic, no
// stores into per-SM values (their copies are added up when read), no pointers kept in maps.
#include <fmt/format.h>

#include "ebpf/verifier/rules/rule.hpp"
#include "ebpf/verifier/source/expression.hpp"

namespace egpu::ebpf {
namespace {

/// "t->accesses" where the source says so.
std::string stored_expression(const Scene& scene) {
    const LineInfo* line = scene.program.line_of(scene.at);
    const auto extent = line == nullptr ? std::nullopt : expression_at(line->text, line->column);
    return extent ? line->text.substr(extent->column - 1, extent->length) : std::string();
}

Refusal read_modify_write(const std::string& name, const std::string& expression) {
    Refusal refusal;
    refusal.code = "EGPU-V014";
    refusal.message = fmt::format("{} is read, changed and written back without an atomic",
                                  expression.empty() ? name : fmt::format("'{}'", expression));
    refusal.why = "all threads of the GPU do this at once, on the same value: nearly every update would be lost";
    const std::string value = expression.empty() ? "value" : expression;
    const std::string address = value.starts_with('*') ? value.substr(1) : "&" + value;
    refusal.fix = fmt::format("__sync_fetch_and_add({}, n) instead of {} += n", address, value);
    return refusal;
}

}  // namespace

Verdict check_number(const Scene& scene, const Value& value, const char* use) {
    if (value.kind == Kind::partial_sum) {
        Refusal refusal;
        refusal.code = "EGPU-V015";
        refusal.message = fmt::format("one SM's part of map '{}' is {} here", scene.map(value.map).name, use);
        refusal.why = "a per-SM map has a copy for each SM, added up when it is read: one part alone means nothing";
        refusal.fix = "use BPF_MAP_TYPE_HASH or BPF_MAP_TYPE_ARRAY for values that the program reads";
        return refusal;
    }
    if (!value.is_pointer())
        return std::nullopt;
    Refusal refusal;
    refusal.code = "EGPU-V020";
    refusal.message = fmt::format("a pointer is {} here", use);
    refusal.why = "addresses must not leave the program, and mean nothing outside it";
    refusal.fix = "use what it points to";
    return refusal;
}

Verdict check_update_source(const Scene& scene, std::uint32_t map, const Scalar& content) {
    if ((content.loaded_from & map_bit(map)) == 0)
        return std::nullopt;
    return read_modify_write(fmt::format("the value of map '{}'", scene.map(map).name), {});
}

Verdict check_shared_store(const Scene& scene, const MemoryAccess& access, const Value& stored) {
    const MapDefinition& map = scene.map(access.pointer.map);
    const bool from_itself = (stored.is_scalar() && (stored.scalar.loaded_from & map_bit(access.pointer.map)) != 0) ||
                             (stored.kind == Kind::partial_sum && stored.map == access.pointer.map);
    if (from_itself)
        return read_modify_write(name_of(scene, access.pointer), stored_expression(scene));
    if (auto refusal = check_number(scene, stored, "stored in a map"))
        return refusal;
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

}  // namespace egpu::ebpf
