// SPDX-License-Identifier: Apache-2.0
#include "host/plugins/elf_image.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace egpu::host {
namespace {

#if defined(__x86_64__)
constexpr std::uint16_t kOwnMachine = EM_X86_64;
constexpr std::uint32_t kRelative = R_X86_64_RELATIVE;
constexpr std::uint32_t kSymbolic = R_X86_64_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kOwnMachine = EM_AARCH64;
constexpr std::uint32_t kRelative = R_AARCH64_RELATIVE;
constexpr std::uint32_t kSymbolic = R_AARCH64_ABS64;
#else
#error "egpu runs on x86-64 and AArch64"
#endif

constexpr std::uint64_t kMostText = 4096;
/// Of a table in a file: more is no plugin, and would take its time.
constexpr std::uint64_t kMostEntries = 1'000'000;

std::string machine_name(std::uint16_t machine) {
    return machine == EM_X86_64 ? "x86-64" : machine == EM_AARCH64 ? "AArch64" : fmt::format("machine {}", machine);
}

}  // namespace

ElfImage::ElfImage(std::span<const std::byte> bytes) : bytes_(bytes) {
    read();
}

std::string ElfImage::machine() const {
    return machine_name(machine_);
}
std::string ElfImage::own_machine() {
    return machine_name(kOwnMachine);
}

template <typename T>
bool ElfImage::read_struct(std::uint64_t offset, T* out) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T))
        return false;
    std::memcpy(out, bytes_.data() + offset, sizeof(T));
    return true;
}

void ElfImage::read() {
    Elf64_Ehdr header{};
    if (bytes_.size() < SELFMAG || std::memcmp(bytes_.data(), ELFMAG, SELFMAG) != 0) {
        problem_ = Problem::not_elf;
        return;
    }
    if (!read_struct(0, &header)) {
        problem_ = Problem::cut_off;
        return;
    }
    machine_ = header.e_machine;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || machine_ != kOwnMachine) {
        problem_ = Problem::other_machine;
        return;
    }
    if (header.e_type != ET_DYN || header.e_phentsize != sizeof(Elf64_Phdr)) {
        problem_ = Problem::not_shared;
        return;
    }
    for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        if (!read_struct(header.e_phoff + i * sizeof segment, &segment)) {
            problem_ = Problem::cut_off;
            return;
        }
        if (segment.p_type != PT_LOAD)
            continue;
        if (segment.p_offset > bytes_.size() || bytes_.size() - segment.p_offset < segment.p_filesz) {
            problem_ = Problem::cut_off;
            return;
        }
        segments_.push_back({segment.p_vaddr, segment.p_filesz, segment.p_offset, segment.p_memsz});
    }
    read_sections();
}

void ElfImage::read_sections() {
    Elf64_Ehdr header{};
    read_struct(0, &header);
    std::vector<Elf64_Shdr> sections(header.e_shentsize == sizeof(Elf64_Shdr) ? header.e_shnum : 0);
    for (std::size_t i = 0; i < sections.size(); ++i)
        if (!read_struct(header.e_shoff + i * sizeof(Elf64_Shdr), &sections[i])) {
            problem_ = Problem::cut_off;
            return;
        }
    for (const auto& section : sections) {
        if (section.sh_type == SHT_DYNSYM && section.sh_link < sections.size())
            read_symbols(section.sh_offset, section.sh_size, sections[section.sh_link].sh_offset,
                         sections[section.sh_link].sh_size);
        if (section.sh_type == SHT_RELA)
            read_relocations(section.sh_offset, section.sh_size);
    }
}

void ElfImage::read_symbols(std::uint64_t offset, std::uint64_t bytes, std::uint64_t strings_at,
                            std::uint64_t string_bytes) {
    if (strings_at > bytes_.size() || bytes_.size() - strings_at < string_bytes)
        return;
    const std::string_view strings(reinterpret_cast<const char*>(bytes_.data()) + strings_at, string_bytes);
    const std::uint64_t count = std::min(bytes / sizeof(Elf64_Sym), kMostEntries);
    for (std::uint64_t i = 0; i < count; ++i) {
        Elf64_Sym symbol{};
        if (!read_struct(offset + i * sizeof symbol, &symbol))
            return;
        const bool defined = symbol.st_shndx != SHN_UNDEF;
        symbol_values_.push_back(defined ? symbol.st_value : 0);
        const auto binding = ELF64_ST_BIND(symbol.st_info);
        if (!defined || binding == STB_LOCAL || symbol.st_name >= strings.size() || symbol.st_shndx == SHN_ABS)
            continue;
        const auto name = strings.substr(symbol.st_name);
        exports_[std::string(name.substr(0, name.find('\0')))] = {symbol.st_value, symbol.st_size};
    }
}

void ElfImage::read_relocations(std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t count = std::min(bytes / sizeof(Elf64_Rela), kMostEntries);
    for (std::uint64_t i = 0; i < count; ++i) {
        Elf64_Rela entry{};
        if (!read_struct(offset + i * sizeof entry, &entry))
            return;
        relocations_[entry.r_offset] = {static_cast<std::uint32_t>(ELF64_R_TYPE(entry.r_info)),
                                        static_cast<std::uint32_t>(ELF64_R_SYM(entry.r_info)), entry.r_addend};
    }
}

std::optional<ElfImage::Symbol> ElfImage::exported(std::string_view name) const {
    const auto found = exports_.find(name);
    return found != exports_.end() ? std::optional(found->second) : std::nullopt;
}

std::span<const std::byte> ElfImage::at(std::uint64_t address, std::uint64_t bytes) const {
    for (const auto& segment : segments_)
        if (address >= segment.address && address - segment.address <= segment.bytes &&
            segment.bytes - (address - segment.address) >= bytes)
            return bytes_.subspan(segment.offset + (address - segment.address), bytes);
    return {};
}

std::optional<std::uint64_t> ElfImage::pointer_at(std::uint64_t address) const {
    const auto stored = at(address, sizeof(std::uint64_t));
    if (stored.empty())
        return std::nullopt;
    const auto relocation = relocations_.find(address);
    if (relocation == relocations_.end()) {
        // Nothing to add but where it is loaded: NULL, or packed relative relocations, which keep the address in place.
        std::uint64_t value = 0;
        std::memcpy(&value, stored.data(), sizeof value);
        return value;
    }
    const auto addend = static_cast<std::uint64_t>(relocation->second.addend);
    if (relocation->second.type == kRelative)
        return addend;
    if (relocation->second.type != kSymbolic || relocation->second.symbol >= symbol_values_.size() ||
        symbol_values_[relocation->second.symbol] == 0)
        return std::nullopt;
    return symbol_values_[relocation->second.symbol] + addend;
}

std::optional<std::string> ElfImage::text_at(std::uint64_t address) const {
    std::string text;
    for (; text.size() < kMostText; ++address) {
        const auto one = at(address, 1);
        if (one.empty())
            return std::nullopt;
        if (one[0] == std::byte{0})
            return text;
        text.push_back(static_cast<char>(one[0]));
    }
    return std::nullopt;
}

}  // namespace egpu::host
