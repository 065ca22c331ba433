// SPDX-License-Identifier: Apache-2.0
#include "host/programs/memory.hpp"

#include <fmt/format.h>

#include "base/units.hpp"
#include "maps/storage/storage.hpp"

namespace egpu::host {

std::optional<Diagnostic> too_large_maps(const ebpf::Object& object, std::uint64_t limit) {
    std::uint64_t sum = 0, most = 0;
    const ebpf::MapDefinition* largest = nullptr;
    for (const auto& map : object.maps) {
        if (map.placement == ebpf::Placement::linux_kernel)
            continue;
        const std::uint64_t bytes = maps::layout_of(map, 1).device_bytes();  // below 2^47: 256 maps don't overflow
        sum += bytes;
        if (largest == nullptr || bytes > most) {
            largest = &map;
            most = bytes;
        }
    }
    if (sum <= limit)
        return std::nullopt;
    const std::string what =
        most == sum ? fmt::format("map '{}' needs", largest->name)
                    : fmt::format("the maps need, '{}' with {} the most,", largest->name, format_memory(most));
    auto warning = error("EGPU-M011",
                         fmt::format("{} {} of GPU memory, and a run allocates at most {}", what, format_memory(sum),
                                     format_memory(limit)),
                         "lower max_entries, or let egpu run have more: --gpu-memory");
    warning.severity = Severity::warning;
    warning.where.file = object.path;
    return warning;
}

}  // namespace egpu::host
