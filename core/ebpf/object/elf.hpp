// SPDX-License-Identifier: Apache-2.0
// Sections, symbols and relocations of a relocatable eBPF ELF file, every offset checked once, here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace egpu::ebpf {

struct ElfSection {
    std::string_view name;
    std::uint32_t type = 0;
    std::uint64_t flags = 0, alignment = 0;
    std::uint32_t link = 0, info = 0;
    std::span<const std::byte> data;  ///< empty for SHT_NOBITS
    std::uint64_t bytes = 0;          ///< size in memory
    bool is_code() const;
};

struct ElfSymbol {
    std::string_view name;
    std::uint64_t value = 0, bytes = 0;
    std::uint32_t section = 0;  ///< 0: undefined; kNoSection: absolute or common
    std::uint8_t type = 0, binding = 0;
    static constexpr std::uint32_t kNoSection = 0xffffffff;
};

struct ElfRelocation {
    std::uint64_t offset = 0;  ///< byte in the section
    std::uint32_t symbol = 0, type = 0;
};

/// Views into the bytes that it was opened from, which must outlive it.
class ElfFile {
public:
    static Result<ElfFile> open(std::span<const std::byte> bytes);

    const std::vector<ElfSection>& sections() const { return sections_; }
    const std::vector<ElfSymbol>& symbols() const { return symbols_; }
    /// Of a section, ascending by offset; all symbols are inside symbols().
    const std::vector<ElfRelocation>& relocations(std::size_t section) const { return relocations_[section]; }
    /// Index of the first section so named; 0 (the null section) where there is none.
    std::size_t section_named(std::string_view name) const;

private:
    Status read_sections(std::span<const std::byte> bytes);
    Status read_symbols(std::size_t section);
    Status read_relocations(std::size_t section);

    std::vector<ElfSection> sections_;
    std::vector<ElfSymbol> symbols_;
    std::vector<std::vector<ElfRelocation>> relocations_;
};

}  // namespace egpu::ebpf
