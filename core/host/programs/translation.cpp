// SPDX-License-Identifier: Apache-2.0
#include "host/programs/translation.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "ebpf/events/events.hpp"
#include "ebpf/recheck/recheck.hpp"
#include "ebpf/specializer/specializer.hpp"
#include "inject/codegen/codegen.hpp"
#include "inject/codegen/grids.hpp"
#include "maps/layout/layout.hpp"
#include "maps/storage/storage.hpp"

namespace egpu::host {
namespace {

constexpr std::uint32_t kShards = 4;
constexpr std::uint32_t kParameters = 1024;  ///< as many as egpu_arg can name

/// A place where a program of this event finds all that it can find anywhere: a 4-byte access to global memory, or to
/// the space that it asks for; every parameter; a measured latency.
inject::SiteBinding plain_place(const ebpf::InjectionPoint& point) {
    inject::SiteBinding site;
    site.granularity = point.granularity;
    site.event = point.event;
    site.kernel_id = site.site_id = 1;
    if (point.granularity == ebpf::Granularity::grid)
        site.guard = inject::kGridThread;
    for (std::uint32_t number = 0; number < kParameters; ++number)
        site.arguments.push_back({"parameter" + std::to_string(number), 8});
    if (ebpf::context_of(point.event) != ebpf::ContextKind::mem)
        return site;
    site.space = point.space.value_or(ebpf::Space::global);
    site.access = point.event == ebpf::Event::store    ? ebpf::Access::store
                  : point.event == ebpf::Event::atomic ? ebpf::Access::atomic
                                                       : ebpf::Access::load;
    site.bytes_per_lane = 4;
    site.address_base = "%rd1";
    site.values = {"%r1"};
    site.value_type = "u32";
    if (ebpf::waits_for_value(point.event))
        site.latency = "%rd2";
    return site;
}

ebpf::SiteConstants constants_of(const inject::SiteBinding& site) {
    ebpf::SiteConstants constants;
    constants.fields = {{"kernel", site.kernel_id}, {"site", site.site_id}};
    if (!site.space)
        return constants;
    if (*site.space != ebpf::Space::generic)
        constants.fields["space"] = static_cast<std::uint64_t>(*site.space);
    constants.fields["access"] = static_cast<std::uint64_t>(site.access);
    constants.fields["bytes_per_lane"] = site.bytes_per_lane;
    return constants;
}

}  // namespace

std::vector<Diagnostic> refused_in_every_kernel(const ebpf::Object& object, const ebpf::Program& program) {
    const inject::SiteBinding site = plain_place(program.point);
    const auto any_slot = [&](std::uint32_t map, std::span<const std::byte> key) -> std::optional<std::uint32_t> {
        std::uint32_t index = 0;
        std::memcpy(&index, key.data(), std::min(key.size(), sizeof index));
        const bool outside = object.maps[map].is_array() && index >= object.maps[map].max_entries;
        return outside ? std::nullopt : std::optional(0u);
    };
    const auto constants = constants_of(site);
    const auto specialized = ebpf::specialize(object, program, constants, any_slot);
    if (!specialized)
        return specialized.errors();
    if (const auto checked = ebpf::recheck(*specialized, constants); !checked)
        return checked.errors();
    std::vector<maps::Layout> layouts;
    for (const auto& map : object.maps)
        layouts.push_back(maps::layout_of(map, kShards));
    inject::Table table;
    inject::FunctionContext function;
    function.target = {.sm = 90, .ptx_major = 8, .ptx_minor = 0};
    function.table = &table;
    function.layouts = &layouts;
    if (const auto probe = inject::emit_probe(*specialized, site, 0, function); !probe)
        return probe.errors();
    return {};
}

}  // namespace egpu::host
