// SPDX-License-Identifier: Apache-2.0
// Records that leave the GPU: what bpf_ringbuf_output appends to a ring buffer, and what bpf_printk prints.
#include <fmt/format.h>

#include "ebpf/helpers/format.hpp"
#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {
namespace {

constexpr std::uint64_t kLongestText = 1024;  ///< bytes with its NUL
constexpr std::uint64_t kMostNumbers = 12;    ///< as on Linux (MAX_BPRINTF_VARARGS)

Refusal wrong(const Helper& called, std::string message, std::string fix) {
    Refusal refusal;
    refusal.code = "EGPU-V018";
    refusal.message = std::move(message);
    refusal.why = called.summary;
    refusal.fix = std::move(fix);
    return refusal;
}

/// The bytes of a text in the object's constants; nothing where the arguments name none.
std::optional<std::string_view> printed_text(const Scene& scene) {
    const Value text = scene.state.get(1), size = scene.state.get(2);
    if (text.kind != Kind::constants || !text.scalar.is_constant() || !size.is_constant())
        return std::nullopt;
    const std::uint64_t first = text.scalar.value(), bytes = size.scalar.value(), all = scene.object.constants.size();
    if (first > all || bytes > all - first || bytes == 0 || bytes > kLongestText)
        return std::nullopt;
    return text_at(scene.object, first, bytes);
}

Verdict check_numbers(const Helper& called, const Format& format, std::uint64_t passed) {
    if (format.numbers == passed)
        return std::nullopt;
    return wrong(called,
                 fmt::format("the text of bpf_printk prints {} numbers, and {} are passed", format.numbers, passed),
                 "pass a number for each % of the text");
}

}  // namespace

Verdict check_ring(const Scene& scene, const Helper& called) {
    const Value ring = scene.state.get(1);
    if (ring.kind == Kind::map_object && scene.map(ring.map).is_ring())
        return std::nullopt;
    return wrong(called, fmt::format("argument 1 of {} must be a ring buffer of this object", called.name),
                 "define one with __uint(type, BPF_MAP_TYPE_RINGBUF) and __uint(max_entries, 65536), and pass its "
                 "address");
}

Verdict check_record_size(const Scene& scene, const Helper& called, const Value& size) {
    const MapDefinition& ring = scene.map(scene.state.get(1).map);
    const std::uint64_t bytes = size.is_constant() ? size.scalar.value() : 0;
    if (bytes == 0 || bytes > kLargestRecord)
        return wrong(called, fmt::format("a record's size must be a constant of 1 to {} bytes", kLargestRecord),
                     "send a variable with its size: bpf_ringbuf_output(&ring, &event, sizeof(event), 0)");
    if (ring.value_bytes == 0 || ring.value_bytes == bytes)
        return std::nullopt;
    return wrong(
        called,
        fmt::format("a record of {} bytes goes to ring buffer '{}', whose records have {}", bytes, ring.name,
                    ring.value_bytes),
        fmt::format("send a variable of the type that '{}' names as its value, or leave that type out", ring.name));
}

Verdict check_text(const Scene& scene, const Helper& called) {
    const auto text = printed_text(scene);
    if (!text)
        return wrong(
            called,
            fmt::format("the text of bpf_printk must be a constant of at most {} bytes, with its size", kLongestText),
            "bpf_printk(\"sector %d\", sector) passes both");
    const Format format = read_format(*text);
    if (!format.problem.empty()) {
        Refusal refusal = wrong(called, fmt::format("the text of bpf_printk: {}", format.problem),
                                "print numbers: %d %i %u %x %X %o %c %p, with l or ll before them for 64 bits");
        refusal.why = "it is made on the host, of a constant text and the numbers that the call sends";
        return refusal;
    }
    if (called.id == HelperId::trace_printk && format.numbers > 3)
        return check_numbers(called, format, 3);
    return std::nullopt;
}

std::size_t numbers_printed(const Scene& scene) {
    const auto text = printed_text(scene);
    return text ? read_format(*text).numbers : 0;
}

Refusal too_few_printed(const Scene& scene, const Helper& called, std::size_t passed) {
    return *check_numbers(called, read_format(printed_text(scene).value_or("")), passed);
}

Verdict check_printed_bytes(const Scene& scene, const Helper& called, const Value& size) {
    const std::uint64_t bytes = size.is_constant() ? size.scalar.value() : 1;
    if (bytes % 8 != 0 || bytes > kMostNumbers * 8)
        return wrong(called, fmt::format("bpf_printk prints at most {} numbers of 8 bytes", kMostNumbers),
                     "print the others in a line of their own");
    return check_numbers(called, read_format(printed_text(scene).value_or("")), bytes / 8);
}

}  // namespace egpu::ebpf
