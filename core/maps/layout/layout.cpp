// SPDX-License-Identifier: Apache-2.0
#include "maps/layout/layout.hpp"

#include <bit>

namespace egpu::maps {

Layout make_layout(std::uint32_t value_bytes, std::uint32_t max_entries, bool per_sm, std::uint32_t sm_count) {
    Layout layout;
    layout.value_bytes = value_bytes;
    layout.stride = (value_bytes + 7) & ~std::uint32_t{7};
    layout.capacity = max_entries;
    layout.shards = 1;
    if (per_sm && max_entries != 0 && layout.stride != 0) {
        layout.shards = 2;
        const std::uint64_t one_shard = layout.device_bytes() / 2;
        const std::uint64_t fit = kShardBudget / one_shard;
        if (sm_count <= 2 * kShardBudget / one_shard)
            layout.shards = sm_count == 0 ? 1 : sm_count;
        else
            layout.shards = fit < 1 ? 1 : std::bit_floor(static_cast<std::uint32_t>(fit));
    }
    return layout;
}

}  // namespace egpu::maps
