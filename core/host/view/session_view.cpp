// SPDX-License-Identifier: Apache-2.0
#include "host/view/session_view.hpp"

#include <algorithm>

#include "host/view/map_users.hpp"

namespace egpu::host {
namespace {

/// The sum of what `number` gives of each row.
template <typename Rows, typename Number>
std::uint64_t total(const Rows& rows, Number number) {
    std::uint64_t sum = 0;
    for (const auto& row : rows)
        sum += number(row);
    return sum;
}

/// Of one kernel, or (0) of all.
Coverage sum_of(const std::vector<Coverage>& by_kernel, std::uint32_t kernel_id) {
    Coverage sum;
    for (std::size_t i = 0; i < by_kernel.size(); ++i)
        if (kernel_id == 0 || kernel_id == i + 1) {
            sum.covered += by_kernel[i].covered;
            sum.launches += by_kernel[i].launches;
        }
    return sum;
}

}  // namespace

FormerLaunches& FormerLaunches::operator+=(const FormerLaunches& other) {
    busy += other.busy;
    no_source += other.no_source;
    changed += other.changed;
    refused += other.refused;
    return *this;
}

std::uint64_t SessionView::launches() const {
    return total(counts, [](const KernelCounts& each) { return each.launches; });
}

std::uint64_t SessionView::instrumented_launches() const {
    return total(counts, [](const KernelCounts& each) { return each.instrumented; });
}

std::uint64_t SessionView::left_out_launches() const {
    return total(counts, [](const KernelCounts& each) { return each.left_out; });
}

/// Of copies that hold any of these programs, by index in Catalogue::probes.
std::vector<Coverage> SessionView::coverage_of_programs(const std::vector<bool>& programs) const {
    std::vector<Coverage> by_kernel(catalogue.kernels.size());
    for (std::size_t i = 0; i < catalogue.copies.size(); ++i) {
        const Copy& copy = catalogue.copies[i];
        const bool holds_one = std::any_of(copy.probes.begin(), copy.probes.end(), [&](std::uint32_t index) {
            return index < programs.size() && programs[index];
        });
        if (!holds_one || copy.kernel_id < 1 || copy.kernel_id > by_kernel.size())
            continue;
        Coverage& coverage = by_kernel[copy.kernel_id - 1];
        coverage.launches = copy.kernel_id <= counts.size() ? counts[copy.kernel_id - 1].launches : 0;
        coverage.covered += i < copies.size() ? copies[i].launches : 0;
    }
    for (Coverage& coverage : by_kernel)  // the two are read one after the other, while they grow
        coverage.covered = std::min(coverage.covered, coverage.launches);
    return by_kernel;
}

std::vector<Coverage> SessionView::coverage_by_kernel(std::string_view probe) const {
    std::vector<bool> is_probe;
    for (const Probe& each : catalogue.probes)
        is_probe.push_back(each.probe == probe);
    return coverage_of_programs(is_probe);
}

std::vector<Coverage> SessionView::coverage_by_kernel(const MapData& data) const {
    std::vector<bool> uses;
    for (const Probe& each : catalogue.probes)
        uses.push_back(uses_map(catalogue, each, data));
    return coverage_of_programs(uses);
}

Coverage SessionView::coverage(std::string_view probe, std::uint32_t kernel_id) const {
    return sum_of(coverage_by_kernel(probe), kernel_id);
}

Coverage SessionView::coverage_of(const MapData& data, std::uint32_t kernel_id) const {
    return sum_of(coverage_by_kernel(data), kernel_id);
}

std::uint64_t SessionView::refused_keys() const {
    return total(maps, [](const MapData& each) { return each.refused_keys; });
}

std::uint64_t SessionView::dropped_records() const {
    return total(maps, [](const MapData& each) { return each.ring ? each.ring->dropped : 0; });
}

std::uint64_t SessionView::refused_lookups() const {
    return total(maps, [](const MapData& each) { return each.refused_lookups; });
}

bool SessionView::complete() const {
    bool whole = drained && unknown_launches == 0 && unasked_launches == 0 && partly_counted_graphs == 0 &&
                 not_followed_launches == 0 && other_processes == 0;
    // A kernel that no probe asks for is not missed; any other state than "instrumented" is.
    for (std::size_t i = 0; i < counts.size(); ++i)
        whole = whole && (catalogue.kernels[i].state == KernelState::not_matched ||
                          counts[i].launches == counts[i].instrumented);
    for (const auto& data : maps) {
        if (data.ring)
            whole = whole && data.ring->dropped == 0 && data.ring->behind == 0 && !data.ring->damaged;
        whole = whole && !data.is_full() && refused_users(*this, data).empty();
        // A probe that came or went while another stayed: its kernel's launches are all instrumented, but not by it.
        for (const Coverage& part : coverage_by_kernel(data))
            whole = whole && (part.covered == 0 || part.whole());
    }
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
