// SPDX-License-Identifier: Apache-2.0
#include "host/series/rates.hpp"

#include <algorithm>

namespace egpu::host {
namespace {

std::uint64_t at(const std::vector<std::uint64_t>& clocks, std::uint32_t clock) {
    return clock < clocks.size() ? clocks[clock] : 0;
}

/// Launches are counted one by one while they are read: so much may be missed without a launch being missed.
bool covers(const RateWindow::Growth& part, const RateWindow::Growth& all) {
    return static_cast<double>(part.amount) + 2 >= static_cast<double>(all.amount) * 0.99;
}

}  // namespace

template <typename Value>
void RateWindow::add(Track<Value>& track, std::uint32_t clock, std::uint32_t epoch, const Value& value) {
    track.clock = clock;
    auto& entries = track.entries;
    const std::uint64_t ns = at(clocks_, clock);
    const std::uint64_t from = ns > window_ns_ ? ns - window_ns_ : 0;
    // What no sample before has named was not there, and counted 0: a kernel that is launched for the first time has
    // the window that all kernels together have. (What was there but unknown has a later epoch.)
    const std::uint64_t first_ns = at(first_clocks_, clock);
    if (entries.empty() && first_ns != 0 && first_ns < ns && epoch == kFirstEpoch)
        entries.push_back({first_ns, first_ns, epoch, Value{}});
    // One entry from before the window stays: its value held at the window's begin.
    while (entries.size() >= 2 && entries[1].ns <= from)
        entries.pop_front();
    const std::uint64_t before = std::max(at(clocks_before_, clock), entries.empty() ? 0 : entries.back().ns);
    entries.push_back({ns, std::min(before, ns), epoch, value});
}

void RateWindow::push(const Sample& sample, const SeriesTable& table) {
    clocks_before_ = std::move(clocks_);
    clocks_ = sample.clocks;
    first_clocks_.resize(std::max(first_clocks_.size(), clocks_.size()));
    for (std::size_t i = 0; i < clocks_.size(); ++i)
        first_clocks_[i] = first_clocks_[i] != 0 ? first_clocks_[i] : clocks_[i];
    now_ns_ = sample.monotonic_ns;
    for (const auto& point : sample.points) {
        if (point.series >= table.size())
            continue;
        if (point.series >= counters_.size())
            counters_.resize(table.size());
        add(counters_[point.series], table[point.series].clock, point.epoch, point.value);
    }
    for (const auto& point : sample.histograms)
        if (point.series < table.size())
            add(histograms_[point.series], table[point.series].clock, point.epoch, point.slots);
}

template <typename Value>
std::optional<RateWindow::Base<Value>> RateWindow::base_of(const Track<Value>& track) const {
    const auto& entries = track.entries;
    const std::uint64_t known = at(clocks_, track.clock);
    if (entries.empty() || entries.back().epoch == 0 || known == 0 || known + kStaleNs < now_ns_)
        return std::nullopt;
    const std::uint64_t from = known > window_ns_ ? known - window_ns_ : 0;
    std::size_t first = entries.size() - 1;
    while (first > 0 && entries[first].ns > from && entries[first - 1].epoch == entries.back().epoch)
        --first;
    Base<Value> base;
    base.then = &entries[first].value;
    base.now = &entries.back().value;
    // A value held from when it was read until just before the next one was.
    const std::uint64_t held_until = first + 1 < entries.size() ? entries[first + 1].before_ns : known;
    const std::uint64_t begin = std::max(entries[first].ns, std::min(from, held_until));
    base.ns = known > begin ? known - begin : 0;
    if (base.ns < std::min(kShortestWindowNs, window_ns_))
        return std::nullopt;
    return base;
}

std::optional<RateWindow::Growth> RateWindow::growth(std::uint32_t series) const {
    if (series >= counters_.size())
        return std::nullopt;
    const auto base = base_of(counters_[series]);
    if (!base || *base->now < *base->then)  // a damaged file's counter goes back
        return std::nullopt;
    return Growth{*base->now - *base->then, base->ns};
}

std::optional<double> RateWindow::rate(std::uint32_t series) const {
    const auto grown = growth(series);
    if (!grown)
        return std::nullopt;
    return static_cast<double>(grown->amount) * 1e9 / static_cast<double>(grown->ns);
}

std::optional<Percentiles> RateWindow::percentiles(std::span<const std::uint32_t> histograms) const {
    HistogramSlots sum{};
    for (const std::uint32_t series : histograms) {
        const auto found = histograms_.find(series);
        const auto base = found != histograms_.end() ? base_of(found->second) : std::nullopt;
        if (!base)
            continue;
        for (std::size_t i = 0; i < sum.size(); ++i)
            sum[i] += std::max((*base->now)[i], (*base->then)[i]) - (*base->then)[i];
    }
    return percentiles_of(sum);
}

KernelRates RateWindow::kernel(std::uint32_t kernel_id, const SeriesTable& table) const {
    const auto grown = [&](SessionField field) -> std::optional<Growth> {
        const auto series = table.of_session(field, kernel_id);
        return series ? growth(*series) : std::nullopt;
    };
    const auto per_second = [](const std::optional<Growth>& growth) -> std::optional<double> {
        if (!growth)
            return std::nullopt;
        return static_cast<double>(growth->amount) * 1e9 / static_cast<double>(growth->ns);
    };
    KernelRates rates;
    const auto launches = grown(SessionField::launches);
    const auto covered = grown(SessionField::traffic_launches);
    rates.launches = per_second(launches);
    rates.read = per_second(grown(SessionField::read_bytes));
    rates.written = per_second(grown(SessionField::written_bytes));
    if (!launches || !covered)
        return rates;
    // Launches of which none was counted: what they moved is not 0, it is unknown.
    if (launches->amount > 2 && covered->amount == 0)
        rates.read = rates.written = std::nullopt;
    rates.at_least = !covers(*covered, *launches);
    return rates;
}

}  // namespace egpu::host
