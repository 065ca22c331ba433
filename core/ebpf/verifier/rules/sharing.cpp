// SPDX-License-Identifier: Apache-2.0
// Rules 8 and 16: a map's value is shared by every thread of the GPU. No read-modify-write that isn't atomic, no
// stores into per-SM values (their copies are added up when read), no pointers kept in maps.
#include <fmt/format.h>

#include <string_view>

#include "ebpf/verifier/rules/rule.hpp"
#include "ebpf/verifier/source/expression.hpp"

namespace egpu::ebpf {

std::string stored_expression(const Scene& scene) {
    const LineInfo* line = scene.program.line_of(scene.at);
    const auto extent = line == nullptr ? std::nullopt : expression_at(line->text, line->column);
    return extent ? line->text.substr(extent->column - 1, extent->length) : std::string();
}

std::string address_of(const std::string& expression) {
    return expression.starts_with('*') ? expression.substr(1) : "&" + expression;
}

namespace {

/// An update in one expression, and the atomic that does it; "" where only a compare-and-exchange can.
struct Update {
    std::string_view written;
    const char* atomic;
};
constexpr Update kUpdates[] = {
    {"++", "add"}, {"--", "sub"}, {"+=", "add"}, {"-=", "sub"}, {"|=", "or"}, {"&=", "and"},
    {"^=", "xor"}, {"*=", ""},    {"/=", ""},    {"%=", ""},    {"<<=", ""},  {">>=", ""},
};

/// The update that the source line writes; += where there is no source.
const Update* update_in_place(const Scene& scene) {
    const LineInfo* line = scene.program.line_of(scene.at);
    if (line == nullptr || line->text.empty())
        return &kUpdates[2];
    for (const Update& update : kUpdates)
        if (line->text.find(update.written) != std::string::npos)
            return &update;
    return nullptr;
}

constexpr const char* kTryInLoop =
    "else __sync_val_compare_and_swap in a loop with a small bound, which is approximate";

/// "previous" of "r->previous".
std::string member_of(const std::string& expression) {
    const auto behind = expression.find_last_of(".>");
    return behind == std::string::npos ? expression : expression.substr(behind + 1);
}

/// `__sync_fetch_and_add(&t->n, n) instead of t->n += n`, and what must be changed for that to be possible.
std::string atomic_instead(const Update& update, const MapDefinition& map, std::uint32_t bytes,
                           const std::string& value, const std::string& address) {
    const bool adds = update.atomic == std::string_view("add") || update.atomic == std::string_view("sub");
    std::string fix;
    if (bytes < 4)
        fix = "make it a __u32 or __u64; ";
    if (map.per_sm() && !adds)
        fix += "use BPF_MAP_TYPE_HASH or BPF_MAP_TYPE_ARRAY, since a per-SM map only adds up; ";
    const bool counts = update.written == "++" || update.written == "--";
    const std::string written = counts ? std::string(update.written) : fmt::format(" {} n", update.written);
    if (*update.atomic == '\0')
        return fix + "__sync_val_compare_and_swap in a loop with a small bound, which is approximate";
    return fix + fmt::format("__sync_fetch_and_{}({}, {}) instead of {}{}", update.atomic, address, counts ? "1" : "n",
                             value, written);
}

Refusal read_modify_write(const Scene& scene, std::uint32_t map, const std::string& name, const std::string& expression,
                          std::uint32_t bytes = 8) {
    Refusal refusal;
    refusal.code = "EGPU-V014";
    const std::string what = expression.empty() ? name : fmt::format("'{}'", expression);
    const std::string value = expression.empty() ? "value" : expression;
    const std::string address = address_of(value);
    if (const Update* update = update_in_place(scene)) {
        refusal.message = fmt::format("{} is read, changed and written back without an atomic", what);
        refusal.why = "all threads of the GPU do this at once, on the same value: nearly every update would be lost";
        refusal.fix = atomic_instead(*update, scene.map(map), bytes, value, address);
        return refusal;
    }
    refusal.message =
        fmt::format("{} gets a value made from what map '{}' holds, in two steps", what, scene.map(map).name);
    refusal.why =
        "all threads of the GPU do this at once: what others store between this thread's read and its store is lost";
    refusal.fix =
        fmt::format("{}; {}; a copy of another value belongs in a map of its own", kUpdatesAtOnce, kTryInLoop);
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
    refusal.fix = value.kind == Kind::context ? "store the fields that you need, each by its value"
                                              : "store the number that it points to, or use that";
    return refusal;
}

Verdict check_update_source(const Scene& scene, std::uint32_t map, const Scalar& content) {
    if ((content.loaded_from & map_bit(map)) == 0)
        return std::nullopt;
    return read_modify_write(scene, map, fmt::format("the value of map '{}'", scene.map(map).name), {});
}

Verdict check_exchange(const Scene& scene, const MemoryAccess& access, const Value& stored) {
    if ((stored.scalar.loaded_from & map_bit(access.pointer.map)) == 0)
        return std::nullopt;
    Refusal refusal = read_modify_write(scene, access.pointer.map, name_of(scene, access.pointer), {});
    refusal.message = fmt::format("{} is exchanged for a value made from what it, or another of map '{}', held before",
                                  name_of(scene, access.pointer), scene.map(access.pointer.map).name);
    refusal.why = "the exchange itself is atomic, reading before it is not: what others store between the two is lost";
    refusal.fix = fmt::format("{}; {}", kUpdatesAtOnce, kTryInLoop);
    return refusal;
}

Verdict check_shared_store(const Scene& scene, const MemoryAccess& access, const Value& stored) {
    const MapDefinition& map = scene.map(access.pointer.map);
    const bool from_itself = (stored.is_scalar() && (stored.scalar.loaded_from & map_bit(access.pointer.map)) != 0) ||
                             (stored.kind == Kind::partial_sum && stored.map == access.pointer.map);
    if (from_itself) {
        const std::string expression = stored_expression(scene);
        Refusal refusal =
            read_modify_write(scene, access.pointer.map, name_of(scene, access.pointer), expression, access.bytes);
        const Span span = span_of(access);
        const bool copy = stored.scalar.origin == Origin::map_value && span.exact &&
                          stored.scalar.origin_offset != span.first && !expression.empty();
        if (copy)
            refusal.fix = fmt::format("put '{}' into a map of its own; the two can then be of different moments",
                                      member_of(expression));
        return refusal;
    }
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
