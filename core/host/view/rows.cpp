// SPDX-License-Identifier: Apache-2.0
#include "host/view/rows.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.hpp"
#include "maps/snapshot/snapshot.hpp"

namespace egpu::host {
namespace {

std::uint64_t load(const std::byte* from, std::uint32_t bytes, bool is_signed) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, std::min<std::uint32_t>(bytes, 8));
    if (is_signed && bytes < 8) {
        const unsigned shift = 64 - bytes * 8;
        value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
    }
    return value;
}

std::string enumerator_text(const ebpf::TypeField& field, std::uint64_t raw) {
    for (const auto& [value, name] : field.enumerators)
        if (static_cast<std::uint64_t>(value) == raw)
            return name;
    return std::to_string(raw);
}

std::string key_text(const Catalogue& catalogue, const ebpf::TypeField& field, std::uint64_t raw) {
    if (field.role == ebpf::Role::kernel_id) {
        const Kernel* kernel = catalogue.kernel(raw);
        return kernel != nullptr ? kernel->name : fmt::format("kernel {}", raw);
    }
    if (field.role == ebpf::Role::site_id) {
        const Site* site = catalogue.site(raw);
        return site != nullptr ? site_text(catalogue, *site) : fmt::format("site {}", raw);
    }
    if (field.role == ebpf::Role::address)
        return fmt::format("{:#x}", raw);
    if (!field.enumerators.empty())
        return enumerator_text(field, raw);
    return field.is_signed ? std::to_string(static_cast<std::int64_t>(raw)) : std::to_string(raw);
}

void read_key(const std::byte* key, const MapData& data, const Catalogue& catalogue, Row& row) {
    for (const auto& field : data.map->definition.key.fields) {
        if (field.elements != 1)
            continue;
        const std::uint64_t raw = load(key + field.offset, field.bytes, field.is_signed);
        row.key.push_back({&field, raw, key_text(catalogue, field, raw)});
        if (field.role == ebpf::Role::kernel_id && catalogue.kernel(raw) != nullptr)
            row.kernel_id = static_cast<std::uint32_t>(raw);
        if (field.role == ebpf::Role::site_id && catalogue.site(raw) != nullptr) {
            row.site_id = static_cast<std::uint32_t>(raw);
            row.kernel_id = catalogue.site(raw)->kernel_id;
        }
    }
}

/// The numbers of a value that are summed over shards; built once per map.
std::vector<maps::FieldRange> summed_fields(const ebpf::TypeShape& value) {
    std::vector<maps::FieldRange> ranges;
    for (const auto& field : value.fields)
        for (std::uint32_t i = 0; i < field.elements && (field.bytes == 4 || field.bytes == 8); ++i)
            ranges.push_back({field.offset + i * field.bytes, field.bytes});
    return ranges;
}

bool all_zero(const std::vector<std::uint64_t>& numbers) {
    return std::all_of(numbers.begin(), numbers.end(), [](std::uint64_t number) { return number == 0; });
}

void give_values(const std::vector<std::uint64_t>& numbers, const ebpf::TypeShape& shape, Row& row) {
    auto next = numbers.begin();
    for (const auto& field : shape.fields) {
        row.values.push_back({&field, std::vector<std::uint64_t>(next, next + field.elements)});
        next += field.elements;
    }
}

/// Several sites of one line with one opcode: the second is called "... #2", and so on, in the order of their ids.
void tell_sites_apart(std::vector<Row>& rows) {
    std::map<std::string, std::vector<std::uint64_t>> ids;
    for (const auto& row : rows)
        for (const auto& cell : row.key)
            if (cell.field->role == ebpf::Role::site_id && row.site_id != 0)
                ids[cell.text].push_back(cell.raw);
    for (auto& [text, of_text] : ids) {
        std::sort(of_text.begin(), of_text.end());
        of_text.erase(std::unique(of_text.begin(), of_text.end()), of_text.end());
    }
    for (auto& row : rows)
        for (auto& cell : row.key) {
            const auto found = cell.field->role == ebpf::Role::site_id ? ids.find(cell.text) : ids.end();
            if (found == ids.end() || row.site_id == 0)
                continue;
            const auto at = std::lower_bound(found->second.begin(), found->second.end(), cell.raw);
            if (at != found->second.begin())
                cell.text += fmt::format(" #{}", at - found->second.begin() + 1);
        }
}

/// Slots of which the copy holds all that is needed.
std::size_t whole_slots(const MapData& data) {
    const std::size_t slot_bytes = std::size_t{data.layout.stride} * data.layout.shards;
    const std::uint32_t key_bytes = data.map->definition.key_bytes;
    const std::size_t slots = slot_bytes == 0 ? 0 : std::min<std::size_t>(data.slots, data.values.size() / slot_bytes);
    if (data.map->definition.is_array())
        return slots;
    return key_bytes == 0 ? 0 : std::min(slots, data.keys.size() / key_bytes);
}

}  // namespace

const KeyCell* Row::key_named(std::string_view name) const {
    const auto found =
        std::find_if(key.begin(), key.end(), [&](const KeyCell& cell) { return cell.field->name == name; });
    return found != key.end() ? &*found : nullptr;
}

std::optional<std::uint64_t> Row::value_named(std::string_view name) const {
    for (const auto& cell : values)
        if (cell.field->name == name && cell.elements.size() == 1)
            return cell.elements[0];
    return std::nullopt;
}

RowReader::RowReader(const MapData& data, const Catalogue& catalogue)
    : data_(data), catalogue_(catalogue), summed_(summed_fields(data.map->definition.value)) {
    slots_ = static_cast<std::uint32_t>(whole_slots(data));
    merged_.resize(slots_ == 0 ? 0 : data.layout.value_bytes);
}

Row RowReader::key(std::uint32_t slot) const {
    Row row;
    const auto& definition = data_.map->definition;
    if (!definition.is_array())
        read_key(data_.keys.data() + std::size_t{slot} * definition.key_bytes, data_, catalogue_, row);
    else if (definition.key_bytes == sizeof slot)
        read_key(reinterpret_cast<const std::byte*>(&slot), data_, catalogue_, row);
    return row;
}

bool RowReader::values(std::uint32_t slot, std::vector<std::uint64_t>& numbers) const {
    numbers.clear();
    if (!maps::merge_slot(data_.values, data_.layout, slot, summed_, merged_))
        return false;
    for (const auto& field : data_.map->definition.value.fields)
        for (std::uint32_t i = 0; i < field.elements; ++i)
            numbers.push_back(load(merged_.data() + field.offset + i * field.bytes, field.bytes, field.is_signed));
    return true;
}

std::vector<Row> read_rows(const MapData& data, const Catalogue& catalogue, bool all) {
    std::vector<Row> rows;
    const RowReader reader(data, catalogue);
    std::vector<std::uint64_t> numbers;
    for (std::uint32_t slot = 0; slot < reader.slots(); ++slot) {
        if (!reader.values(slot, numbers) || (!all && data.map->definition.is_array() && all_zero(numbers)))
            continue;
        Row& row = rows.emplace_back(reader.key(slot));
        give_values(numbers, data.map->definition.value, row);
    }
    tell_sites_apart(rows);
    return rows;
}

MergedEntries merged_entries(const MapData& data) {
    MergedEntries entries;
    const auto& definition = data.map->definition;
    const auto summed = summed_fields(definition.value);
    std::vector<std::byte> merged(data.layout.value_bytes);
    const std::size_t slots = whole_slots(data);
    for (std::size_t slot = 0; slot < slots; ++slot) {
        const auto index = static_cast<std::uint32_t>(slot);
        if (!maps::merge_slot(data.values, data.layout, index, summed, merged))
            continue;
        const auto* key = definition.is_array() ? reinterpret_cast<const std::byte*>(&index)
                                                : data.keys.data() + slot * definition.key_bytes;
        entries.keys.insert(entries.keys.end(), key, key + definition.key_bytes);
        entries.values.insert(entries.values.end(), merged.begin(), merged.end());
        ++entries.count;
    }
    return entries;
}

MapData merge_shards(const MapData& data) {
    MapData merged = data;
    if (data.layout.shards <= 1)
        return merged;
    merged.layout.shards = 1;
    const auto summed = summed_fields(data.map->definition.value);
    const std::uint32_t stride = data.layout.stride;
    merged.values.assign(std::size_t{stride} * data.slots, std::byte{0});
    for (std::uint32_t slot = 0; slot < data.slots; ++slot) {
        const auto out = std::span(merged.values).subspan(std::size_t{stride} * slot, stride);
        if (!maps::merge_slot(data.values, data.layout, slot, summed, out)) {
            merged.slots = slot;
            merged.values.resize(std::size_t{stride} * slot);
            break;
        }
    }
    return merged;
}

std::vector<KeyCell> record_cells(std::span<const std::byte> record, const ebpf::TypeShape& shape,
                                  const Catalogue& catalogue) {
    std::vector<KeyCell> cells;
    for (const auto& field : shape.fields) {
        if (field.offset + std::uint64_t{field.bytes} * field.elements > record.size())
            continue;
        std::vector<std::string> texts;
        std::uint64_t raw = 0;
        for (std::uint32_t i = 0; i < field.elements; ++i) {
            raw = load(record.data() + field.offset + i * field.bytes, field.bytes, field.is_signed);
            texts.push_back(key_text(catalogue, field, raw));
        }
        cells.push_back({&field, field.elements == 1 ? raw : 0, fmt::format("{}", fmt::join(texts, " "))});
    }
    return cells;
}

std::string site_text(const Catalogue& catalogue, const Site& site) {
    const Kernel* kernel = catalogue.kernel(site.kernel_id);
    const std::string name = kernel != nullptr ? kernel->name : "?";
    if (site.file.empty())
        return fmt::format("{} #{} {}", name, site.id, site.opcode);
    return fmt::format("{} {} {}", name, site.place(), site.opcode);
}

std::string column_name(const ebpf::TypeField& field) {
    if (!field.name.empty())
        return field.name;
    return field.role == ebpf::Role::kernel_id ? "kernel" : field.role == ebpf::Role::site_id ? "site" : "key";
}

std::string column_name(const Map& map, const ebpf::TypeField& field) {
    return field.name.empty() || !field.histogram.empty() ? map.definition.name : field.name;
}

std::string unit_text(const ebpf::TypeField& field, bool simulated) {
    switch (field.role) {
        case ebpf::Role::bytes:
            return "bytes";
        case ebpf::Role::nanoseconds:
            return simulated ? "simulated ns" : "ns";
        case ebpf::Role::cycles:
            return simulated ? "simulated cycles" : "cycles";
        default:
            return {};
    }
}

namespace {

std::string number_text(const ebpf::TypeField& field, std::uint64_t raw) {
    return field.is_signed ? std::to_string(static_cast<std::int64_t>(raw)) : std::to_string(raw);
}

}  // namespace

std::string exact_text(const ValueCell& cell, bool simulated) {
    if (cell.elements.size() != 1)
        return value_text(cell, simulated);
    return cell.field->is_signed ? std::to_string(static_cast<std::int64_t>(cell.elements[0]))
                                 : format_count(cell.elements[0]);
}

std::string value_text(const ValueCell& cell, bool simulated) {
    if (cell.elements.size() == 1) {
        const auto number = static_cast<double>(cell.elements[0]);
        if (cell.field->role == ebpf::Role::bytes)
            return format_bytes(number);
        if (cell.field->role == ebpf::Role::nanoseconds && !simulated)
            return format_duration_ns(number);
        const std::string unit = unit_text(*cell.field, simulated);
        return exact_text(cell, simulated) + (unit.empty() ? "" : " " + unit);
    }
    if (cell.field->histogram.empty()) {
        constexpr std::size_t kMostElements = 8;
        const auto shown = std::min(cell.elements.size(), kMostElements);
        std::string first;
        for (std::size_t i = 0; i < shown; ++i)
            first += (i == 0 ? "" : " ") + number_text(*cell.field, cell.elements[i]);
        return fmt::format("[{}{}]", first, shown < cell.elements.size() ? " ..." : "");
    }
    // A log2 histogram: its total and where the middle of it lies.
    std::uint64_t total = 0;
    for (const auto count : cell.elements)
        total += count;
    std::uint64_t below = 0;
    for (std::size_t slot = 0; slot < cell.elements.size(); ++slot) {
        below += cell.elements[slot];
        if (total != 0 && below * 2 >= total) {
            const char* unit = cell.field->histogram == "log2_ns"       ? (simulated ? " simulated ns" : " ns")
                               : cell.field->histogram == "log2_bytes"  ? " B"
                               : cell.field->histogram == "log2_cycles" ? (simulated ? " simulated cycles" : " cycles")
                                                                        : "";
            return fmt::format("{} values, half of them below {}{}", format_count(total),
                               slot >= 63 ? "2^64" : format_count(std::uint64_t{2} << slot), unit);
        }
    }
    return "0 values";
}

}  // namespace egpu::host
