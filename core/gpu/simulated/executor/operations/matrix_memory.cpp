// SPDX-License-Identifier: Apache-2.0
// Matrices between memory and the registers of a warp: wmma.load, wmma.store, ldmatrix, stmatrix; movmatrix.
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "gpu/simulated/executor/operations/fragment.hpp"
#include "gpu/simulated/executor/operations/lane.hpp"
#include "gpu/simulated/executor/operations/matrix.hpp"
#include "gpu/simulated/executor/operations/memory.hpp"

namespace egpu::simulated {
namespace {

constexpr unsigned kRows = 8;

/// A matrix in memory as one lane's address and stride say.
class Tile {
public:
    Tile(Context& context, const MatrixForm& form, unsigned lane, std::uint64_t address, std::uint64_t stride,
         bool writes)
        : form_(form), stride_(stride), bits_(bits_of(form.d)) {
        const std::uint64_t lines = form.a_by_columns ? form.n : form.m, length = form.a_by_columns ? form.m : form.n;
        const std::uint64_t alignment = std::max(bits_ / 8, 1U);
        if (address % alignment != 0) {
            context.fault.has_address = true;
            context.fault.address = address;
            report(context, FaultKind::misaligned_address, lane,
                   fmt::format("a matrix at {:#x}, which is not a multiple of {}", address, alignment));
            return;
        }
        const std::uint64_t bytes = (((lines - 1) * stride + length) * bits_ + 7) / 8;
        bytes_ = generic_pointer(context, lane, address, bytes, writes);
    }
    explicit operator bool() const { return bytes_ != nullptr; }

    std::uint64_t read(Position at) const {
        const std::uint64_t bit = place_of(at);
        std::uint64_t value = 0;
        if (bits_ < 8) {
            value = static_cast<std::uint64_t>(bytes_[bit / 8]) >> (bit % 8) & ((1U << bits_) - 1);
        } else {
            std::memcpy(&value, bytes_ + bit / 8, bits_ / 8);
        }
        return value;
    }
    /// Elements of a byte or more.
    void write(Position at, std::uint64_t value) const { std::memcpy(bytes_ + place_of(at) / 8, &value, bits_ / 8); }

private:
    std::uint64_t place_of(Position at) const {
        return (form_.a_by_columns ? at.column * stride_ + at.row : at.row * stride_ + at.column) * bits_;
    }
    const MatrixForm& form_;
    const std::uint64_t stride_;
    const unsigned bits_;
    std::byte* bytes_ = nullptr;
};

template <bool Writes>
bool move_matrix(Context& context, const Instruction& instruction, Mask mask) {
    const MatrixForm& form = context.program->matrices[instruction.target];
    const Fragment fragment = fragment_of(form, Part::d, context.program->places.data() + instruction.list);
    const auto* const addresses = row_at<const std::uint64_t>(context, instruction.sources[0]);
    const auto* const strides = row_at<const std::uint32_t>(context, instruction.sources[1]);
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        const Tile tile(context, form, lane, addresses[lane], strides[lane], Writes);
        if (!tile) {
            return false;
        }
        for_elements(fragment, Mask{1} << lane, [&](unsigned, unsigned reg, unsigned index, Position at) {
            if constexpr (Writes) {
                tile.write(at, read_element(context, fragment, lane, reg, index));
            } else {
                write_element(context, fragment, lane, reg, index, tile.read(at));
            }
        });
    }
    return true;
}

/// Lane l holds elements 2 (l mod 4) and the next of row l / 4, or of column l / 4.
template <bool Writes, bool Transposed>
bool move_rows(Context& context, const Instruction& instruction, Mask) {
    std::byte* rows[kLanes] = {};
    const unsigned count = kRows * instruction.vector;
    const Mask named = count == kLanes ? kAllLanes : (Mask{1} << count) - 1;
    if (!instruction.resolve(context, instruction, named, rows)) {
        return false;
    }
    for (unsigned matrix = 0; matrix < instruction.vector; ++matrix) {
        auto* const values = row_at<std::uint32_t>(context, context.program->places[instruction.list + matrix]);
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            std::uint32_t both = Writes ? values[lane] : 0;
            for (unsigned half = 0; half < 2; ++half) {
                const unsigned across = lane % 4 * 2 + half, down = lane / 4;
                const unsigned row = Transposed ? across : down, column = Transposed ? down : across;
                std::byte* const at = rows[matrix * kRows + row] + column * 2;
                std::uint16_t value = static_cast<std::uint16_t>(both >> (16 * half));
                if constexpr (Writes) {
                    std::memcpy(at, &value, 2);
                } else {
                    std::memcpy(&value, at, 2);
                    both |= std::uint32_t{value} << (16 * half);
                }
            }
            if constexpr (!Writes) {
                values[lane] = both;
            }
        }
    }
    return true;
}

bool transpose(Context& context, const Instruction& instruction, Mask) {
    const auto* const from = row_at<const std::uint32_t>(context, instruction.sources[0]);
    auto* const to = row_at<std::uint32_t>(context, instruction.destination);
    std::uint32_t result[kLanes];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        result[lane] = 0;
        for (unsigned half = 0; half < 2; ++half) {
            const unsigned row = lane % 4 * 2 + half, column = lane / 4;
            result[lane] |= (from[row * 4 + column / 2] >> (16 * (column % 2)) & 0xffff) << (16 * half);
        }
    }
    std::memcpy(to, result, sizeof result);
    return true;
}

}  // namespace

Handler load_matrix_handler() {
    return move_matrix<false>;
}
Handler store_matrix_handler() {
    return move_matrix<true>;
}
Handler load_rows_handler(bool transposed) {
    return transposed ? move_rows<false, true> : move_rows<false, false>;
}
Handler store_rows_handler(bool transposed) {
    return transposed ? move_rows<true, true> : move_rows<true, false>;
}
Handler transpose_handler() {
    return transpose;
}

}  // namespace egpu::simulated
