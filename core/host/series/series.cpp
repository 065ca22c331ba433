// SPDX-License-Identifier: Apache-2.0
#include "host/series/series.hpp"

#include <algorithm>

namespace egpu::host {
namespace {

constexpr std::array kUnitNames = {"number", "count", "bytes", "cycles", "nanoseconds"};
constexpr std::array kKindNames = {"counter", "histogram"};
constexpr std::array<const char*, kSessionFields> kFieldNames = {"launches",         "instrumented", "left_out",
                                                                 "traffic_launches", "read_bytes",   "written_bytes"};
/// A file may name any kernel; an index is kept for so many.
constexpr std::uint32_t kMostIndexed = 1u << 20;

}  // namespace

const char* to_name(SeriesUnit unit) {
    return kUnitNames[static_cast<std::size_t>(unit)];
}
const char* to_name(SeriesKind kind) {
    return kKindNames[static_cast<std::size_t>(kind)];
}
const char* to_name(SessionField field) {
    return kFieldNames[static_cast<std::size_t>(field)];
}

std::uint32_t SeriesTable::add(Series series) {
    series.id = size();
    if (series.map == kSessionMap && series.kernel_id < kMostIndexed) {
        const auto field = std::find(kFieldNames.begin(), kFieldNames.end(), series.field);
        if (series.kernel_id >= session_.size()) {
            std::array<std::uint32_t, kSessionFields> none;
            none.fill(kNone);
            session_.resize(std::size_t{series.kernel_id} + 1, none);
        }
        if (field != kFieldNames.end())
            session_[series.kernel_id][static_cast<std::size_t>(field - kFieldNames.begin())] = series.id;
    }
    if (series.kind == SeriesKind::histogram)
        histograms_.push_back(series.id);
    all_.push_back(std::move(series));
    return all_.back().id;
}

std::optional<std::uint32_t> SeriesTable::of_session(SessionField field, std::uint32_t kernel_id) const {
    if (kernel_id >= session_.size())
        return std::nullopt;
    const std::uint32_t id = session_[kernel_id][static_cast<std::size_t>(field)];
    return id == kNone ? std::nullopt : std::optional(id);
}

std::vector<std::uint32_t> SeriesTable::histograms(std::uint32_t kernel_id) const {
    if (kernel_id == 0)
        return histograms_;
    std::vector<std::uint32_t> found;
    for (const std::uint32_t id : histograms_)
        if (all_[id].kernel_id == kernel_id)
            found.push_back(id);
    return found;
}

}  // namespace egpu::host
