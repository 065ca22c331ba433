// SPDX-License-Identifier: Apache-2.0
#include "host/probesets/merge.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace egpu::host {
namespace {

template <typename T>
void replace(std::optional<T>& base, std::optional<T>& over) {
    if (over)
        base = std::move(over);
}

template <typename T>
void append(std::vector<T>& base, std::vector<T>& over) {
    std::move(over.begin(), over.end(), std::back_inserter(base));
}

/// Launches that both take.
void narrow(std::optional<Placed<LaunchWindow>>& base, const std::optional<Placed<LaunchWindow>>& over,
            std::vector<Diagnostic>& problems) {
    if (!over || !base) {
        if (over)
            base = over;
        return;
    }
    const auto end = [](const LaunchWindow& window) {
        return window.count ? std::optional(window.skip + *window.count) : std::nullopt;
    };
    const LaunchWindow& a = base->value;
    const LaunchWindow& b = over->value;
    LaunchWindow both{std::max(a.skip, b.skip), std::nullopt};
    const auto ends = std::pair(end(a), end(b));
    if (ends.first || ends.second) {
        const std::uint64_t last = std::min(ends.first.value_or(UINT64_MAX), ends.second.value_or(UINT64_MAX));
        if (last <= both.skip) {
            problems.push_back(
                problem_at(over->place, "EGPU-S014", "no launch is left",
                           fmt::format("it narrows the launches of {}: both are to hold", base->place.text())));
            return;
        }
        both.count = last - both.skip;
    }
    base = Placed<LaunchWindow>{both, over->place};
}

void merge_maps(std::vector<MapEntry>& base, std::vector<MapEntry>& over) {
    for (auto& map : over) {
        const auto same = std::find_if(base.begin(), base.end(),
                                       [&](const MapEntry& each) { return each.name.value == map.name.value; });
        if (same == base.end())
            base.push_back(std::move(map));
        else
            replace(same->max_entries, map.max_entries);
    }
}

}  // namespace

void lay_over(ProbeSet& base, ProbeSet over, std::vector<Diagnostic>& problems) {
    base.name = over.name;
    base.file = over.file;
    if (!over.description.empty())
        base.description = over.description;
    append(base.kernels, over.kernels);
    narrow(base.launches, over.launches, problems);
    append(base.probes, over.probes);
    merge_maps(base.maps, over.maps);
    replace(base.wait_ns, over.wait_ns);
    replace(base.gpu_memory_bytes, over.gpu_memory_bytes);
    replace(base.strict, over.strict);
    replace(base.summary, over.summary);
    replace(base.record, over.record);
    append(base.expectations, over.expectations);
}

}  // namespace egpu::host
