// SPDX-License-Identifier: Apache-2.0
// Header: magic, key, digest of what follows; then the fixed figures, the messages, the cubin. Little-endian, as the
// machine has it: a cache is never moved to another kind of machine.
#include "inject/cache/entry.hpp"

#include <cstring>

namespace egpu::inject {
namespace {

constexpr std::array<char, 8> kMagic = {'e', 'g', 'p', 'u', 'c', 'c', '0', '1'};

struct Header {
    std::array<char, 8> magic{};
    Sha256Digest key{};
    Sha256Digest digest{};
};
struct Figures {
    std::uint32_t registers = 0, spill_bytes = 0, stack_bytes = 0, static_shared_bytes = 0;
    std::uint64_t message_bytes = 0, cubin_bytes = 0;
};
static_assert(sizeof(Header) == 72 && sizeof(Figures) == 32);

Sha256Digest digest_of(std::span<const std::byte> bytes) {
    Sha256 sum;
    sum.add(bytes);
    return sum.finish();
}

void append(std::vector<std::byte>& out, const void* data, std::size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    out.insert(out.end(), from, from + size);
}

}  // namespace

std::vector<std::byte> to_entry(const Sha256Digest& key, const Compiled& compiled) {
    const Figures figures{compiled.registers,           compiled.spill_bytes,     compiled.stack_bytes,
                          compiled.static_shared_bytes, compiled.messages.size(), compiled.cubin.size()};
    std::vector<std::byte> body;
    append(body, &figures, sizeof figures);
    append(body, compiled.messages.data(), compiled.messages.size());
    append(body, compiled.cubin.data(), compiled.cubin.size());
    const Header header{kMagic, key, digest_of(body)};
    std::vector<std::byte> whole;
    append(whole, &header, sizeof header);
    append(whole, body.data(), body.size());
    return whole;
}

std::optional<Compiled> from_entry(const Sha256Digest& key, std::span<const std::byte> bytes) {
    Header header;
    Figures figures;
    if (bytes.size() < sizeof header + sizeof figures)
        return std::nullopt;
    std::memcpy(&header, bytes.data(), sizeof header);
    const auto body = bytes.subspan(sizeof header);
    if (header.magic != kMagic || header.key != key || header.digest != digest_of(body))
        return std::nullopt;
    std::memcpy(&figures, body.data(), sizeof figures);
    const auto rest = body.subspan(sizeof figures);
    if (figures.message_bytes > rest.size() || figures.cubin_bytes != rest.size() - figures.message_bytes)
        return std::nullopt;
    Compiled compiled;
    compiled.registers = figures.registers;
    compiled.spill_bytes = figures.spill_bytes;
    compiled.stack_bytes = figures.stack_bytes;
    compiled.static_shared_bytes = figures.static_shared_bytes;
    const auto messages = rest.first(static_cast<std::size_t>(figures.message_bytes));
    compiled.messages.assign(reinterpret_cast<const char*>(messages.data()), messages.size());
    const auto cubin = rest.subspan(messages.size());
    compiled.cubin.assign(cubin.begin(), cubin.end());
    return compiled;
}

}  // namespace egpu::inject
