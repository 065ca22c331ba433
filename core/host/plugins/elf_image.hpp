// SPDX-License-Identifier: Apache-2.0
// A shared library as the loader would see it, read from the file: symbols, and memory with its relocations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace egpu::host {

class ElfImage {
public:
    enum class Problem { none, not_elf, cut_off, other_machine, not_shared };

    /// Keeps `bytes`, which must outlive it.
    explicit ElfImage(std::span<const std::byte> bytes);
    Problem problem() const { return problem_; }

    /// Machine of the file, in words: "x86-64", "AArch64", "machine 243".
    std::string machine() const;
    static std::string own_machine();

    struct Symbol {
        std::uint64_t address = 0, size = 0;
    };
    std::optional<Symbol> exported(std::string_view name) const;
    const std::map<std::string, Symbol, std::less<>>& exports() const { return exports_; }

    /// Memory at an address as the file has it; empty where any of it lies outside.
    std::span<const std::byte> at(std::uint64_t address, std::uint64_t bytes) const;
    /// The pointer at an address, relocated to addresses of the file; 0: NULL. nullopt where it points to another
    /// library or outside.
    std::optional<std::uint64_t> pointer_at(std::uint64_t address) const;
    /// A NUL-terminated text of at most 4096 bytes.
    std::optional<std::string> text_at(std::uint64_t address) const;

private:
    struct Segment {
        std::uint64_t address = 0, bytes = 0, offset = 0, memory_bytes = 0;
    };
    void read();
    void read_sections();
    void read_symbols(std::uint64_t offset, std::uint64_t bytes, std::uint64_t strings_at, std::uint64_t string_bytes);
    void read_relocations(std::uint64_t offset, std::uint64_t bytes);
    template <typename T>
    bool read_struct(std::uint64_t offset, T* out) const;

    std::span<const std::byte> bytes_;
    Problem problem_ = Problem::none;
    std::uint16_t machine_ = 0;
    std::vector<Segment> segments_;
    std::map<std::string, Symbol, std::less<>> exports_;
    struct Relocation {
        std::uint32_t type = 0, symbol = 0;
        std::int64_t addend = 0;
    };
    std::map<std::uint64_t, Relocation> relocations_;  ///< by address
    std::vector<std::uint64_t> symbol_values_;         ///< by index; 0: not defined here
};

}  // namespace egpu::host
