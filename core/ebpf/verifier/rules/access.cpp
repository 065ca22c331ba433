// SPDX-License-Identifier: Apache-2.0
// The rules of memory in the order in which a message helps most: is it a pointer, does it stay inside, is it aligned,
// was it set.
#include <cctype>
#include <string>

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
std::string name_passed(const Scene& scene, const std::string& otherwise) {
    const LineInfo* line = scene.program.line_of(scene.at);
    const auto at = line == nullptr ? std::string::npos : line->text.rfind('&');
    if (at == std::string::npos)
        return otherwise;
    std::size_t end = at + 1;
    while (end < line->text.size() &&
           (std::isalnum(static_cast<unsigned char>(line->text[end])) || line->text[end] == '_'))
        ++end;
    return end == at + 1 ? otherwise : line->text.substr(at + 1, end - at - 1);
}

Refusal not_wholly_set(const Scene& scene, const MemoryAccess& access, std::int32_t byte) {
    const Helper* called = helper(static_cast<std::uint32_t>(scene.instruction().immediate));
    const std::string whose = access.is_key ? "key" : "value";
    Refusal refusal;
    refusal.code = "EGPU-V003";
    refusal.message = fmt::format("the {} passed to {} is not wholly set: byte {} of its bytes 0 to {} never was",
                                  whose, called->name, byte, access.bytes - 1);
    refusal.subject = name_passed(scene, {});
    refusal.why = "all of its bytes count, those between members too (padding); the stack isn't zeroed";
    refusal.fix = fmt::format(
        "__builtin_memset(&{0}, 0, sizeof({0})) before its members are set, or give the padding a member of its own",
        name_passed(scene, whose));
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
    if (auto refusal = check_dereference(scene, access))
        return refusal;
    if (auto refusal = check_bounds(scene, access))
        return refusal;
    MemoryAccess word = access;
    word.bytes = copy_alignment(access.bytes);
    if (auto refusal = check_alignment(scene, word))
        return refusal;
    if (!reads_stack(access))
        return std::nullopt;
    const Span span = span_of(access);
    const auto fault = scene.state.frames[access.pointer.frame].stack.first_fault(
        static_cast<std::int32_t>(span.first), static_cast<std::int32_t>(span.end - span.first));
    if (!fault)
        return std::nullopt;
    if (!fault->pointer)
        return not_wholly_set(scene, access, fault->byte - static_cast<std::int32_t>(span.first));
    if (fault->value.kind == Kind::partial_sum)
        return check_number(scene, fault->value, "part of a key or value passed to a helper");
    Refusal refusal;
    refusal.code = "EGPU-V020";
    refusal.message = "a pointer is part of a key or value passed to a helper here";
    refusal.why = "addresses differ from run to run and mean nothing outside the program";
    refusal.fix = "use what it points to";
    return refusal;
}

}  // namespace egpu::ebpf
