// SPDX-License-Identifier: Apache-2.0
// Rows of constants, the layout of shared memory, the functions yet to decode.
#include "gpu/simulated/executor/decoder/builder.hpp"

#include <algorithm>
#include <cstring>

#include "gpu/simulated/executor/machine/special.hpp"

namespace egpu::simulated {
namespace {

constexpr int kNarrow = 0, kWide = 1, kMaskRow = 2;

std::uint32_t append_row(std::vector<std::byte>& rows, const void* value, std::size_t size, unsigned count) {
    const auto offset = static_cast<std::uint32_t>(rows.size());
    rows.resize(rows.size() + size * count);
    for (unsigned i = 0; i < count; ++i) {
        std::memcpy(rows.data() + offset + i * size, value, size);
    }
    return offset;
}

}  // namespace

Place Builder::constant(std::uint64_t value, bool wide) {
    value = wide ? value : value & 0xffff'ffff;
    const auto [entry, fresh] = constants_.try_emplace({value, wide ? kWide : kNarrow});
    if (fresh) {
        entry->second = {RowBase::constants, append_row(program_.constants, &value, wide ? 8 : 4, kLanes)};
    }
    return entry->second;
}

Place Builder::constant_mask(bool value) {
    const Mask mask = value ? kAllLanes : 0;
    const auto [entry, fresh] = constants_.try_emplace({mask, kMaskRow});
    if (fresh) {
        // A whole row, so that the rows behind it stay aligned.
        entry->second = {RowBase::constants, append_row(program_.constants, &mask, sizeof mask, kLanes)};
    }
    return entry->second;
}

std::uint64_t Builder::shared_offset(const ptx::Variable& variable) {
    const std::uint64_t size = std::min<std::uint64_t>(variable.bytes(), std::uint64_t{1} << 30);
    if (size == 0) {
        uses_dynamic_shared = true;  // .extern .shared name[]
        return dynamic_shared_;
    }
    const auto [entry, fresh] = shared_.try_emplace(&variable);
    if (fresh) {
        const auto type = parse_type(variable.type);
        const std::uint64_t natural = type ? std::max(bytes_of(*type) * variable.vector, 1U) : 16;
        const std::uint64_t alignment = variable.alignment != 0 ? std::min(variable.alignment, 1024U) : natural;
        const std::uint64_t at = (std::uint64_t{program_.static_shared_bytes} + alignment - 1) / alignment * alignment;
        entry->second = at;
        program_.static_shared_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(at + size, 0x7fff'0000));
    }
    return entry->second;
}

std::uint32_t Builder::function(std::uint32_t module_index) {
    const auto [entry, fresh] = functions_.try_emplace(module_index);
    if (fresh) {
        entry->second = static_cast<std::uint32_t>(program_.functions.size());
        program_.functions.emplace_back();
        program_.functions.back().name = symbols_.functions[module_index]->name;
        pending_.emplace_back(entry->second, module_index);
    }
    return entry->second;
}

std::uint32_t Builder::places(const std::vector<Place>& places) {
    const auto first = static_cast<std::uint32_t>(program_.places.size());
    program_.places.insert(program_.places.end(), places.begin(), places.end());
    return first;
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> Builder::next_function() {
    if (pending_.empty()) {
        return std::nullopt;
    }
    const auto next = pending_.back();
    pending_.pop_back();
    return next;
}

}  // namespace egpu::simulated
