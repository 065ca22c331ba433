// SPDX-License-Identifier: Apache-2.0
#include "ebpf/interpreter/memory.hpp"

#include <cstring>

#include <fmt/format.h>

namespace egpu::ebpf {
namespace {

// Region n has the addresses around (n + 1) * 2^36, and begins in the middle of them: an address a little below or
// above it still names it. Address 0 (NULL) is in no region.
constexpr unsigned kRegionBits = 36;
constexpr std::uint64_t kMiddle = std::uint64_t{1} << (kRegionBits - 1);

Diagnostic fault(std::string message) {
    return error("EGPU-V090", std::move(message));
}

}  // namespace

std::uint64_t Memory::append(Region region) {
    regions_.push_back(std::move(region));
    return (std::uint64_t{regions_.size()} << kRegionBits) + kMiddle;
}

std::uint64_t Memory::add(std::string name, std::span<std::byte> bytes) {
    return append({std::move(name), bytes.data(), bytes.data(), bytes.size()});
}

std::uint64_t Memory::add_constant(std::string name, std::span<const std::byte> bytes) {
    return append({std::move(name), bytes.data(), nullptr, bytes.size()});
}

std::uint64_t Memory::address_of(const std::string& name, std::span<std::byte> bytes) {
    const auto known = known_.find(bytes.data());
    if (known != known_.end())
        return known->second;
    const auto address = add(name, bytes);
    known_.emplace(bytes.data(), address);
    return address;
}

Result<Memory::Place> Memory::find(std::uint64_t address, std::uint32_t bytes, const char* doing) const {
    const std::uint64_t number = address >> kRegionBits;
    if (number == 0 || number > regions_.size())
        return fault(
            fmt::format("{} of {} bytes at address {:#x}, which is no memory of the program", doing, bytes, address));
    const Region& region = regions_[number - 1];
    const auto offset = static_cast<std::int64_t>(address - ((number << kRegionBits) + kMiddle));
    if (offset < 0 || static_cast<std::uint64_t>(offset) + bytes > region.bytes)
        return fault(fmt::format("{} of {} bytes at offset {} of {}, which has {} bytes", doing, bytes, offset,
                                 region.name, region.bytes));
    return Place{&region, static_cast<std::size_t>(offset)};
}

Result<std::uint64_t> Memory::load(std::uint64_t address, std::uint32_t bytes) const {
    const auto place = find(address, bytes, "load");
    if (!place)
        return place.errors();
    std::uint64_t value = 0;  // little-endian, as the host must be for eBPF objects that are
    std::memcpy(&value, place->region->data + place->offset, bytes);
    return value;
}

Result<std::vector<std::byte>> Memory::read(std::uint64_t address, std::uint32_t bytes) const {
    const auto place = find(address, bytes, "load");
    if (!place)
        return place.errors();
    const auto* first = place->region->data + place->offset;
    return std::vector<std::byte>(first, first + bytes);
}

Status Memory::store(std::uint64_t address, std::uint32_t bytes, std::uint64_t value) {
    return write(address, std::as_bytes(std::span(&value, 1)).first(bytes));
}

Status Memory::write(std::uint64_t address, std::span<const std::byte> bytes) {
    const auto place = find(address, static_cast<std::uint32_t>(bytes.size()), "store");
    if (!place)
        return place.errors();
    if (place->region->writable == nullptr)
        return fault(fmt::format("store of {} bytes to {}, which is read-only", bytes.size(), place->region->name));
    std::memcpy(place->region->writable + place->offset, bytes.data(), bytes.size());
    return ok();
}

Result<std::span<std::byte>> Memory::atomic(std::uint64_t address, std::uint32_t bytes) {
    const auto place = find(address, bytes, "atomic operation");
    if (!place)
        return place.errors();
    if (place->region->writable == nullptr)
        return fault(fmt::format("atomic operation on {}, which is read-only", place->region->name));
    if (place->offset % bytes != 0)
        return fault(fmt::format("misaligned atomic operation of {} bytes at offset {} of {}", bytes, place->offset,
                                 place->region->name));
    return std::span(place->region->writable + place->offset, bytes);
}

}  // namespace egpu::ebpf
