// SPDX-License-Identifier: Apache-2.0
#include "ebpf/object/source.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace egpu::ebpf {
namespace {

/// Larger objects are no eBPF programs; bounds everything that is derived from one.
constexpr std::size_t kFileLimit = std::size_t{32} << 20;

}  // namespace

Result<Source> Source::open(std::span<const std::byte> bytes, const std::string& path) {
    if (bytes.size() > kFileLimit)
        return error("EGPU-B006",
                     fmt::format("the object has {} bytes, more than the {} accepted", bytes.size(), kFileLimit));
    auto elf = ElfFile::open(bytes);
    if (!elf)
        return elf.errors();
    const auto btf_section = elf->section_named(".BTF");
    const bool is_empty =
        std::ranges::none_of(elf->sections(), [](const auto& each) { return each.is_code() && !each.data.empty(); });
    if (btf_section == 0 && is_empty)
        return error("EGPU-B004", "there is no program in it", "a program for a GPU begins with SEC(\"gpu/...\")");
    if (btf_section == 0)
        return error("EGPU-B003", "the object has no BTF", "compile it with -g: clang -target bpf -g -O2");
    auto btf = Btf::open(elf->sections()[btf_section].data);
    if (!btf)
        return btf.errors();
    const auto ext_section = elf->section_named(".BTF.ext");
    const auto ext = elf->sections()[ext_section].data;
    Source source{path, *std::move(elf), *std::move(btf), {}};
    if (ext_section != 0)
        if (auto status = read_notes(source, ext); !status)
            return status.errors();
    return source;
}

const SectionNotes& Source::notes_of(std::string_view section) const {
    static const SectionNotes none;
    const auto found = notes.find(section);
    return found == notes.end() ? none : found->second;
}

LineInfo Source::resolve(const SourceLine& line) const {
    auto file = btf.text(line.file);
    while (file.starts_with("./"))
        file.remove_prefix(2);
    return {line.instruction, std::string(file), line.line, line.column, std::string(btf.text(line.text))};
}

Diagnostic Source::at(Diagnostic diagnostic, std::string_view section, std::uint32_t instruction) const {
    diagnostic.where.file = path;
    const auto& lines = notes_of(section).lines;
    const auto after = std::ranges::upper_bound(lines, instruction, {}, &SourceLine::instruction);
    if (after == lines.begin())
        return diagnostic;
    const LineInfo found = resolve(*(after - 1));
    diagnostic.where = {found.file.empty() ? path : found.file, found.line, found.column, 0};
    if (!found.text.empty())
        diagnostic.quoted.push_back({found.line, found.text, found.column, 0});
    return diagnostic;
}

}  // namespace egpu::ebpf
