// SPDX-License-Identifier: Apache-2.0
// The rules of memory in the order in which a message helps most: is it a pointer, does it stay inside, is it aligned,
// was it set.
#include <cctype>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {
namespace {

Verdict check_bounds(const Scene& scene, const MemoryAccess& access) {
    switch (access.pointer.kind) {
        case Kind::stack:
            return check_stack_bounds(scene, access);
        case Kind::map_value:
            return check_map_value(scene, access);
        case Kind::constants:
            return check_constants(scene, access);
        default:
            return check_context(scene, access);
    }
}

bool reads_stack(const MemoryAccess& access) {
    return access.pointer.kind == Kind::stack && access.kind == AccessKind::read;
}

/// "key" of `lookup(&map, &key)`, where the line says so.
std::string name_passed(const Scene& scene, const MemoryAccess& access, const std::string& otherwise) {
    const LineInfo* line = scene.program.line_of(scene.at);
    const std::string text = line == nullptr ? std::string() : line->text;
    std::vector<std::string> names;  // the map's, the key's, the value's
    for (auto at = text.find('&'); at != std::string::npos; at = text.find('&', at + 1)) {
        std::size_t end = at + 1;
        while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
            ++end;
        if (end > at + 1)
            names.push_back(text.substr(at + 1, end - at - 1));
    }
    const std::size_t place = access.is_key || access.is_record ? 1 : 2;
    return place < names.size() ? names[place] : otherwise;
}

Refusal not_wholly_set(const Scene& scene, const MemoryAccess& access, std::int32_t byte) {
    const Helper* called = called_helper(scene.instruction());
    const std::string whose = access.is_key ? "key" : access.is_record ? "record" : "value";
    Refusal refusal;
    refusal.code = "EGPU-V003";
    refusal.message = fmt::format("the {} passed to {} is not wholly set: byte {} of its bytes 0 to {} never was",
                                  whose, called->name, byte, access.bytes - 1);
    refusal.subject = name_passed(scene, access, {});
    refusal.why = access.is_record
                      ? fmt::format(
                            "all {} bytes of it are sent, those between members too (padding); the stack isn't "
                            "zeroed",
                            access.bytes)
                      : fmt::format(
                            "a {} of map '{}' has {} bytes, and all count, those between members too (padding); "
                            "the stack isn't zeroed",
                            whose, scene.map(scene.state.get(1).map).name, access.bytes);
    refusal.fix = fmt::format(
        "__builtin_memset(&{0}, 0, sizeof({0})) before its members are set, or give the padding a member of its own",
        name_passed(scene, access, whose));
    return refusal;
}

/// A variable at the stack's end that is smaller than what the map takes.
Refusal too_short(const Scene& scene, const MemoryAccess& access, std::int64_t bytes) {
    const Helper* called = called_helper(scene.instruction());
    const std::string whose = access.is_key ? "key" : access.is_record ? "record" : "value";
    Refusal refusal;
    refusal.code = "EGPU-V004";
    refusal.message = fmt::format("the {} passed to {} is too short", whose, called->name);
    refusal.subject = name_passed(scene, access, {});
    if (access.is_record) {
        refusal.why =
            fmt::format("{} bytes are to be sent; from here to the end of the stack there are {}", access.bytes, bytes);
        refusal.fix = "pass the size of the variable: sizeof(event)";
        return refusal;
    }
    refusal.why = fmt::format("a {} of map '{}' has {} bytes; from here to the end of the stack there are {}", whose,
                              scene.map(scene.state.get(1).map).name, access.bytes, bytes);
    refusal.fix = fmt::format("pass a variable of the map's {} type", whose);
    return refusal;
}

}  // namespace

Verdict check_access(const Scene& scene, const MemoryAccess& access) {
    if (auto refusal = check_dereference(scene, access))
        return refusal;
    if (auto refusal = check_bounds(scene, access))
        return refusal;
    if (auto refusal = check_alignment(scene, access))
        return refusal;
    return reads_stack(access) ? check_stack_read(scene, access) : std::nullopt;
}

/// A helper copies `bytes` as words where their number allows it: so much must the memory be aligned.
static std::uint32_t copy_alignment(std::uint32_t bytes) {
    return bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
}

Verdict check_argument_access(const Scene& scene, const MemoryAccess& access) {
    if (access.kind == AccessKind::atomic)
        return check_access(scene, access);
    if (auto refusal = check_dereference(scene, access))
        return refusal;
    const Span span = span_of(access);
    const bool starts_inside = span.exact && span.first >= -kStackBytes && span.first < 0;
    if (reads_stack(access) && starts_inside && span.end > 0)
        return too_short(scene, access, -span.first);
    if (auto refusal = check_bounds(scene, access))
        return refusal;
    MemoryAccess word = access;
    word.bytes = copy_alignment(access.bytes);
    if (auto refusal = check_alignment(scene, word))
        return refusal;
    if (!reads_stack(access))
        return std::nullopt;
    const auto fault = scene.state.frames[access.pointer.frame].stack.first_fault(
        static_cast<std::int32_t>(span.first), static_cast<std::int32_t>(span.end - span.first));
    if (!fault)
        return std::nullopt;
    if (!fault->pointer)
        return not_wholly_set(scene, access, fault->byte - static_cast<std::int32_t>(span.first));
    if (fault->value.kind == Kind::partial_sum)
        return check_number(scene, fault->value, "part of a key, value or record passed to a helper");
    Refusal refusal;
    refusal.code = "EGPU-V020";
    refusal.message = "a pointer is part of a key, value or record passed to a helper here";
    refusal.why = "addresses differ from run to run and mean nothing outside the program";
    refusal.fix = "use what it points to";
    return refusal;
}

}  // namespace egpu::ebpf
