// SPDX-License-Identifier: Apache-2.0
// The sections and symbols of a 64-bit little-endian ELF file: an executable, a library or a cubin.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "ptx/fatbin/bytes.hpp"

namespace egpu::ptx {

struct ElfSection {
    std::string_view name;
    std::uint32_t type = 0;
    std::uint32_t link = 0;
    std::uint32_t info = 0;
    std::uint64_t size = 0;  ///< as the header says; a section without bytes in the file (NOBITS) has one too
    Bytes data;              ///< empty for NOBITS
};

struct ElfSymbol {
    std::string_view name;
    std::uint8_t type = 0;   ///< low four bits of st_info
    std::uint8_t other = 0;  ///< st_other
    std::uint16_t section = 0;
    std::uint64_t value = 0, size = 0;
};

/// Views into the bytes it was read from, which must outlive it.
struct ElfFile {
    std::uint16_t type = 0;     ///< ET_REL 1, ET_EXEC 2, ET_DYN 3
    std::uint16_t machine = 0;  ///< EM_CUDA 190
    std::uint8_t abi_version = 0;
    std::uint32_t flags = 0;
    std::vector<ElfSection> sections;
    std::vector<ElfSymbol> symbols;  ///< of .symtab, in its order

    const ElfSection* section(std::string_view name) const;
};

inline constexpr std::uint16_t kElfMachineCuda = 190;
inline constexpr std::uint16_t kElfRelocatable = 1;
inline constexpr std::uint8_t kElfSymbolFunction = 2;

bool is_elf(Bytes bytes);

/// EGPU-P103 where a header points outside the bytes or the class is another.
Result<ElfFile> read_elf(Bytes bytes);

}  // namespace egpu::ptx
