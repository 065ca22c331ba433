// SPDX-License-Identifier: Apache-2.0
// Places in the text of a probe set, and errors that quote them (TARGETS E5).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.hpp"

namespace egpu::host {

/// A file as it was read, for quoting.
struct SourceText {
    std::string file;                ///< as it was named
    std::vector<std::string> lines;  ///< without their ends

    /// To be called once the lines are there: makes what follows quick in a long line, such as one of 50,000 patterns.
    void index_long_lines();
    /// Characters before a byte of a line, both from 0.
    std::uint32_t characters_before(std::size_t line, std::size_t byte) const;
    /// The byte at which the character number `column` (from 1) of a line (from 0) begins.
    std::size_t byte_of(std::size_t line, std::uint32_t column) const;

private:
    /// By line: characters before every kStride-th byte, without that of byte 0.
    std::vector<std::vector<std::uint32_t>> strides_;
};

/// Where a value stands. Lines and columns (characters, not bytes) count from 1; line 0: not in a file.
struct Place {
    std::shared_ptr<const SourceText> source;
    std::uint32_t line = 0, column = 0;
    std::uint32_t length = 1;  ///< characters

    std::string text() const;  ///< "gemm.yaml:14:5"
};

/// A value and where it stands.
template <typename T>
struct Placed {
    T value{};
    Place place;
};
using Text = Placed<std::string>;

/// An error at a place: its line is quoted and underlined. Control characters of the file never reach the terminal.
Diagnostic problem_at(const Place& place, std::string_view code, std::string message, std::string hint = {});

/// Characters of a text: bytes that don't continue a UTF-8 sequence.
std::uint32_t characters(std::string_view text);

}  // namespace egpu::host
