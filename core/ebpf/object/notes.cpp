// SPDX-License-Identifier: Apache-2.0
// .BTF.ext: source lines and CO-RE relocations, by section (Linux Documentation/bpf/btf.rst section 4.2, libbpf's
// struct btf_ext_header for the part added later).
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ebpf/object/source.hpp"

namespace egpu::ebpf {
namespace {

struct Header {
    std::uint16_t magic;
    std::uint8_t version, flags;
    std::uint32_t header_bytes;
    std::uint32_t functions_at, functions_bytes;
    std::uint32_t lines_at, lines_bytes;
    std::uint32_t core_at, core_bytes;
};
static_assert(sizeof(Header) == 32);
constexpr std::size_t kHeaderWithoutCore = 24;

// Rows as they stand in the file; a file may have longer ones, whose rest is skipped.
struct LineRow {
    std::uint32_t byte, file, text, line_and_column;  // column in the low 10 bits
};
struct CoreRow {
    std::uint32_t byte, type, access, kind;
};

Diagnostic damaged(std::string_view what) {
    return error("EGPU-B003", fmt::format("the object's .BTF.ext is damaged: {}", what),
                 "compile it again with clang -target bpf -g -O2");
}

/// Takes a little-endian word from the front.
std::optional<std::uint32_t> take(std::span<const std::byte>& data) {
    if (data.size() < 4)
        return std::nullopt;
    std::uint32_t value;
    std::memcpy(&value, data.data(), 4);
    data = data.subspan(4);
    return value;
}

/// Rows of one table. Programs for a GPU have hundreds.
constexpr std::uint32_t kLineLimit = 1u << 18, kCoreLimit = 1u << 14;

/// One table: a row size, then for each section its name, a count, the rows. `add(section name, row)`.
template <typename Row, typename Add>
Status read_table(const Source& source, std::span<const std::byte> data, std::uint32_t limit, Add add) {
    if (data.empty())
        return ok();
    const auto row_bytes = take(data);
    if (!row_bytes || *row_bytes < sizeof(Row) || *row_bytes > 4096 || *row_bytes % 4 != 0)
        return damaged("unknown size of its rows");
    while (!data.empty()) {
        const auto name = take(data), count = take(data);
        if (!name || !count || std::uint64_t{*count} * *row_bytes > data.size())
            return damaged("a table runs out of it");
        if (*count > limit)
            return error("EGPU-B006", "the object has too many source lines or CO-RE relocations");
        limit -= *count;
        const auto section = source.btf.text(*name);
        for (std::uint32_t i = 0; i < *count; ++i) {
            Row row;
            std::memcpy(&row, data.data() + std::size_t{i} * *row_bytes, sizeof row);
            if (row.byte % 8 != 0)
                return damaged("a row is inside an instruction");
            add(section, row);
        }
        data = data.subspan(std::size_t{*count} * *row_bytes);
    }
    return ok();
}

std::optional<std::span<const std::byte>> part(std::span<const std::byte> body, std::uint32_t at, std::uint32_t bytes) {
    if (at > body.size() || bytes > body.size() - at)
        return std::nullopt;
    return body.subspan(at, bytes);
}

SectionNotes& notes_for(Source& source, std::string_view section) {
    const auto found = source.notes.find(section);
    return found != source.notes.end() ? found->second : source.notes.emplace(section, SectionNotes{}).first->second;
}

}  // namespace

Status read_notes(Source& source, std::span<const std::byte> data) {
    Header header{};
    if (data.size() < kHeaderWithoutCore)
        return damaged("it is shorter than its header");
    std::memcpy(&header, data.data(), std::min(data.size(), sizeof header));
    if (header.magic != BTF_MAGIC || header.version != BTF_VERSION)
        return damaged("unknown magic number or version");
    if (header.header_bytes < kHeaderWithoutCore || header.header_bytes > data.size())
        return damaged("unknown length of its header");
    if (header.header_bytes < sizeof header)
        header.core_at = header.core_bytes = 0;
    const auto body = data.subspan(header.header_bytes);
    const auto lines = part(body, header.lines_at, header.lines_bytes);
    const auto core = part(body, header.core_at, header.core_bytes);
    if (!lines || !core)
        return damaged("a table is outside it");
    auto status = read_table<LineRow>(source, *lines, kLineLimit, [&](std::string_view section, const LineRow& row) {
        notes_for(source, section)
            .lines.push_back(
                {row.byte / 8, row.file, row.text, row.line_and_column >> 10, row.line_and_column & 0x3ff});
    });
    if (!status)
        return status;
    status = read_table<CoreRow>(source, *core, kCoreLimit, [&](std::string_view section, const CoreRow& row) {
        notes_for(source, section).core.push_back({row.byte / 8, row.type, row.access, row.kind});
    });
    for (auto& [name, notes] : source.notes) {
        std::ranges::stable_sort(notes.lines, {}, &SourceLine::instruction);
        std::ranges::stable_sort(notes.core, {}, &CoreRelocation::instruction);
    }
    return status;
}

}  // namespace egpu::ebpf
