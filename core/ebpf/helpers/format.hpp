// SPDX-License-Identifier: Apache-2.0
// The texts of bpf_printk: what they ask for, and what they come to with numbers in them. Of Linux's conversions
// (Documentation/core-api/printk-formats.rst) those for numbers: %d %i %u %x %X %o %c %p, h, hh, l or ll before them,
// flags and a width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace egpu::ebpf {

struct Format {
    struct Piece {
        std::string text;         ///< as it stands, or of a number "%08ll" and its conversion, for printf
        char conversion = 0;      ///< 'd', 'u', 'x', 'X', 'o', 'c'; 0: no number
        std::uint32_t bytes = 8;  ///< of the number
    };
    std::vector<Piece> pieces;
    std::size_t numbers = 0;  ///< that it prints
    std::string problem;      ///< "%s prints no number"; "" for a text that can be printed
};

/// A text with or without its NUL.
Format read_format(std::string_view text);

/// The text with its numbers, without the line end that it may have; numbers that are missing are "?".
std::string printed_text(const Format& format, std::span<const std::uint64_t> numbers);

}  // namespace egpu::ebpf
