// SPDX-License-Identifier: Apache-2.0
// Own reader: libbpf's ELF loader refuses sections it has no program type for, and we never load. Formats: System V
// gABI chapters 4 and 5; eBPF's machine number and relocations: Linux Documentation/bpf/llvm_reloc.rst.
#include "ebpf/object/elf.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#ifndef EM_BPF
#define EM_BPF 247
#endif

namespace egpu::ebpf {
namespace {

Diagnostic damaged(std::string_view what) {
    return error("EGPU-B001", fmt::format("not a readable ELF file: {}", what),
                 "compile it again with clang -target bpf -g -O2");
}

/// bytes[offset, offset + size), nothing where that isn't inside.
std::optional<std::span<const std::byte>> slice(std::span<const std::byte> bytes, std::uint64_t offset,
                                                std::uint64_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset)
        return std::nullopt;
    return bytes.subspan(offset, size);
}

/// A structure copied out of a file, whatever its alignment there.
template <typename T>
T load(std::span<const std::byte> bytes, std::size_t index) {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
}

/// The NUL-terminated text at an offset of a string table, nothing where it isn't ended inside.
std::optional<std::string_view> text_at(std::span<const std::byte> table, std::uint64_t offset) {
    if (offset >= table.size())
        return std::nullopt;
    const auto* begin = reinterpret_cast<const char*>(table.data()) + offset;
    const void* end = std::memchr(begin, 0, table.size() - offset);
    if (end == nullptr)
        return std::nullopt;
    return std::string_view(begin, static_cast<std::size_t>(static_cast<const char*>(end) - begin));
}

Status check_header(const Elf64_Ehdr& header) {
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return damaged("it has no ELF header");
    if (header.e_ident[EI_CLASS] != ELFCLASS64)
        return error("EGPU-B002", "not an eBPF object: it is a 32-bit ELF file",
                     "compile with clang -target bpf -g -O2");
    if (header.e_ident[EI_DATA] != ELFDATA2LSB)
        return error("EGPU-B002", "the eBPF object is big-endian", "compile with -target bpfel");
    if (header.e_machine != EM_BPF)
        return error("EGPU-B002", fmt::format("not an eBPF object: it is for ELF machine {}", header.e_machine),
                     "compile with clang -target bpf -g -O2");
    if (header.e_type != ET_REL)
        return error("EGPU-B002", "not an eBPF object file: it is linked", "pass the .o that clang -c writes");
    if (header.e_shentsize != sizeof(Elf64_Shdr))
        return damaged("its section headers have an unknown size");
    return ok();
}

}  // namespace

bool ElfSection::is_code() const {
    return type == SHT_PROGBITS && (flags & SHF_EXECINSTR) != 0;
}

Result<ElfFile> ElfFile::open(std::span<const std::byte> bytes) {
    ElfFile file;
    if (auto status = file.read_sections(bytes); !status)
        return status.errors();
    for (std::size_t i = 1; i < file.sections_.size(); ++i)
        if (file.sections_[i].type == SHT_SYMTAB)
            if (auto status = file.read_symbols(i); !status)
                return status.errors();
    file.relocations_.resize(file.sections_.size());
    for (std::size_t i = 1; i < file.sections_.size(); ++i)
        if (file.sections_[i].type == SHT_REL || file.sections_[i].type == SHT_RELA)
            if (auto status = file.read_relocations(i); !status)
                return status.errors();
    return file;
}

std::size_t ElfFile::section_named(std::string_view name) const {
    const auto found = std::ranges::find(sections_, name, &ElfSection::name);
    return found == sections_.end() ? 0 : static_cast<std::size_t>(found - sections_.begin());
}

Status ElfFile::read_sections(std::span<const std::byte> bytes) {
    if (bytes.size() < sizeof(Elf64_Ehdr))
        return damaged("it is shorter than an ELF header");
    const auto header = load<Elf64_Ehdr>(bytes, 0);
    if (auto status = check_header(header); !status)
        return status;
    const auto table = slice(bytes, header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
    if (!table || header.e_shnum == 0 || header.e_shstrndx >= header.e_shnum)
        return damaged("its section headers are outside the file");
    const auto names = load<Elf64_Shdr>(*table, header.e_shstrndx);
    const auto name_table = slice(bytes, names.sh_offset, names.sh_size);
    if (!name_table)
        return damaged("its section names are outside the file");
    sections_.resize(header.e_shnum);
    for (std::size_t i = 1; i < sections_.size(); ++i) {
        const auto raw = load<Elf64_Shdr>(*table, i);
        const auto name = text_at(*name_table, raw.sh_name);
        const auto data =
            slice(bytes, raw.sh_offset, raw.sh_type == SHT_NOBITS || raw.sh_type == SHT_NULL ? 0 : raw.sh_size);
        if (!name || !data)
            return damaged(fmt::format("section {} is outside the file", i));
        sections_[i] = {*name,       raw.sh_type, raw.sh_flags, raw.sh_addralign,
                        raw.sh_link, raw.sh_info, *data,        raw.sh_size};
    }
    return ok();
}

Status ElfFile::read_symbols(std::size_t section) {
    if (!symbols_.empty())
        return damaged("it has two symbol tables");
    const auto& table = sections_[section];
    if (table.link == 0 || table.link >= sections_.size() || table.data.size() % sizeof(Elf64_Sym) != 0)
        return damaged("its symbol table is broken");
    const auto names = sections_[table.link].data;
    symbols_.resize(table.data.size() / sizeof(Elf64_Sym));
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
        const auto raw = load<Elf64_Sym>(table.data, i);
        const auto name = raw.st_name == 0 ? std::string_view{} : text_at(names, raw.st_name);
        const bool in_section = raw.st_shndx < SHN_LORESERVE;
        if (!name || (in_section && raw.st_shndx >= sections_.size()))
            return damaged(fmt::format("symbol {} is broken", i));
        symbols_[i] = {*name,
                       raw.st_value,
                       raw.st_size,
                       in_section ? raw.st_shndx : ElfSymbol::kNoSection,
                       static_cast<std::uint8_t>(ELF64_ST_TYPE(raw.st_info)),
                       static_cast<std::uint8_t>(ELF64_ST_BIND(raw.st_info))};
    }
    return ok();
}

Status ElfFile::read_relocations(std::size_t section) {
    const auto& table = sections_[section];
    if (table.info >= sections_.size())
        return damaged(fmt::format("relocations {} belong to no section", table.name));
    const auto& target = sections_[table.info];
    if (!target.is_code() && !target.name.starts_with(".rodata") && !target.name.starts_with(".data"))
        return ok();  // of debug information and BTF: symbols give the same
    if (table.type == SHT_RELA || table.data.size() % sizeof(Elf64_Rel) != 0)
        return damaged(fmt::format("relocations {} have an unknown form", table.name));
    auto& out = relocations_[table.info];
    const std::size_t count = table.data.size() / sizeof(Elf64_Rel);
    out.reserve(out.size() + count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto raw = load<Elf64_Rel>(table.data, i);
        const ElfRelocation relocation{raw.r_offset, static_cast<std::uint32_t>(ELF64_R_SYM(raw.r_info)),
                                       static_cast<std::uint32_t>(ELF64_R_TYPE(raw.r_info))};
        if (relocation.symbol >= symbols_.size() || relocation.offset >= target.bytes)
            return damaged(fmt::format("relocation {} of {} is broken", i, table.name));
        out.push_back(relocation);
    }
    std::ranges::sort(out, {}, &ElfRelocation::offset);
    return ok();
}

}  // namespace egpu::ebpf
