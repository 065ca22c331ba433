// SPDX-License-Identifier: Apache-2.0
// The first bytes of a file that may be a recording: what can be known before SQLite opens it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace egpu::host {

struct FileBegin {
    std::array<unsigned char, 108> page{};  ///< SQLite's header, and that of the table of tables behind it
    std::size_t bytes = 0;                  ///< that the file has of them

    bool is_database() const;
    /// Of egpu: by its application_id.
    bool is_recording() const;
    /// A database without tables, which is nobody's: an egpu that was killed while it started a recording leaves one.
    bool holds_nothing() const;

private:
    std::uint32_t number_at(std::size_t offset) const;
};

/// None where the file can't be read; errno says why.
std::optional<FileBegin> read_file_begin(const std::string& file);

/// True where a recording may be written over the file: it is one, or holds nothing (no bytes, or no tables).
bool can_become_recording(const std::string& file);

}  // namespace egpu::host
