// SPDX-License-Identifier: Apache-2.0
// What is known of all registers and of the stack at one place of a program.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "ebpf/isa/instruction.hpp"
#include "ebpf/specializer/value.hpp"

namespace egpu::ebpf::specializer {

/// Variables of an expanded program: r0 to r5, then r6 to r9 of each frame.
inline constexpr std::uint32_t kVariables = 6 + 4 * kMaxFrames;
/// The variable behind a register at a call depth; nothing for r10, which is known everywhere.
constexpr std::optional<std::uint32_t> variable_of(std::uint8_t reg, std::uint32_t depth) {
    if (reg == kFramePointer)
        return std::nullopt;
    return reg < 6 ? std::uint32_t{reg} : 6 + depth * 4 + (reg - 6u);
}

/// 8 aligned bytes of stack: either one value stored whole, or bytes of which some are known.
struct StackWord {
    bool whole = false;
    Value value;             ///< where whole
    std::uint8_t known = 0;  ///< bit per byte, where not whole
    std::array<std::uint8_t, 8> bytes{};
    std::uint64_t sources = 0;  ///< of the unknown bytes
    bool operator==(const StackWord&) const = default;

    bool byte_known(std::uint32_t byte) const;
    std::uint8_t byte_at(std::uint32_t byte) const;
    std::uint64_t unknown_sources() const;
};

class State {
public:
    Value reg(std::uint8_t number, std::uint32_t depth) const;
    void set_reg(std::uint8_t number, std::uint32_t depth, const Value& value);

    /// Load and store at a known offset inside a frame; the caller has checked the bounds.
    Value load(std::uint32_t depth, std::int64_t offset, std::uint32_t bytes) const;
    void store(std::uint32_t depth, std::int64_t offset, std::uint32_t bytes, const Value& value);
    /// Bytes of a range where all are known; else nothing, and `sources` gets what they depend on.
    std::optional<std::array<std::uint8_t, 512>> bytes(std::uint32_t depth, std::int64_t offset, std::uint32_t count,
                                                       std::uint64_t& sources) const;
    /// A store of unknown bytes at a known range or anywhere in the frame.
    void forget(std::uint32_t depth, std::int64_t offset, std::uint32_t count, std::uint64_t sources);
    void forget_frame(std::uint32_t depth, std::uint64_t sources);
    /// A frame as a call finds it: nothing known.
    void enter_frame(std::uint32_t depth);
    /// True where something changed.
    bool merge(const State& other);

private:
    void store_byte(StackWord& word, std::uint32_t byte, std::optional<std::uint8_t> known, std::uint64_t sources);

    std::array<Value, kVariables> registers_{};
    std::map<std::uint32_t, StackWord> words_;  ///< by depth * 64 + index from the frame's bottom
};

/// True where [offset, offset + bytes) lies in a frame.
constexpr bool in_frame(std::int64_t offset, std::int64_t bytes) {
    return offset >= -kFrameBytes && offset <= 0 && bytes >= 0 && offset + bytes <= 0;
}

}  // namespace egpu::ebpf::specializer
