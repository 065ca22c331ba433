// SPDX-License-Identifier: Apache-2.0
#include "gpu/simulated/executor/operations/async_copy.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "gpu/simulated/executor/operations/lane.hpp"
#include "gpu/simulated/executor/operations/mbarrier.hpp"
#include "gpu/simulated/executor/operations/memory.hpp"

namespace egpu::simulated {
namespace {

constexpr std::uint64_t kBulkUnit = 16;  ///< bytes: alignment of addresses and sizes
constexpr unsigned kMaskedBytes = 16;

bool misaligned(Context& context, unsigned lane, std::uint64_t address, std::string_view what, std::uint64_t unit) {
    context.fault.has_address = true;
    context.fault.address = address;
    return report(context, FaultKind::misaligned_address, lane,
                  fmt::format("{} at {:#x}, which is not a multiple of {}", what, address, unit));
}

/// Both ends of a copy, checked; false and a fault where one is wrong.
bool ends_of(Context& context, unsigned lane, std::uint64_t to, std::uint64_t from, std::uint64_t bytes,
             std::uint64_t from_bytes, std::uint64_t unit, std::byte*& destination, const std::byte*& source) {
    if (to % unit != 0) {
        return misaligned(context, lane, to, "an asynchronous copy to memory", unit);
    }
    if (from % unit != 0) {
        return misaligned(context, lane, from, "an asynchronous copy from memory", unit);
    }
    destination = generic_pointer(context, lane, to, bytes, true);
    if (destination == nullptr) {
        return false;
    }
    source = nullptr;
    if (from_bytes != 0) {
        source = generic_pointer(context, lane, from, from_bytes, false);
        return source != nullptr;
    }
    return true;
}

template <CopySize Size>
bool copy(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const to = row_at<const std::uint64_t>(context, instruction.sources[0]);
    const auto* const from = row_at<const std::uint64_t>(context, instruction.sources[1]);
    const std::uint64_t bytes = instruction.access_bytes;
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        std::uint64_t taken = bytes;
        if constexpr (Size == CopySize::source_bytes) {
            taken = row_at<const std::uint32_t>(context, instruction.sources[2])[lane];
            if (taken > bytes) {
                return report(context, FaultKind::illegal_instruction, lane,
                              fmt::format("cp.async of {} bytes into {}", taken, bytes));
            }
        } else if constexpr (Size == CopySize::ignore_source) {
            const Mask ignore = mask_at(context, instruction.sources[2]) ^ (instruction.source_negated ? kAllLanes : 0);
            taken = (ignore >> lane & 1) != 0 ? 0 : bytes;
        }
        std::byte* destination = nullptr;
        const std::byte* source = nullptr;
        if (!ends_of(context, lane, to[lane], from[lane], bytes, taken, bytes, destination, source)) {
            return false;
        }
        if (taken != 0) {
            std::memmove(destination, source, taken);
        }
        std::memset(destination + taken, 0, bytes - taken);
    }
    return true;
}

bool size_fits(Context& context, unsigned lane, std::uint64_t bytes) {
    return bytes % kBulkUnit == 0 ||
           report(context, FaultKind::illegal_instruction, lane,
                  fmt::format("a bulk copy of {} bytes, which is not a multiple of {}", bytes, kBulkUnit));
}

/// Byte i of each 16 is written where bit i of the mask is set.
void copy_masked(std::byte* destination, const std::byte* source, std::uint64_t bytes, std::uint32_t byte_mask) {
    for (std::uint64_t at = 0; at < bytes; ++at) {
        if ((byte_mask >> at % kMaskedBytes & 1) != 0) {
            destination[at] = source[at];
        }
    }
}

/// One block's part of a bulk copy: the bytes, then the completion on the mbarrier.
bool deliver(Context& context, const Instruction& instruction, unsigned lane, std::uint64_t to, std::uint64_t from,
             std::uint64_t bytes, std::uint64_t object, std::uint32_t byte_mask) {
    std::byte* destination = nullptr;
    const std::byte* source = nullptr;
    if (!ends_of(context, lane, to, from, bytes, bytes, kBulkUnit, destination, source)) {
        return false;
    }
    if ((instruction.variant & kBulkMasked) != 0) {
        copy_masked(destination, source, bytes, byte_mask);
    } else if (bytes != 0) {
        std::memmove(destination, source, bytes);
    }
    return (instruction.variant & kBulkCompletes) == 0 || complete_transactions(context, lane, object, bytes);
}

/// To each block of the mask, at the same offset in its shared memory.
bool deliver_to_many(Context& context, const Instruction& instruction, unsigned lane, std::uint64_t to,
                     std::uint64_t from, std::uint64_t bytes, std::uint64_t object, std::uint32_t blocks) {
    for (; blocks != 0; blocks &= blocks - 1) {
        const std::uint64_t tag = (static_cast<std::uint64_t>(std::countr_zero(blocks)) + 1) << kClusterRankShift;
        const auto there = [&](std::uint64_t address) { return kSharedWindow + tag + (address & kClusterOffsetMask); };
        if (!deliver(context, instruction, lane, there(to), from, bytes, there(object), 0)) {
            return false;
        }
    }
    return true;
}

bool bulk_copy(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const to = row_at<const std::uint64_t>(context, instruction.sources[0]);
    const auto* const from = row_at<const std::uint64_t>(context, instruction.sources[1]);
    const auto* const sizes = row_at<const std::uint32_t>(context, instruction.sources[2]);
    const bool completes = (instruction.variant & kBulkCompletes) != 0;
    const bool to_many = (instruction.variant & kBulkMulticast) != 0;
    const bool has_mask = (instruction.variant & (kBulkMulticast | kBulkMasked)) != 0;
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        const std::uint64_t bytes = sizes[lane];
        const std::uint64_t object = completes ? row_at<const std::uint64_t>(context, instruction.sources[3])[lane] : 0;
        const std::uint32_t bits =
            has_mask ? row_at<const std::uint32_t>(context, context.program->places[instruction.list])[lane] & 0xffff
                     : 0;
        if (!size_fits(context, lane, bytes)) {
            return false;
        }
        const bool fine = to_many
                              ? deliver_to_many(context, instruction, lane, to[lane], from[lane], bytes, object, bits)
                              : deliver(context, instruction, lane, to[lane], from[lane], bytes, object, bits);
        if (!fine) {
            return false;
        }
    }
    return true;
}

bool bulk_reduce(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const to = row_at<const std::uint64_t>(context, instruction.sources[0]);
    const auto* const from = row_at<const std::uint64_t>(context, instruction.sources[1]);
    const auto* const sizes = row_at<const std::uint32_t>(context, instruction.sources[2]);
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        const std::uint64_t bytes = sizes[lane];
        std::byte* destination = nullptr;
        const std::byte* source = nullptr;
        if (!size_fits(context, lane, bytes) ||
            !ends_of(context, lane, to[lane], from[lane], bytes, bytes, kBulkUnit, destination, source)) {
            return false;
        }
        for (std::uint64_t at = 0; at < bytes; at += instruction.access_bytes) {
            instruction.element(destination + at, source + at);
        }
        if ((instruction.variant & kBulkCompletes) != 0 &&
            !complete_transactions(context, lane, row_at<const std::uint64_t>(context, instruction.sources[3])[lane],
                                   bytes)) {
            return false;
        }
    }
    context.looked = true;
    return true;
}

bool bulk_prefetch(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const from = row_at<const std::uint64_t>(context, instruction.sources[1]);
    const auto* const sizes = row_at<const std::uint32_t>(context, instruction.sources[2]);
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        if (!size_fits(context, lane, sizes[lane])) {
            return false;
        }
        if (from[lane] % kBulkUnit != 0) {
            return misaligned(context, lane, from[lane], "a bulk prefetch of memory", kBulkUnit);
        }
    }
    return true;
}

bool async_store(Context& context, const Instruction& instruction, Mask mask) {
    const auto* const to = row_at<const std::uint64_t>(context, instruction.sources[0]);
    const auto* const objects = row_at<const std::uint64_t>(context, instruction.sources[1]);
    const std::uint64_t width = instruction.access_bytes, bytes = width * instruction.vector;
    for (; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(mask));
        if (to[lane] % bytes != 0) {
            return misaligned(context, lane, to[lane], "an asynchronous store", bytes);
        }
        std::byte* const destination = generic_pointer(context, lane, to[lane], bytes, true);
        if (destination == nullptr) {
            return false;
        }
        for (unsigned i = 0; i < instruction.vector; ++i) {
            const Place place = context.program->places[instruction.list + i];
            const std::uint64_t value = width == 8 ? row_at<const std::uint64_t>(context, place)[lane]
                                                   : row_at<const std::uint32_t>(context, place)[lane];
            std::byte raw[8];
            std::memcpy(raw, &value, 8);
            if (instruction.element != nullptr) {
                instruction.element(destination + i * width, raw);
            } else {
                std::memcpy(destination + i * width, raw, width);
            }
        }
        if (!complete_transactions(context, lane, objects[lane], bytes)) {
            return false;
        }
    }
    return true;
}

}  // namespace

Handler copy_handler_of(CopySize size) {
    return size == CopySize::whole          ? copy<CopySize::whole>
           : size == CopySize::source_bytes ? copy<CopySize::source_bytes>
                                            : copy<CopySize::ignore_source>;
}
Handler bulk_copy_handler() {
    return bulk_copy;
}
Handler bulk_reduce_handler() {
    return bulk_reduce;
}
Handler bulk_prefetch_handler() {
    return bulk_prefetch;
}
Handler async_store_handler() {
    return async_store;
}

}  // namespace egpu::simulated
