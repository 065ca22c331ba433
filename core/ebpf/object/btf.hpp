// SPDX-License-Identifier: Apache-2.0
// The BTF of an object (Linux Documentation/bpf/btf.rst), parsed by libbpf and read here with every id and depth
// checked.
#pragma once

#include <linux/btf.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

struct btf;

namespace egpu::ebpf {

/// Names are cut there: nothing that egpu prints needs more, and a hostile file could repeat a long one for ever.
inline constexpr std::size_t kNameLimit = 256;

class Btf {
public:
    /// Copies what it needs of `data` (.BTF).
    static Result<Btf> open(std::span<const std::byte> data);

    std::uint32_t count() const { return count_; }
    /// nullptr for an id outside the table (0 is void).
    const btf_type* type(std::uint32_t id) const;
    static std::uint32_t kind(const btf_type* type) { return BTF_INFO_KIND(type->info); }
    static std::uint32_t elements(const btf_type* type) { return BTF_INFO_VLEN(type->info); }
    /// "" for an offset outside the strings; at most kNameLimit long.
    std::string_view text(std::uint32_t offset) const;
    std::string_view name(const btf_type* type) const { return text(type->name_off); }

    template <typename T>
    static std::span<const T> rows(const btf_type* type) {
        return {reinterpret_cast<const T*>(type + 1), elements(type)};
    }
    /// Past const, volatile, restrict, typedef and type tags; nullptr for void, bad ids and chains without an end.
    const btf_type* strip(std::uint32_t id) const;
    /// Bytes of a type; nothing for what has no size and for what is larger than 4 GiB.
    std::optional<std::uint32_t> bytes_of(std::uint32_t id) const;
    /// Bit offset of a member, and the size of its bit field (0: none).
    static std::pair<std::uint32_t, std::uint32_t> place_of(const btf_type* parent, const btf_member& member);
    /// The declaration tag of a variable that begins with `prefix`, without it.
    std::optional<std::string_view> tag_of(std::uint32_t id, std::string_view prefix) const;

private:
    struct Free {
        void operator()(btf* b) const;
    };
    std::unique_ptr<btf, Free> btf_;
    std::uint32_t count_ = 0;
    std::vector<std::pair<std::uint32_t, const btf_type*>> tags_;  // by the id they stand at
};

}  // namespace egpu::ebpf
