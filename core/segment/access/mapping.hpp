// SPDX-License-Identifier: Apache-2.0
// Mapping: an existing segment, opened by name, mapped and checked. Closing it unmaps it and removes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "segment/access/view.hpp"

namespace egpu::segment {

/// "egpu-1000-4711": the only names that are opened; nothing with a slash, nothing long.
bool is_segment_name(std::string_view name);
inline constexpr std::size_t kLongestName = 64;

enum class Writable : bool { no, yes };

class Mapping {
public:
    Mapping() = default;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    Mapping(Mapping&& other) noexcept { *this = static_cast<Mapping&&>(other); }
    Mapping& operator=(Mapping&& other) noexcept;
    ~Mapping() { close(); }

    /// Opens a segment of this user. On an error the mapping stays closed. `build_id` as in View::open.
    AccessError open(std::string_view name, Writable writable, std::uint64_t build_id);
    void close();
    /// Removes the name, but only while it is the object that was opened (another one may have taken the name).
    bool unlink() const;

    const View& view() const { return view_; }
    /// View::refresh
    void refresh() { view_.refresh(); }
    std::string_view name() const { return {name_ + 1, name_length_}; }

private:
    AccessError map(int file, Writable writable, std::uint64_t build_id);

    View view_;
    void* base_ = nullptr;
    std::size_t bytes_ = 0;
    std::uint64_t device_ = 0, inode_ = 0;
    char name_[kLongestName + 2] = "/";  // as shm_open wants it
    std::size_t name_length_ = 0;
};

}  // namespace egpu::segment
