// SPDX-License-Identifier: Apache-2.0
// The memory that one execution can reach: regions at made-up addresses, far apart, so that a stray address names the
// region it strayed from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace egpu::ebpf {

class Memory {
public:
    /// Adds a region and gives the address of its first byte. `name` as in "offset 520 of the stack".
    std::uint64_t add(std::string name, std::span<std::byte> bytes);
    std::uint64_t add_constant(std::string name, std::span<const std::byte> bytes);
    /// The address of bytes that may have been added before (values of maps).
    std::uint64_t address_of(const std::string& name, std::span<std::byte> bytes);

    Result<std::uint64_t> load(std::uint64_t address, std::uint32_t bytes) const;
    Status store(std::uint64_t address, std::uint32_t bytes, std::uint64_t value);
    /// Bytes for an atomic operation: writable and aligned to their size.
    Result<std::span<std::byte>> atomic(std::uint64_t address, std::uint32_t bytes);
    Result<std::vector<std::byte>> read(std::uint64_t address, std::uint32_t bytes) const;
    Status write(std::uint64_t address, std::span<const std::byte> bytes);

private:
    struct Region {
        std::string name;
        const std::byte* data = nullptr;
        std::byte* writable = nullptr;  ///< nullptr: read-only
        std::size_t bytes = 0;
    };
    struct Place {
        const Region* region = nullptr;
        std::size_t offset = 0;
    };
    std::uint64_t append(Region region);
    Result<Place> find(std::uint64_t address, std::uint32_t bytes, const char* doing) const;

    std::vector<Region> regions_;
    std::map<const std::byte*, std::uint64_t> known_;
};

}  // namespace egpu::ebpf
