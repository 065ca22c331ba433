// SPDX-License-Identifier: Apache-2.0
#include "host/view/session_view.hpp"

namespace egpu::host {

std::uint64_t SessionView::launches() const {
    std::uint64_t sum = 0;
    for (const auto& count : counts)
        sum += count.launches;
    return sum;
}

std::uint64_t SessionView::instrumented_launches() const {
    std::uint64_t sum = 0;
    for (const auto& count : counts)
        sum += count.instrumented;
    return sum;
}

bool SessionView::complete() const {
    bool whole = drained && unknown_launches == 0 && partly_counted_graphs == 0 && other_processes == 0;
    // A kernel that no probe asks for is not missed; any other state than "instrumented" is.
    for (std::size_t i = 0; i < counts.size(); ++i)
        whole = whole && (catalogue.kernels[i].state == KernelState::not_matched ||
                          counts[i].launches == counts[i].instrumented);
    for (const auto& data : maps)
        whole = whole && data.refused_keys == 0;
    return whole;
}

const MapData* SessionView::map_named(std::string_view name) const {
    const MapData* found = nullptr;
    for (const auto& data : maps) {
        if (data.map->name == name)
            return &data;
        if (data.map->definition.name == name) {
            if (found != nullptr)
                return nullptr;
            found = &data;
        }
    }
    return found;
}

}  // namespace egpu::host
