// SPDX-License-Identifier: Apache-2.0
#include "host/view/session_view.hpp"

#include <algorithm>
#include <map>

namespace egpu::host {

FormerLaunches& FormerLaunches::operator+=(const FormerLaunches& other) {
    busy += other.busy;
    no_source += other.no_source;
    changed += other.changed;
    refused += other.refused;
    return *this;
}

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

std::uint64_t SessionView::left_out_launches() const {
    std::uint64_t sum = 0;
    for (const auto& count : counts)
        sum += count.left_out;
    return sum;
}

Coverage SessionView::coverage(std::string_view probe, std::uint32_t kernel_id) const {
    std::map<std::uint32_t, std::uint64_t> covered;  // by kernel id
    for (std::size_t i = 0; i < catalogue.copies.size(); ++i) {
        const Copy& copy = catalogue.copies[i];
        const bool holds_it = std::any_of(copy.probes.begin(), copy.probes.end(), [&](std::uint32_t index) {
            return index < catalogue.probes.size() && catalogue.probes[index].probe == probe;
        });
        if (holds_it && (kernel_id == 0 || copy.kernel_id == kernel_id))
            covered[copy.kernel_id] += i < copies.size() ? copies[i].launches : 0;
    }
    Coverage coverage;
    for (const auto& [kernel, launches] : covered) {
        const std::uint64_t all = kernel >= 1 && kernel <= counts.size() ? counts[kernel - 1].launches : 0;
        coverage.launches += all;
        coverage.covered += std::min(launches, all);  // the two are read one after the other, while they grow
    }
    return coverage;
}

Coverage SessionView::coverage_of(const MapData& data, std::uint32_t kernel_id) const {
    return coverage(std::string_view(data.map->name).substr(0, data.map->name.find('/')), kernel_id);
}

bool SessionView::complete() const {
    bool whole =
        drained && unknown_launches == 0 && unasked_launches == 0 && partly_counted_graphs == 0 && other_processes == 0;
    // A kernel that no probe asks for is not missed; any other state than "instrumented" is.
    for (std::size_t i = 0; i < counts.size(); ++i)
        whole = whole && (catalogue.kernels[i].state == KernelState::not_matched ||
                          counts[i].launches == counts[i].instrumented);
    for (const auto& data : maps) {
        whole = whole && data.refused_keys == 0;
        // A probe that came or went while another stayed: its kernel's launches are all instrumented, but not by it.
        for (const auto& kernel : catalogue.kernels) {
            const Coverage part = coverage_of(data, kernel.id);
            whole = whole && (part.covered == 0 || part.whole());
        }
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
