// SPDX-License-Identifier: Apache-2.0
// Look-up through the scopes, and where registers and local variables go in a frame.
#include "gpu/simulated/executor/decoder/names.hpp"

#include <algorithm>
#include <charconv>

#include "gpu/simulated/executor/machine/special.hpp"

namespace egpu::simulated {
namespace {

/// True for "0" to "count - 1", written without leading zeros.
bool is_below(std::string_view digits, std::uint32_t count) {
    std::uint32_t number = 0;
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return status == std::errc{} && end == digits.data() + digits.size() && number < count &&
           (digits.front() != '0' || digits.size() == 1);
}

}  // namespace

/// Predicates share a row's worth of bytes; all other rows are aligned to their own 128 bytes.
Place FrameLayout::row(Type type) {
    if (type == Type::pred) {
        if (free_masks_ == 0) {
            next_mask_ = rows_;
            rows_ += kRow32;
            free_masks_ = kLanes;
        }
        --free_masks_;
        const std::uint64_t at = next_mask_;
        next_mask_ += sizeof(Mask);
        return {RowBase::frame, static_cast<std::uint32_t>(std::min<std::uint64_t>(at, Place::kMaximum))};
    }
    const bool wide = bits_of(type) == 64;
    const std::uint64_t at = rows_;
    rows_ += wide ? kRow64 : kRow32;
    registers_ += wide ? 2 : 1;
    return {RowBase::frame, static_cast<std::uint32_t>(std::min<std::uint64_t>(at, Place::kMaximum))};
}

std::uint64_t FrameLayout::local(std::uint64_t bytes, std::uint64_t alignment) {
    alignment = std::max<std::uint64_t>(alignment, 1);
    const std::uint64_t at = (local_ + alignment - 1) & ~(alignment - 1);
    local_ = at + bytes;
    return at;
}

void Names::add_range(std::string_view prefix, std::uint32_t count, Type type) {
    scopes_.back().ranges[prefix] = {count, type};
}

const Symbol* Names::find(std::string_view name, FrameLayout& layout) {
    std::size_t digits = name.size();
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') {
        --digits;
    }
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
        if (const auto found = scope->names.find(name); found != scope->names.end()) {
            return &found->second;
        }
        // A prefix may itself end in digits: every split is tried, the longest prefix of names first.
        for (std::size_t split = digits; split < name.size(); ++split) {
            const auto range = scope->ranges.find(name.substr(0, split));
            if (range != scope->ranges.end() && is_below(name.substr(split), range->second.count)) {
                Symbol symbol;
                symbol.type = range->second.type;
                symbol.place = layout.row(symbol.type);
                return &(scope->names[name] = symbol);
            }
        }
    }
    return nullptr;
}

}  // namespace egpu::simulated
