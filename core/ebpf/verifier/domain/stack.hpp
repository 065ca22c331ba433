// SPDX-License-Identifier: Apache-2.0
// Stack: what is known of a frame's 512 bytes. Pieces that don't overlap, each a value of 1 to 8 bytes; a byte in no
// piece is uninitialised.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ebpf/verifier/domain/value.hpp"

namespace egpu::ebpf {

inline constexpr std::int32_t kStackBytes = 512;

struct Piece {
    std::int32_t offset = 0;  ///< from the frame's end: -512 .. -1
    std::int32_t bytes = 0;
    Value value;
    std::int32_t end() const { return offset + bytes; }
};

/// Why a range of the stack can't be read.
struct StackFault {
    std::int32_t byte = 0;  ///< the first byte that is in the way
    bool pointer = false;   ///< part of a pointer or of a partial sum; else uninitialised
    Value value;            ///< of these, the whole
};

class Stack {
public:
    /// Stores a value; what it overlaps loses the bytes covered (a pointer loses all of its bytes).
    void write(std::int32_t offset, std::int32_t bytes, const Value& value);
    /// Stores somewhere within [offset, offset + bytes): bytes there may have changed or not.
    void write_somewhere(std::int32_t offset, std::int32_t bytes, const Scalar& number);
    /// What a load gives: the value as stored where it matches, else a number made of the bytes.
    std::optional<Value> read(std::int32_t offset, std::int32_t bytes, StackFault& fault) const;
    /// The first byte of a range that holds no number; nullopt where all do.
    std::optional<StackFault> first_fault(std::int32_t offset, std::int32_t bytes) const;
    /// Variability, provenance and expression of all numbers in a range, joined; nothing is said of their value.
    Scalar joined(std::int32_t offset, std::int32_t bytes) const;
    /// Declares a range initialised with unknown bytes.
    void fill(std::int32_t offset, std::int32_t bytes, const Scalar& provenance);

    std::vector<Piece>& pieces() { return pieces_; }
    const std::vector<Piece>& pieces() const { return pieces_; }
    std::int32_t depth() const { return pieces_.empty() ? 0 : -pieces_.front().offset; }

private:
    void remove(std::int32_t offset, std::int32_t bytes);

    std::vector<Piece> pieces_;  ///< ascending
};

}  // namespace egpu::ebpf
