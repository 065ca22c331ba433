// SPDX-License-Identifier: Apache-2.0
#include "host/record/file_begin.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "host/record/schema.hpp"

namespace egpu::host {
namespace {

constexpr const char* kMagic = "SQLite format 3";
// Where SQLite keeps them, in big endian.
constexpr std::size_t kPagesOffset = 28, kUserVersionOffset = 60, kIdOffset = 68;
/// Of the table of tables: the kind of its first page, and behind two bytes the number of its rows.
constexpr std::size_t kTablesOffset = 100;
constexpr unsigned char kLeaf = 13;

}  // namespace

std::uint32_t FileBegin::number_at(std::size_t offset) const {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i)
        number = number << 8 | page[offset + i];
    return number;
}

bool FileBegin::is_database() const {
    return bytes != 0 && std::memcmp(page.data(), kMagic, std::strlen(kMagic) + 1) == 0;
}

bool FileBegin::is_recording() const {
    return bytes == page.size() && is_database() && number_at(kIdOffset) == kRecordingId;
}

bool FileBegin::holds_nothing() const {
    return bytes == page.size() && is_database() && number_at(kIdOffset) == 0 && number_at(kUserVersionOffset) == 0 &&
           number_at(kPagesOffset) == 1 && page[kTablesOffset] == kLeaf && page[kTablesOffset + 3] == 0 &&
           page[kTablesOffset + 4] == 0;
}

std::optional<FileBegin> read_file_begin(const std::string& file) {
    std::FILE* const opened = std::fopen(file.c_str(), "rbe");
    if (opened == nullptr)
        return std::nullopt;
    errno = 0;
    FileBegin begin;
    begin.bytes = std::fread(begin.page.data(), 1, begin.page.size(), opened);
    const bool good = std::ferror(opened) == 0;
    std::fclose(opened);
    return good ? std::optional(begin) : std::nullopt;
}

bool can_become_recording(const std::string& file) {
    const auto begin = read_file_begin(file);
    return begin && (begin->bytes == 0 || begin->is_recording() || begin->holds_nothing());
}

}  // namespace egpu::host
