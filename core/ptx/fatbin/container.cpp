// SPDX-License-Identifier: Apache-2.0
// A container is a header of 16 bytes and members; all little-endian, layout as nvcc 13.0 writes it (and 11 and 12 do):
//
//  header  u32 0xBA55ED50, u16 version 1, u16 header bytes, u64 bytes of all that follows
//  member  +0 u16 kind (1 PTX, 2 cubin, 8 LTO-IR)   +4 u32 header bytes   +8 u64 payload, padded to 8
//          +16 u32 compressed bytes, 0 if stored    +20 u32 offset of the option record, 0 if none
//          +28 u32 architecture                     +40 u64 flags         +56 u64 decompressed bytes
//          option record: u32 offset of the text from the member's begin, u32 its length
//
//  flags   0x2000 LZ4 block, 0x8000 Zstd frame, 0x10000 LTO-IR, 0x100000 target 'a', 0x200000 target 'f'
#include "ptx/fatbin/container.hpp"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <limits>

#include "ptx/fatbin/cubin.hpp"

namespace egpu::ptx {
namespace {

constexpr std::uint32_t kMagic = 0xBA55ED50;
constexpr std::uint64_t kHeaderBytes = 16, kMemberHeaderBytes = 64;
constexpr std::uint16_t kKindPtx = 1, kKindCubin = 2;
constexpr std::uint64_t kLz4 = 0x2000, kZstd = 0x8000, kTargetA = 0x100000, kTargetF = 0x200000;

struct Member {
    std::uint16_t kind = 0;
    std::uint32_t architecture = 0;
    std::uint64_t flags = 0;
    std::uint64_t compressed = 0, decompressed = 0;  ///< 0: stored
    Bytes payload;
    std::string_view options;
    std::uint64_t bytes = 0;  ///< with its header

    char suffix() const { return (flags & kTargetA) != 0 ? 'a' : (flags & kTargetF) != 0 ? 'f' : '\0'; }
};

std::string_view options_of(Bytes member) {
    const auto record = read_at<std::uint32_t>(member, 20);
    if (record == 0)
        return {};
    const auto text = part_of(member, read_at<std::uint32_t>(member, record),
                              read_at<std::uint32_t>(member, std::uint64_t{record} + 4));
    return text ? as_text(*text) : std::string_view();
}

std::optional<Member> read_member(Bytes rest) {
    Member member;
    const std::uint64_t header = read_at<std::uint32_t>(rest, 4);
    const auto payload = read_at<std::uint64_t>(rest, 8);
    if (rest.size() < kMemberHeaderBytes || header < kMemberHeaderBytes || !part_of(rest, 0, header))
        return std::nullopt;
    const auto bytes = part_of(rest, header, payload);
    if (!bytes)
        return std::nullopt;
    member.kind = read_at<std::uint16_t>(rest, 0);
    member.architecture = read_at<std::uint32_t>(rest, 28);
    member.flags = read_at<std::uint64_t>(rest, 40);
    member.compressed = read_at<std::uint32_t>(rest, 16);
    member.decompressed = read_at<std::uint64_t>(rest, 56);
    member.payload = *bytes;
    member.options = options_of(rest.first(static_cast<std::size_t>(header)));
    member.bytes = header + payload;
    return member;
}

Diagnostic does_not_decompress(std::size_t index, std::string_view why) {
    return error("EGPU-P104", fmt::format("member {} of the fatbinary does not decompress: {}", index, why));
}

/// LZ4 makes at most 255 bytes of one, so a size above that is a lie; Zstd frames say theirs.
Result<std::vector<std::byte>> decompress(const Member& member, std::size_t index, std::uint64_t& budget) {
    const bool zstd = (member.flags & kZstd) != 0;
    const auto packed = part_of(member.payload, 0, member.compressed);
    if (!packed)
        return does_not_decompress(index, "it is longer than its payload");
    if (member.decompressed > std::numeric_limits<int>::max() || packed->size() > std::numeric_limits<int>::max() ||
        member.decompressed > budget)
        return error("EGPU-P105",
                     fmt::format("member {} of the fatbinary decompresses to {} bytes, more than egpu takes", index,
                                 member.decompressed));
    const bool possible = zstd ? ZSTD_getFrameContentSize(packed->data(), packed->size()) == member.decompressed
                               : member.decompressed / 255 <= packed->size();
    if (!possible)
        return does_not_decompress(index, "its size is not the one that its header says");
    budget -= member.decompressed;
    std::vector<std::byte> out(static_cast<std::size_t>(member.decompressed));
    const std::size_t size =
        zstd ? ZSTD_decompress(out.data(), out.size(), packed->data(), packed->size())
             : static_cast<std::size_t>(LZ4_decompress_safe(
                   reinterpret_cast<const char*>(packed->data()), reinterpret_cast<char*>(out.data()),
                   static_cast<int>(packed->size()), static_cast<int>(out.size())));
    if (size != out.size())  // an error code of either library is another number
        return does_not_decompress(index, "its data is damaged");
    return out;
}

Result<std::vector<std::byte>> contents(const Member& member, std::size_t index, std::uint64_t& budget) {
    if (member.compressed != 0)
        return decompress(member, index, budget);
    if (member.payload.size() > budget)
        return error("EGPU-P105", "the fatbinary holds more than egpu takes");
    budget -= member.payload.size();
    return std::vector<std::byte>(member.payload.begin(), member.payload.end());
}

PtxMember ptx_member(const Member& member, Bytes bytes) {
    PtxMember ptx;
    const std::string_view text = as_text(bytes);
    ptx.text = std::string(text.substr(0, text.find_last_not_of('\0') + 1));  // stored text is padded to 8
    ptx.architecture = member.architecture;
    ptx.suffix = member.suffix();
    constexpr std::string_view kPadding(" \0", 2);
    const std::size_t begin = member.options.find_first_not_of(kPadding);
    if (begin != std::string_view::npos)
        ptx.options = member.options.substr(begin, member.options.find_last_not_of(kPadding) + 1 - begin);
    return ptx;
}

bool has_known_contents(const Member& member) {
    const bool known = member.kind == kKindPtx || member.kind == kKindCubin;
    return known && (member.compressed == 0 || (member.flags & (kLz4 | kZstd)) != 0);
}

Status add_member(Image& image, const Member& member, std::size_t index, std::uint64_t& budget) {
    if (!has_known_contents(member)) {
        ++image.skipped;
        return ok();
    }
    auto bytes = contents(member, index, budget);
    if (!bytes)
        return bytes.errors();
    if (member.kind == kKindPtx) {
        image.ptx.push_back(ptx_member(member, *bytes));
        if (member.options.find("--compile-only") != std::string_view::npos)
            image.relocatable = true;
        return ok();
    }
    auto cubin = read_cubin(*bytes);
    if (!cubin)
        return cubin.errors();
    cubin->member.bytes = std::move(*bytes);
    if (cubin->member.suffix == 0)
        cubin->member.suffix = member.suffix();
    image.relocatable = image.relocatable || cubin->relocatable;
    image.cubins.push_back(std::move(cubin->member));
    return ok();
}

}  // namespace

bool is_container(Bytes bytes) {
    return bytes.size() >= 4 && read_at<std::uint32_t>(bytes, 0) == kMagic;
}

std::optional<std::uint64_t> container_bytes(Bytes bytes) {
    const std::uint64_t header = read_at<std::uint16_t>(bytes, 6);
    const auto size = read_at<std::uint64_t>(bytes, 8);
    if (bytes.size() < kHeaderBytes || header < kHeaderBytes || !part_of(bytes, header, size))
        return std::nullopt;
    return header + size;
}

Result<Image> read_container(Bytes bytes, std::uint64_t& budget) {
    const auto whole = container_bytes(bytes);
    if (!is_container(bytes) || !whole)
        return error("EGPU-P102", "a damaged fatbinary: its header is cut off or says more bytes than there are");
    if (read_at<std::uint16_t>(bytes, 4) != 1)
        return error("EGPU-P102",
                     fmt::format("a fatbinary of version {}; egpu reads version 1", read_at<std::uint16_t>(bytes, 4)));
    Image image;
    image.kind = ImageKind::fatbinary;
    Bytes rest = bytes.first(static_cast<std::size_t>(*whole)).subspan(read_at<std::uint16_t>(bytes, 6));
    for (std::size_t index = 0; !rest.empty(); ++index) {
        const auto member = read_member(rest);
        if (!member)
            return error("EGPU-P102", fmt::format("a damaged fatbinary: member {} is cut off", index));
        auto added = add_member(image, *member, index, budget);
        if (!added)
            return added.errors();
        rest = rest.subspan(static_cast<std::size_t>(member->bytes));
    }
    return image;
}

}  // namespace egpu::ptx
