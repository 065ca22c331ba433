// SPDX-License-Identifier: Apache-2.0
#include "ebpf/object/btf.hpp"

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include <fmt/format.h>

namespace egpu::ebpf {
namespace {

/// Longest chain of modifiers, arrays and typedefs followed.
constexpr int kDepthLimit = 32;

Diagnostic damaged(std::string_view what) {
    return error("EGPU-B003", fmt::format("the object's BTF is damaged: {}", what),
                 "compile it again with clang -target bpf -g -O2");
}

/// What libbpf takes for granted of the header.
Status check_header(std::span<const std::byte> data) {
    btf_header header;
    if (data.size() < sizeof header)
        return damaged("it is shorter than its header");
    std::memcpy(&header, data.data(), sizeof header);
    if (header.magic != BTF_MAGIC || header.version != BTF_VERSION)
        return damaged("unknown magic number or version");
    if (header.hdr_len != sizeof header)
        return damaged("unknown length of its header");
    const std::uint64_t rest = data.size() - sizeof header;
    const std::uint64_t types_end = std::uint64_t{header.type_off} + header.type_len;
    const std::uint64_t strings_end = std::uint64_t{header.str_off} + header.str_len;
    if (header.type_off % 4 != 0 || types_end > header.str_off || strings_end > rest || header.str_len == 0)
        return damaged("types or strings are outside it");
    return ok();
}

/// libbpf copies the block, so its alignment doesn't matter. What it prints, through a function that is the process's,
/// would come without the file's name.
btf* parse_quietly(std::span<const std::byte> data) {
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    const auto printer = libbpf_set_print(nullptr);
    btf* parsed = btf__new(data.data(), static_cast<std::uint32_t>(data.size()));
    libbpf_set_print(printer);
    return parsed;
}

bool is_modifier(std::uint32_t kind) {
    return kind == BTF_KIND_CONST || kind == BTF_KIND_VOLATILE || kind == BTF_KIND_RESTRICT ||
           kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_TYPE_TAG;
}

}  // namespace

void Btf::Free::operator()(btf* b) const {
    btf__free(b);
}

Result<Btf> Btf::open(std::span<const std::byte> data) {
    if (auto status = check_header(data); !status)
        return status.errors();
    btf* parsed = parse_quietly(data);
    if (parsed == nullptr)
        return damaged("libbpf can't read its types");
    Btf out;
    out.btf_.reset(parsed);
    out.count_ = btf__type_cnt(parsed);
    for (std::uint32_t id = 1; id < out.count_; ++id) {
        const btf_type* type = btf__type_by_id(parsed, id);
        if (type != nullptr && kind(type) == BTF_KIND_DECL_TAG)
            out.tags_.emplace_back(type->type, type);
    }
    std::ranges::stable_sort(out.tags_, {}, [](const auto& tag) { return tag.first; });
    return out;
}

const btf_type* Btf::type(std::uint32_t id) const {
    return id == 0 || id >= count_ ? nullptr : btf__type_by_id(btf_.get(), id);
}

std::string_view Btf::text(std::uint32_t offset) const {
    const char* found = btf__str_by_offset(btf_.get(), offset);
    return found == nullptr ? std::string_view{} : std::string_view(found, strnlen(found, kNameLimit));
}

const btf_type* Btf::strip(std::uint32_t id) const {
    const btf_type* found = type(id);
    for (int depth = 0; found != nullptr && is_modifier(kind(found)); ++depth)
        found = depth < kDepthLimit ? type(found->type) : nullptr;
    return found;
}

std::optional<std::uint32_t> Btf::bytes_of(std::uint32_t id) const {
    std::uint64_t factor = 1;
    for (int depth = 0; depth < kDepthLimit; ++depth) {
        const btf_type* found = strip(id);
        if (found == nullptr)
            return std::nullopt;
        std::uint64_t bytes = 0;
        switch (kind(found)) {
            case BTF_KIND_INT:
            case BTF_KIND_STRUCT:
            case BTF_KIND_UNION:
            case BTF_KIND_ENUM:
            case BTF_KIND_ENUM64:
            case BTF_KIND_FLOAT:
                bytes = found->size;
                break;
            case BTF_KIND_PTR:
                bytes = 8;
                break;
            case BTF_KIND_ARRAY: {
                const auto* array = btf_array(found);
                factor *= array->nelems;  // both below 2^32
                if (factor > UINT32_MAX)
                    return std::nullopt;
                id = array->type;
                continue;
            }
            default:
                return std::nullopt;
        }
        const std::uint64_t total = factor * bytes;
        return total > UINT32_MAX ? std::nullopt : std::optional(static_cast<std::uint32_t>(total));
    }
    return std::nullopt;
}

std::pair<std::uint32_t, std::uint32_t> Btf::place_of(const btf_type* parent, const btf_member& member) {
    if (BTF_INFO_KFLAG(parent->info))
        return {BTF_MEMBER_BIT_OFFSET(member.offset), BTF_MEMBER_BITFIELD_SIZE(member.offset)};
    return {member.offset, 0};
}

std::optional<std::string_view> Btf::tag_of(std::uint32_t id, std::string_view prefix) const {
    const auto target = [](const auto& tag) { return tag.first; };
    for (auto at = std::ranges::lower_bound(tags_, id, {}, target); at != tags_.end() && at->first == id; ++at) {
        const auto text = name(at->second);
        if (btf_decl_tag(at->second)->component_idx == -1 && text.starts_with(prefix))
            return text.substr(prefix.size());
    }
    return std::nullopt;
}

}  // namespace egpu::ebpf
