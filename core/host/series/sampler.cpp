// SPDX-License-Identifier: Apache-2.0
#include "host/series/sampler.hpp"

#include <algorithm>

namespace egpu::host {
namespace {

SeriesUnit unit_of(const ebpf::TypeField& field) {
    if (field.histogram == "log2_cycles" || field.role == ebpf::Role::cycles)
        return SeriesUnit::cycles;
    if (field.histogram == "log2_ns" || field.role == ebpf::Role::nanoseconds)
        return SeriesUnit::nanoseconds;
    if (field.histogram == "log2_bytes" || field.role == ebpf::Role::bytes)
        return SeriesUnit::bytes;
    return field.role == ebpf::Role::count ? SeriesUnit::count : SeriesUnit::number;
}

bool is_histogram(const ebpf::TypeField& field) {
    return !field.histogram.empty() && field.elements == std::tuple_size_v<HistogramSlots>;
}

bool any_set(std::span<const std::uint64_t> values) {
    return std::any_of(values.begin(), values.end(), [](std::uint64_t value) { return value != 0; });
}

std::string key_label(const Row& row) {
    std::string label;
    for (const auto& cell : row.key)
        label += (label.empty() ? "" : " ") + cell.text;
    return label;
}

std::string text_of(const Row& row, std::string_view key) {
    const KeyCell* cell = row.key_named(key);
    return cell != nullptr ? cell->text : std::string();
}

/// A key of a kernel or site that the catalogue does not know yet: it is looked at again.
bool is_known(const Row& row) {
    return std::none_of(row.key.begin(), row.key.end(), [&](const KeyCell& cell) {
        return (cell.field->role == ebpf::Role::kernel_id && row.kernel_id == 0) ||
               (cell.field->role == ebpf::Role::site_id && row.site_id == 0);
    });
}

}  // namespace

Sample Sampler::sample(const SessionView& view) {
    Sample sample;
    sample.unix_ns = view.unix_ns;
    sample.monotonic_ns = view.monotonic_ns;
    clocks_.resize(std::max(clocks_.size(), kFirstMapClock + view.maps.size()));
    clocks_[kSessionClock] = view.monotonic_ns;
    sample.clocks = clocks_;  // those of maps that were not copied stand still
    maps_.resize(std::max(maps_.size(), view.maps.size()));
    sample_launches(view, sample);
    for (std::size_t i = 0; i < view.maps.size(); ++i)
        sample_map(view, i, sample);
    sample_traffic(view, sample);
    clocks_ = sample.clocks;
    return sample;
}

std::uint32_t Sampler::add_series(Series series) {
    Last last;
    if (series.kind == SeriesKind::histogram) {
        slots_.push_back(std::make_unique<HistogramSlots>());
        last.slots = slots_.back().get();
    }
    last_.push_back(last);
    return table_.add(std::move(series));
}

std::uint32_t Sampler::session_series(SessionField field, std::uint32_t kernel_id) {
    if (const auto found = table_.of_session(field, kernel_id))
        return *found;
    const bool bytes = field == SessionField::read_bytes || field == SessionField::written_bytes;
    Series series;
    series.unit = bytes ? SeriesUnit::bytes : SeriesUnit::count;
    series.map = kSessionMap;
    series.field = to_name(field);
    series.kernel_id = kernel_id;
    series.clock = bytes ? kTrafficClock : kSessionClock;
    if (field == SessionField::read_bytes)
        series.access = "load";
    if (field == SessionField::written_bytes)
        series.access = "store";
    if (bytes)
        series.space = "global";
    return add_series(std::move(series));
}

void Sampler::put(std::uint32_t series, std::optional<std::uint64_t> value, Sample& sample) {
    Last& last = last_[series];
    if (!value) {
        if (last.epoch != 0)
            sample.points.push_back({series, 0, last.value});
        last.epoch = 0;
        last.epochs = std::max(last.epochs, kFirstEpoch);
        return;
    }
    if (last.epoch != 0 && *value == last.value)
        return;
    if (last.epoch == 0 || *value < last.value)
        begin_epoch(last);
    last.value = *value;
    sample.points.push_back({series, last.epoch, *value});
}

void Sampler::put_histogram(std::uint32_t series, std::span<const std::uint64_t> slots, bool known, Sample& sample) {
    Last& last = last_[series];
    if (!known) {
        if (last.epoch != 0)
            sample.histograms.push_back({series, 0, *last.slots});
        last.epoch = 0;
        last.epochs = std::max(last.epochs, kFirstEpoch);
        return;
    }
    if (last.epoch != 0 && std::equal(slots.begin(), slots.end(), last.slots->begin()))
        return;
    bool back = false;
    for (std::size_t i = 0; i < slots.size(); ++i)
        back = back || slots[i] < (*last.slots)[i];
    if (last.epoch == 0 || back)
        begin_epoch(last);
    std::copy(slots.begin(), slots.end(), last.slots->begin());
    sample.histograms.push_back({series, last.epoch, *last.slots});
}

void Sampler::sample_launches(const SessionView& view, Sample& sample) {
    KernelCounts sum;
    for (std::size_t i = 0; i < view.counts.size(); ++i) {
        const KernelCounts& counts = view.counts[i];
        if (counts.launches == 0)
            continue;
        const auto kernel_id = static_cast<std::uint32_t>(i + 1);
        put(session_series(SessionField::launches, kernel_id), counts.launches, sample);
        put(session_series(SessionField::instrumented, kernel_id), counts.instrumented, sample);
        put(session_series(SessionField::left_out, kernel_id), counts.left_out, sample);
        sum.launches += counts.launches;
        sum.instrumented += counts.instrumented;
        sum.left_out += counts.left_out;
    }
    put(session_series(SessionField::launches, 0), sum.launches, sample);
    put(session_series(SessionField::instrumented, 0), sum.instrumented, sample);
    put(session_series(SessionField::left_out, 0), sum.left_out, sample);
}

Sampler::Counting Sampler::counting(const SessionView& view, const MapData& data) {
    const auto& catalogue = view.catalogue;
    const std::string_view probe = data.probe();
    std::vector<bool> own(catalogue.probes.size());
    Counting result;
    for (std::size_t i = 0; i < own.size(); ++i) {
        own[i] = catalogue.probes[i].probe == probe;
        result.attached = result.attached || (own[i] && catalogue.probes[i].state == ProbeState::attached);
    }
    result.kernels.assign(catalogue.kernels.size(), false);
    for (std::size_t i = 0; i < catalogue.kernels.size(); ++i) {
        const std::uint32_t copy = catalogue.kernels[i].copy;
        if (copy == 0 || copy > catalogue.copies.size())
            continue;
        const auto& holds = catalogue.copies[copy - 1].probes;
        result.kernels[i] = std::any_of(holds.begin(), holds.end(),
                                        [&](std::uint32_t index) { return index < own.size() && own[index]; });
    }
    return result;
}

Sampler::Entry Sampler::make_entry(const MapData& data, std::size_t index, const Row& row) {
    Entry entry;
    entry.kernel_id = row.kernel_id;
    entry.traffic = traffic_part(row);
    for (const auto& field : data.map->definition.value.fields) {
        const bool histogram = is_histogram(field);
        if (field.elements != 1 && !histogram) {
            entry.series.push_back(kNone);
            continue;
        }
        Series series;
        series.kind = histogram ? SeriesKind::histogram : SeriesKind::counter;
        series.unit = unit_of(field);
        series.map = data.map->name;
        series.field = column_name(*data.map, field);
        series.kernel_id = row.kernel_id;
        series.site_id = row.site_id;
        series.space = text_of(row, "space");
        series.access = text_of(row, "access");
        series.label = key_label(row);
        series.clock = kFirstMapClock + static_cast<std::uint32_t>(index);
        entry.series.push_back(add_series(std::move(series)));
    }
    return entry;
}

void Sampler::sample_map(const SessionView& view, std::size_t index, Sample& sample) {
    const MapData& data = view.maps[index];
    MapState& state = maps_[index];
    if (!data.age_ns || data.map == nullptr)
        return;
    sample.clocks[kFirstMapClock + index] = view.monotonic_ns - std::min(*data.age_ns, view.monotonic_ns);
    const RowReader reader(data, view.catalogue);
    const Counting counts = counting(view, data);
    const std::uint32_t slots = std::min(reader.slots(), kMostSeriesEntries);
    left_out_ = std::max<std::uint64_t>(left_out_, reader.slots() - slots);
    state.entries.resize(std::max<std::size_t>(state.entries.size(), slots));
    const auto& fields = data.map->definition.value.fields;
    std::vector<std::uint64_t> values;
    for (std::uint32_t slot = 0; slot < slots; ++slot) {
        Entry& entry = state.entries[slot];
        if (!reader.values(slot, values) || (entry.series.empty() && !any_set(values)))
            continue;
        if (entry.series.empty()) {
            const Row row = reader.key(slot);
            if (!is_known(row))
                continue;
            entry = make_entry(data, index, row);
        }
        const bool known = counts.of(entry.kernel_id);
        std::size_t at = 0;
        for (std::size_t i = 0; i < fields.size(); at += fields[i].elements, ++i) {
            if (entry.series[i] == kNone)
                continue;
            const auto own = std::span(values).subspan(at, fields[i].elements);
            if (is_histogram(fields[i]))
                put_histogram(entry.series[i], own, known, sample);
            else
                put(entry.series[i], known ? std::optional(own[0]) : std::nullopt, sample);
        }
    }
}

Sampler::TrafficSums Sampler::sum_traffic(const MapData& data, const MapState& state, std::size_t kernels) const {
    TrafficSums sums{std::vector<std::uint64_t>(kernels + 1), std::vector<std::uint64_t>(kernels + 1)};
    const auto& fields = data.map->definition.value.fields;
    const auto found = std::find_if(fields.begin(), fields.end(),
                                    [](const ebpf::TypeField& field) { return field.name == "requested_bytes"; });
    const auto field = static_cast<std::size_t>(found - fields.begin());
    for (const Entry& entry : state.entries) {
        if (field >= entry.series.size() || entry.series[field] == kNone || entry.kernel_id == 0 ||
            entry.kernel_id > kernels)
            continue;
        const std::uint64_t bytes = last_[entry.series[field]].value;
        for (const std::uint32_t kernel : {std::uint32_t{0}, entry.kernel_id}) {
            sums.read[kernel] += entry.traffic.read ? bytes : 0;
            sums.written[kernel] += entry.traffic.written ? bytes : 0;
        }
    }
    return sums;
}

void Sampler::put_traffic(SessionField field, std::uint32_t kernel_id, std::optional<std::uint64_t> value, bool anew,
                          Sample& sample) {
    if (!value && !table_.of_session(field, kernel_id)) {
        unknown_traffic_.emplace(field, kernel_id);
        return;
    }
    const std::uint32_t series = session_series(field, kernel_id);
    if (unknown_traffic_.erase({field, kernel_id}) != 0)
        last_[series].epochs = kFirstEpoch;  // it begins with what nobody knows since when it grew
    // Another map took over: it has counted other launches.
    if (anew && value)
        last_[series].epoch = 0;
    put(series, value, sample);
}

void Sampler::sample_traffic(const SessionView& view, Sample& sample) {
    const auto source = traffic_source(view);
    const std::string name = source ? source->data->map->name : std::string();
    const bool anew = name != traffic_map_;
    traffic_map_ = name;
    const std::size_t kernels = view.catalogue.kernels.size();
    TrafficSums sums{std::vector<std::uint64_t>(kernels + 1), std::vector<std::uint64_t>(kernels + 1)};
    Counting counts{.attached = false, .kernels = std::vector<bool>(kernels)};
    std::vector<Coverage> coverage(kernels);
    if (source) {
        const auto index = static_cast<std::size_t>(source->data - view.maps.data());
        sums = sum_traffic(*source->data, maps_[index], kernels);
        counts = counting(view, *source->data);
        coverage = view.coverage_by_kernel(*source->data);
        sample.clocks[kTrafficClock] = sample.clocks[kFirstMapClock + index];
    }
    std::uint64_t covered = 0;
    const auto put_all = [&](std::uint32_t kernel, std::uint64_t launches) {
        const auto when = [](bool known, std::uint64_t value) { return known ? std::optional(value) : std::nullopt; };
        const bool known = counts.of(kernel);
        put_traffic(SessionField::traffic_launches, kernel, when(known, launches), anew, sample);
        put_traffic(SessionField::read_bytes, kernel, when(known && source->loads, sums.read[kernel]), anew, sample);
        put_traffic(SessionField::written_bytes, kernel, when(known && source->stores, sums.written[kernel]), anew,
                    sample);
    };
    for (std::size_t i = 0; i < kernels; ++i) {
        covered += coverage[i].covered;
        if (i < view.counts.size() && view.counts[i].launches != 0)
            put_all(static_cast<std::uint32_t>(i + 1), coverage[i].covered);
    }
    put_all(0, covered);
}

}  // namespace egpu::host
