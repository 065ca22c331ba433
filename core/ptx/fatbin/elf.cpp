// SPDX-License-Identifier: Apache-2.0
// Layout: System V ABI, chapters 4 and 5 (ELF-64 object file format).
#include "ptx/fatbin/elf.hpp"

#include <fmt/format.h>

namespace egpu::ptx {
namespace {

constexpr std::uint64_t kHeaderBytes = 64, kSectionHeaderBytes = 64, kSymbolBytes = 24;
constexpr std::uint32_t kTypeSymbols = 2, kTypeNoBits = 8;
constexpr std::uint16_t kExtendedIndex = 0xffff;

Diagnostic bad_elf(std::string what) {
    return error("EGPU-P103", "a damaged ELF file: " + std::move(what));
}

/// Where the section headers are; count and name table may stand in section 0 where they need over 16 bits.
struct Table {
    Bytes headers;
    std::uint64_t count = 0;
    std::uint64_t names = 0;
};

std::optional<Table> section_table(Bytes bytes) {
    const auto offset = read_at<std::uint64_t>(bytes, 0x28);
    Table table;
    table.count = read_at<std::uint16_t>(bytes, 0x3c);
    table.names = read_at<std::uint16_t>(bytes, 0x3e);
    if (offset == 0)
        return table;
    const auto first = part_of(bytes, offset, kSectionHeaderBytes);
    if (!first || read_at<std::uint16_t>(bytes, 0x3a) != kSectionHeaderBytes)
        return std::nullopt;
    if (table.count == 0)
        table.count = read_at<std::uint64_t>(*first, 0x20);
    if (table.names == kExtendedIndex)
        table.names = read_at<std::uint32_t>(*first, 0x28);
    if (table.count > bytes.size() / kSectionHeaderBytes)
        return std::nullopt;
    const auto headers = part_of(bytes, offset, table.count * kSectionHeaderBytes);
    if (!headers)
        return std::nullopt;
    table.headers = *headers;
    return table;
}

/// Sections that have a size and no bytes in the file. In relocatable cubins uninitialised global (7), local (9),
/// shared (10) and reserved shared memory (21) have types of NVIDIA's own.
bool has_no_bytes(std::uint32_t type, bool cuda) {
    constexpr std::uint32_t kProcessor = 0x70000000;
    return type == 0 || type == kTypeNoBits ||
           (cuda &&
            (type == kProcessor + 7 || type == kProcessor + 9 || type == kProcessor + 10 || type == kProcessor + 21));
}

std::optional<ElfSection> read_section(Bytes bytes, Bytes header, bool cuda) {
    ElfSection section;
    section.type = read_at<std::uint32_t>(header, 4);
    section.size = read_at<std::uint64_t>(header, 0x20);
    section.link = read_at<std::uint32_t>(header, 0x28);
    section.info = read_at<std::uint32_t>(header, 0x2c);
    if (has_no_bytes(section.type, cuda))
        return section;
    const auto data = part_of(bytes, read_at<std::uint64_t>(header, 0x18), section.size);
    if (!data)
        return std::nullopt;
    section.data = *data;
    return section;
}

void read_symbols(ElfFile& file, const ElfSection& table) {
    const Bytes names = table.link < file.sections.size() ? file.sections[table.link].data : Bytes();
    for (std::uint64_t at = 0; at + kSymbolBytes <= table.data.size(); at += kSymbolBytes) {
        ElfSymbol symbol;
        symbol.name = text_at(names, read_at<std::uint32_t>(table.data, at));
        symbol.type = read_at<std::uint8_t>(table.data, at + 4) & 0xf;
        symbol.other = read_at<std::uint8_t>(table.data, at + 5);
        symbol.section = read_at<std::uint16_t>(table.data, at + 6);
        symbol.value = read_at<std::uint64_t>(table.data, at + 8);
        symbol.size = read_at<std::uint64_t>(table.data, at + 16);
        file.symbols.push_back(symbol);
    }
}

}  // namespace

const ElfSection* ElfFile::section(std::string_view name) const {
    for (const ElfSection& section : sections)
        if (section.name == name)
            return &section;
    return nullptr;
}

bool is_elf(Bytes bytes) {
    return as_text(bytes).starts_with("\177ELF");
}

Result<ElfFile> read_elf(Bytes bytes) {
    if (!is_elf(bytes) || bytes.size() < kHeaderBytes)
        return bad_elf("its header is cut off");
    if (read_at<std::uint8_t>(bytes, 4) != 2 || read_at<std::uint8_t>(bytes, 5) != 1)
        return error("EGPU-P103", "an ELF file that is not 64-bit and little-endian",
                     "egpu reads images for 64-bit devices only");
    ElfFile file;
    file.abi_version = read_at<std::uint8_t>(bytes, 8);
    file.type = read_at<std::uint16_t>(bytes, 0x10);
    file.machine = read_at<std::uint16_t>(bytes, 0x12);
    file.flags = read_at<std::uint32_t>(bytes, 0x30);
    const auto table = section_table(bytes);
    if (!table)
        return bad_elf("its section headers lie outside the file");
    for (std::uint64_t i = 0; i < table->headers.size() / kSectionHeaderBytes; ++i) {
        auto section = read_section(bytes, table->headers.subspan(i * kSectionHeaderBytes, kSectionHeaderBytes),
                                    file.machine == kElfMachineCuda);
        if (!section)
            return bad_elf(fmt::format("section {} lies outside the file", i));
        file.sections.push_back(*section);
    }
    const Bytes names = table->names < file.sections.size() ? file.sections[table->names].data : Bytes();
    for (std::size_t i = 0; i < file.sections.size(); ++i)
        file.sections[i].name = text_at(names, read_at<std::uint32_t>(table->headers, i * kSectionHeaderBytes));
    for (const ElfSection& section : file.sections) {
        if (section.type != kTypeSymbols)
            continue;
        read_symbols(file, section);
        break;
    }
    return file;
}

}  // namespace egpu::ptx
