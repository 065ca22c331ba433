// SPDX-License-Identifier: Apache-2.0
// Which maps a program can use in this version. What isn't there is refused by name, never replaced.
#include <fmt/format.h>

#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {
namespace {

Refusal unavailable(const MapDefinition& map, std::string what, std::string fix,
                    std::string why = "this version of egpu doesn't have it yet") {
    Refusal refusal;
    refusal.code = "EGPU-V022";
    refusal.message = fmt::format("map '{}' {}", map.name, what);
    refusal.why = std::move(why);
    refusal.fix = std::move(fix);
    return refusal;
}

bool per_access(Event event) {
    return event != Event::kernel_entry && event != Event::kernel_exit;
}

}  // namespace

Verdict check_map_available(const Scene& scene, std::uint32_t index) {
    const MapDefinition& map = scene.map(index);
    if (map.type == MapType::lru_hash)
        return unavailable(map, "is an LRU hash, which is not available yet",
                           "BPF_MAP_TYPE_HASH with enough max_entries; when it is full that is counted and shown",
                           "no entry makes room for another while a GPU runs");
    if (map.placement == Placement::device)
        return std::nullopt;
    const char* flag = map.placement == Placement::mapped ? "EGPU_F_MAPPED" : "EGPU_F_LINUX";
    Refusal refusal =
        unavailable(map, fmt::format("lives outside the GPU's memory ({}), which is not available yet", flag),
                    fmt::format("leave {} out: the map is then in GPU memory and read 20 times a second", flag));
    if (per_access(scene.program.point.event))
        refusal.why = fmt::format("an access over the bus at every {} would be thousands of times slower; {}",
                                  scene.program.section, refusal.why);
    return refusal;
}

Verdict check_global_data(const Scene& scene) {
    const auto index = static_cast<std::uint32_t>(scene.instruction().immediate);
    const auto offset = static_cast<std::uint32_t>(scene.second_half().immediate);
    if (index == Object::kConstantsMap && offset <= scene.object.constants.size())
        return std::nullopt;
    Refusal refusal;
    refusal.code = "EGPU-V001";
    refusal.message = "the program takes the address of data that the object doesn't have";
    refusal.why = fmt::format("instruction {} names map {}, byte {}", scene.at, index, offset);
    refusal.fix = "compile the program again; the object is damaged";
    if (index != Object::kConstantsMap && index < scene.object.maps.size()) {
        const MapDefinition& map = scene.map(index);
        if (map.is_array() && offset <= map.value_bytes)
            return check_map_available(scene, index);
        refusal.message = fmt::format("the program takes an address inside map '{}'", map.name);
    }
    return refusal;
}

}  // namespace egpu::ebpf
