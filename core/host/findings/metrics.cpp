// SPDX-License-Identifier: Apache-2.0
#include "host/findings/metrics.hpp"

#include <algorithm>

#include "host/view/map_users.hpp"

namespace egpu::host {
namespace {

constexpr double kSectorBytes = 32;

bool is_load(const Site& site) {
    return site.opcode.starts_with("ld");
}

void add(std::optional<std::uint64_t>& sum, std::uint64_t value) {
    sum = sum.value_or(0) + value;
}

/// Its counts are of some blocks or warps only: no total, and nothing over the time of a launch, is made of them.
bool is_sampled(const SessionView& view, const MapData& data) {
    return !view.catalogue.sampling_of(data.probe()).is_all();
}

/// True where a program of the map's probe runs at all global loads (stores): what it didn't count is then 0.
bool covers(const SessionView& view, const MapData& data, ebpf::Event event) {
    const std::string_view probe = data.probe();
    for (const auto& each : view.catalogue.probes) {
        const auto point =
            each.probe == probe ? ebpf::parse_section(each.section) : Result<ebpf::InjectionPoint>(Diagnostic{});
        const bool was_there = each.state == ProbeState::attached || each.state == ProbeState::detached;
        if (point && was_there && point->kernel_pattern.empty() &&
            (point->event == ebpf::Event::mem || point->event == event) &&
            (!point->space || *point->space == ebpf::Space::global))
            return true;
    }
    return false;
}

/// requested_bytes of one map keyed by kernel, space and access.
void add_traffic(const MapData& data, const SessionView& view, std::map<std::uint32_t, KernelMetrics>& metrics) {
    for (const auto& row : read_rows(data, view.catalogue)) {
        const auto bytes = row.value_named("requested_bytes");
        const TrafficPart part = traffic_part(row);
        if (!bytes || row.kernel_id == 0)
            continue;
        auto& kernel = metrics[row.kernel_id];
        if (part.read)
            add(kernel.read_bytes, *bytes);
        if (part.written)
            add(kernel.written_bytes, *bytes);
    }
}

/// A kernel that was counted whole and made no access of one kind has 0 of it, not "n/a"; anything else stays unknown.
void complete_traffic(const MapData& data, const SessionView& view, std::map<std::uint32_t, KernelMetrics>& metrics) {
    const bool whole = view.drained && !data.is_full() && refused_users(view, data).empty();
    const bool loads = covers(view, data, ebpf::Event::load), stores = covers(view, data, ebpf::Event::store);
    const auto by_kernel = view.coverage_by_kernel(data);
    for (const auto& kernel : view.catalogue.kernels) {
        const Coverage coverage =
            kernel.id >= 1 && kernel.id <= by_kernel.size() ? by_kernel[kernel.id - 1] : Coverage{};
        const bool was_instrumented = coverage.covered != 0;
        if (kernel.state != KernelState::instrumented && !was_instrumented)
            continue;
        auto& entry = metrics[kernel.id];
        entry.traffic_launches = coverage.covered;
        if (whole && loads)
            entry.read_bytes = entry.read_bytes.value_or(0);
        if (whole && stores)
            entry.written_bytes = entry.written_bytes.value_or(0);
        // Launches that --sample or --overhead leaves out are said in the launches' own column.
        const std::uint64_t sampled_out = view.counts[kernel.id - 1].left_out;
        entry.at_least =
            !whole || coverage.covered + sampled_out < coverage.launches || counts_in_part(view, data, kernel.id);
    }
}

bool has_field(const ebpf::TypeShape& shape, std::string_view name) {
    return std::any_of(shape.fields.begin(), shape.fields.end(), [&](const auto& field) { return field.name == name; });
}

bool has_role(const ebpf::TypeShape& shape, ebpf::Role role) {
    return std::any_of(shape.fields.begin(), shape.fields.end(), [&](const auto& field) { return field.role == role; });
}

bool has_traffic_fields(const MapData& data) {
    const auto& definition = data.map->definition;
    return has_field(definition.value, "requested_bytes") && has_field(definition.key, "space") &&
           has_field(definition.key, "access") && has_role(definition.key, ebpf::Role::kernel_id);
}

bool has_sector_fields(const MapData& data) {
    const auto& definition = data.map->definition;
    return has_field(definition.value, "requests") && has_field(definition.value, "sectors") &&
           has_role(definition.key, ebpf::Role::site_id);
}

bool has_traffic(const SessionView& view, const MapData& data) {
    return has_traffic_fields(data) && !is_sampled(view, data) &&
           (covers(view, data, ebpf::Event::load) || covers(view, data, ebpf::Event::store));
}

bool is_attached(const SessionView& view, const MapData& data) {
    const auto probe = data.probe();
    return std::any_of(view.catalogue.probes.begin(), view.catalogue.probes.end(),
                       [&](const Probe& each) { return each.probe == probe && each.state == ProbeState::attached; });
}

/// The first map that `wanted` takes: of a probe that is attached, else of any.
template <typename Wanted>
const MapData* first_map(const SessionView& view, const Wanted& wanted) {
    const MapData* found = nullptr;
    for (const auto& data : view.maps)
        if (wanted(data)) {
            if (is_attached(view, data))
                return &data;
            if (found == nullptr)
                found = &data;
        }
    return found;
}

const MapData* sector_map(const SessionView& view) {
    return first_map(view, [&](const MapData& data) { return data.age_ns && has_sector_fields(data); });
}

/// Launches that were timed, alone or in pairs with their originals, of all copies of a kernel.
void add_launch_times(const SessionView& view, std::map<std::uint32_t, KernelMetrics>& metrics) {
    std::map<std::uint32_t, std::uint64_t> sums;
    for (std::size_t i = 0; i < view.copy_times.size() && i < view.catalogue.copies.size(); ++i) {
        const LaunchTimes& times = view.copy_times[i];
        const std::uint64_t timed = times.single_launches + times.pairs;
        if (timed == 0)
            continue;
        const std::uint32_t kernel = view.catalogue.copies[i].kernel_id;
        sums[kernel] += times.single_ns + times.instrumented_ns;
        metrics[kernel].timed_launches += timed;
    }
    for (const auto& [kernel, ns] : sums)
        metrics[kernel].launch_ns = static_cast<double>(ns) / static_cast<double>(metrics[kernel].timed_launches);
}

bool has_gpu_times(const SessionView& view, const MapData& data) {
    const auto& definition = data.map->definition;
    const bool of_time = std::any_of(
        definition.value.fields.begin(), definition.value.fields.end(),
        [](const auto& field) { return field.name == "kernel_time" && field.role == ebpf::Role::nanoseconds; });
    return !view.simulated && !is_sampled(view, data) && of_time && has_field(definition.value, "launches") &&
           has_role(definition.key, ebpf::Role::kernel_id);
}

const MapData* gpu_time_map(const SessionView& view) {
    return first_map(view, [&](const MapData& data) { return data.age_ns && has_gpu_times(view, data); });
}

/// Rows of one kernel may differ in more of their key: they are added up.
void add_gpu_times(const MapData& data, const SessionView& view, std::map<std::uint32_t, KernelMetrics>& metrics) {
    for (const auto& row : read_rows(data, view.catalogue)) {
        const auto launches = row.value_named("launches"), ns = row.value_named("kernel_time");
        if (row.kernel_id == 0 || !launches || !ns || *launches == 0)
            continue;
        add(metrics[row.kernel_id].gpu_ns, *ns);
        metrics[row.kernel_id].gpu_launches += *launches;
    }
}

/// Bytes that a launch asked for / the time that it took, at most.
void add_throughput(KernelMetrics& kernel) {
    if (!kernel.launch_ns || !kernel.read_bytes || !kernel.written_bytes || kernel.traffic_launches == 0)
        return;
    const auto bytes = static_cast<double>(*kernel.read_bytes) + static_cast<double>(*kernel.written_bytes);
    kernel.bytes_per_second = bytes / static_cast<double>(kernel.traffic_launches) / *kernel.launch_ns * 1e9;
}

const MapData* traffic_map(const SessionView& view) {
    return first_map(view, [&](const MapData& data) { return data.age_ns && has_traffic(view, data); });
}

}  // namespace

std::optional<TrafficSource> traffic_source(const SessionView& view) {
    const MapData* data = traffic_map(view);
    if (data == nullptr)
        return std::nullopt;
    return TrafficSource{data, covers(view, *data, ebpf::Event::load), covers(view, *data, ebpf::Event::store)};
}

TrafficPart traffic_part(const Row& row) {
    const KeyCell* space = row.key_named("space");
    const KeyCell* access = row.key_named("access");
    if (space == nullptr || access == nullptr || space->text != "global")
        return {};
    return {.read = access->text != "store", .written = access->text != "load"};
}

bool feeds_metrics(const SessionView& view, const MapData& data) {
    return &data == traffic_map(view) || &data == sector_map(view) || &data == gpu_time_map(view);
}

std::vector<SiteMetrics> site_metrics(const SessionView& view) {
    std::vector<SiteMetrics> sites;
    if (const MapData* data = sector_map(view)) {
        const auto by_kernel = view.coverage_by_kernel(*data);
        const Sampling sampling = view.catalogue.sampling_of(data->probe());
        for (const auto& row : read_rows(*data, view.catalogue)) {
            const auto requests = row.value_named("requests");
            const auto sectors = row.value_named("sectors");
            if (row.site_id == 0 || !requests || !sectors)
                continue;
            const Site* site = view.catalogue.site(row.site_id);
            sites.push_back({row.site_id, *requests, *sectors, row.value_named("requested_bytes"),
                             site != nullptr && site->kernel_id >= 1 && site->kernel_id <= by_kernel.size()
                                 ? by_kernel[site->kernel_id - 1].covered
                                 : 0,
                             sampling});
        }
    }
    return sites;
}

std::map<std::uint32_t, KernelMetrics> kernel_metrics(const SessionView& view) {
    std::map<std::uint32_t, KernelMetrics> metrics;
    if (const MapData* data = traffic_map(view)) {
        add_traffic(*data, view, metrics);
        complete_traffic(*data, view, metrics);
    }
    struct Loads {
        std::uint64_t requests = 0, sectors = 0, bytes = 0, launches = 0;
        bool bytes_known = true;
        Sampling sampling;
    };
    std::map<std::uint32_t, Loads> loads;
    for (const auto& site : site_metrics(view)) {
        const Site* record = view.catalogue.site(site.site_id);
        if (record == nullptr || !is_load(*record))
            continue;
        auto& sum = loads[record->kernel_id];
        sum.launches = site.launches;
        sum.sampling = site.sampling;
        sum.requests += site.requests;
        sum.sectors += site.sectors;
        sum.bytes += site.requested_bytes.value_or(0);
        sum.bytes_known = sum.bytes_known && site.requested_bytes.has_value();
    }
    for (const auto& [kernel, sum] : loads) {
        if (sum.requests == 0 || sum.sectors == 0)
            continue;
        auto& entry = metrics[kernel];
        entry.sector_launches = sum.launches;
        entry.sector_sampling = sum.sampling;
        entry.sectors_per_load = static_cast<double>(sum.sectors) / static_cast<double>(sum.requests);
        if (sum.bytes_known)
            entry.sector_use =
                std::min(1.0, static_cast<double>(sum.bytes) / (kSectorBytes * static_cast<double>(sum.sectors)));
    }
    if (const MapData* data = gpu_time_map(view))
        add_gpu_times(*data, view, metrics);
    add_launch_times(view, metrics);
    for (auto& [kernel, entry] : metrics)
        add_throughput(entry);
    return metrics;
}

}  // namespace egpu::host
