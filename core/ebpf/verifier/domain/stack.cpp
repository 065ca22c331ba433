// SPDX-License-Identifier: Apache-2.0
#include "ebpf/verifier/domain/stack.hpp"

#include <algorithm>
#include <span>

namespace egpu::ebpf {
namespace {

/// Bytes [from, from + bytes) of a number, little-endian.
Scalar part_of(const Scalar& number, std::int32_t from, std::int32_t bytes) {
    Scalar part = Scalar::of_bytes(static_cast<std::uint32_t>(bytes));
    if (number.is_constant()) {
        const std::uint64_t shifted = number.value() >> (8 * from);
        part = Scalar::constant(bytes >= 8 ? shifted : shifted & ((std::uint64_t{1} << (8 * bytes)) - 1));
    }
    part.derive_from(number);
    part.depth = number.depth;
    if (!part.is_constant())
        part.expression =
            combine(0x800 + static_cast<std::uint64_t>(from), number.expression, static_cast<std::uint64_t>(bytes));
    return part;
}

bool overlaps(const Piece& piece, std::int32_t offset, std::int32_t end) {
    return piece.offset < end && offset < piece.end();
}

/// The pieces that overlap a range.
std::span<const Piece> within(const std::vector<Piece>& pieces, std::int32_t offset, std::int32_t end) {
    const auto first =
        std::partition_point(pieces.begin(), pieces.end(), [=](const Piece& piece) { return piece.end() <= offset; });
    const auto last = std::partition_point(first, pieces.end(), [=](const Piece& piece) { return piece.offset < end; });
    return {first, last};
}

}  // namespace

void Stack::remove(std::int32_t offset, std::int32_t bytes) {
    const std::int32_t end = offset + bytes;
    std::vector<Piece> rest;
    rest.reserve(pieces_.size() + 1);
    for (const Piece& piece : pieces_) {
        if (!overlaps(piece, offset, end)) {
            rest.push_back(piece);
            continue;
        }
        if (!piece.value.is_scalar())
            continue;
        if (piece.offset < offset)
            rest.push_back({piece.offset, offset - piece.offset,
                            Value::number(part_of(piece.value.scalar, 0, offset - piece.offset))});
        if (piece.end() > end)
            rest.push_back({end, piece.end() - end,
                            Value::number(part_of(piece.value.scalar, end - piece.offset, piece.end() - end))});
    }
    pieces_ = std::move(rest);
}

void Stack::write(std::int32_t offset, std::int32_t bytes, const Value& value) {
    const auto same = std::find_if(pieces_.begin(), pieces_.end(),
                                   [&](const Piece& piece) { return piece.offset == offset && piece.bytes == bytes; });
    Piece piece{offset, bytes, value};
    if (value.is_scalar() && bytes < 8) {
        piece.value = Value::number(part_of(value.scalar, 0, bytes));
        if (!value.scalar.is_constant() && value.scalar.wide.high < std::uint64_t{1} << (8 * bytes)) {
            piece.value = value;  // nothing is cut off: the same number
        }
    }
    if (same != pieces_.end()) {
        *same = piece;
        return;
    }
    remove(offset, bytes);
    const auto at = std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& p) { return p.offset > offset; });
    pieces_.insert(at, piece);
}

void Stack::write_somewhere(std::int32_t offset, std::int32_t bytes, const Scalar& number) {
    const std::int32_t end = offset + bytes;
    std::erase_if(pieces_,
                  [&](const Piece& piece) { return overlaps(piece, offset, end) && !piece.value.is_scalar(); });
    for (Piece& piece : pieces_) {
        if (!overlaps(piece, offset, end))
            continue;
        Scalar any = Scalar::of_bytes(static_cast<std::uint32_t>(piece.bytes));
        any.derive_from(piece.value.scalar);
        any.derive_from(number);
        any.depth = std::max(piece.value.scalar.depth, number.depth);
        any.expression = combine(0x900, piece.value.scalar.expression, number.expression);
        piece.value = Value::number(any);
    }
}

std::optional<StackFault> Stack::first_fault(std::int32_t offset, std::int32_t bytes) const {
    std::int32_t next = offset;
    const std::int32_t end = offset + bytes;
    for (const Piece& piece : within(pieces_, offset, end)) {
        if (piece.offset > next)
            return StackFault{next, false, {}};
        if (!piece.value.is_scalar())
            return StackFault{std::max(piece.offset, offset), true, piece.value};
        next = piece.end();
    }
    if (next < end)
        return StackFault{next, false, {}};
    return std::nullopt;
}

Scalar Stack::joined(std::int32_t offset, std::int32_t bytes) const {
    Scalar all;
    for (const Piece& piece : within(pieces_, offset, offset + bytes)) {
        all.derive_from(piece.value.scalar);
        all.expression =
            combine(all.expression, piece.value.scalar.expression, static_cast<std::uint64_t>(piece.offset - offset));
    }
    return all;
}

std::optional<Value> Stack::read(std::int32_t offset, std::int32_t bytes, StackFault& fault) const {
    const std::int32_t end = offset + bytes;
    bool constant = bytes <= 8;  // wider ones are regions, not numbers
    std::uint64_t assembled = 0;
    for (const Piece& piece : within(pieces_, offset, end)) {
        if (piece.offset == offset && piece.bytes == bytes)
            return piece.value;
        constant = constant && piece.value.is_constant();
        for (std::int32_t i = 0; constant && i < bytes; ++i) {
            const std::int32_t at = offset + i;
            if (at >= piece.offset && at < piece.end())
                assembled |= (piece.value.scalar.value() >> (8 * (at - piece.offset)) & 0xff) << (8 * i);
        }
    }
    if (const auto found = first_fault(offset, bytes)) {
        fault = *found;
        return std::nullopt;
    }
    Scalar number = constant ? Scalar::constant(assembled) : Scalar::of_bytes(static_cast<std::uint32_t>(bytes));
    const Scalar all = joined(offset, bytes);
    number.derive_from(all);
    if (!constant)
        number.expression = all.expression;
    return Value::number(number);
}

void Stack::fill(std::int32_t offset, std::int32_t bytes, const Scalar& provenance) {
    remove(offset, bytes);
    auto at = std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& p) { return p.offset > offset; });
    std::vector<Piece> filled;
    for (std::int32_t done = 0; done < bytes;) {
        const std::int32_t size = std::min<std::int32_t>(8, bytes - done);
        Scalar any = Scalar::of_bytes(static_cast<std::uint32_t>(size));
        any.derive_from(provenance);
        any.depth = provenance.depth;
        filled.push_back({offset + done, size, Value::number(any)});
        done += size;
    }
    pieces_.insert(at, filled.begin(), filled.end());
}

}  // namespace egpu::ebpf
