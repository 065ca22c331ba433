// SPDX-License-Identifier: Apache-2.0
// A map's bytes as rows: keys with names, values merged over their shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/catalogue/catalogue.hpp"
#include "maps/layout/layout.hpp"
#include "maps/snapshot/snapshot.hpp"

namespace egpu::host {

/// What has come through a ring buffer.
struct RingCounts {
    std::uint64_t records = 0;  ///< taken by the egpu process
    std::uint64_t dropped = 0;  ///< found no room on the GPU
    std::uint64_t behind = 0;   ///< bytes that the last copy left on the GPU
    bool damaged = false;       ///< what came made no sense: none is taken any more
};

/// One map as it was copied from the GPU.
struct MapData {
    const Map* map = nullptr;
    maps::Layout layout;
    std::uint32_t slots = 0;              ///< that `values` holds
    std::vector<std::byte> keys;          ///< key_bytes x slots; empty for arrays
    std::vector<std::byte> values;        ///< stride x slots, shard by shard
    std::optional<std::uint64_t> age_ns;  ///< since the copy; nullopt: never copied
    std::uint32_t refused_keys = 0;       ///< keys known at injection that found the map full
    std::uint64_t refused_lookups = 0;    ///< look-ups at run time that found no room for their key
    std::optional<RingCounts> ring;       ///< of a ring buffer of a session that runs
    bool is_full() const { return refused_keys != 0 || refused_lookups != 0; }
    /// "bandwidth" of "bandwidth/traffic".
    std::string_view probe() const { return std::string_view(map->name).substr(0, map->name.find('/')); }
};

/// The same with one shard, which holds the sums of all.
MapData merge_shards(const MapData& data);

struct KeyCell {
    const ebpf::TypeField* field = nullptr;
    std::uint64_t raw = 0;
    std::string text;  ///< "vector_add", "gather.cu:14", "global", "7"
};

struct ValueCell {
    const ebpf::TypeField* field = nullptr;
    std::vector<std::uint64_t> elements;  ///< one, or a histogram's slots; sign-extended where signed
};
/// The elements of a signed field.
inline std::vector<std::int64_t> signed_numbers(const ValueCell& cell) {
    std::vector<std::int64_t> numbers;
    for (const std::uint64_t element : cell.elements)
        numbers.push_back(static_cast<std::int64_t>(element));
    return numbers;
}

struct Row {
    std::vector<KeyCell> key;
    std::vector<ValueCell> values;
    std::uint32_t kernel_id = 0;  ///< of the key's kernel or site; 0: the key names none
    std::uint32_t site_id = 0;
    /// The cell of a key field; nullptr where the key has none of that name.
    const KeyCell* key_named(std::string_view name) const;
    std::optional<std::uint64_t> value_named(std::string_view name) const;
};

/// Reads entries one by one; for whoever reads the same map again and again. Both must outlive it.
class RowReader {
public:
    RowReader(const MapData& data, const Catalogue& catalogue);
    std::uint32_t slots() const { return slots_; }
    /// The key of a slot < slots(), without values.
    Row key(std::uint32_t slot) const;
    /// The numbers of all fields of a slot's value, one field's behind the other's. False where it can't be read.
    bool values(std::uint32_t slot, std::vector<std::uint64_t>& numbers) const;

private:
    const MapData& data_;
    const Catalogue& catalogue_;
    std::vector<maps::FieldRange> summed_;
    std::uint32_t slots_ = 0;
    mutable std::vector<std::byte> merged_;
};

/// All rows in the order of their keys' first use; sites that would read alike are numbered. Rows of an array that are
/// all zero are left out unless `all`.
std::vector<Row> read_rows(const MapData& data, const Catalogue& catalogue, bool all = false);

/// A map's entries as bytes: keys one behind the other (of an array: 4-byte indices), values merged over their shards.
struct MergedEntries {
    std::uint32_t count = 0;
    std::vector<std::byte> keys, values;
};
MergedEntries merged_entries(const MapData& data);

/// The fields of a record of a ring buffer; one with several elements as text only.
std::vector<KeyCell> record_cells(std::span<const std::byte> record, const ebpf::TypeShape& shape,
                                  const Catalogue& catalogue);

/// What a key's column is called: the field's name, or what a bare scalar means.
std::string column_name(const ebpf::TypeField& key_field);
/// What a value's column is called: the field's name; of a bare scalar or a histogram the map's.
std::string column_name(const Map& map, const ebpf::TypeField& value_field);

/// A value as text: a number, or a histogram's total and middle. Cycles of the simulated GPU are said to be such.
std::string value_text(const ValueCell& cell, bool simulated);
/// The same to the last digit and without its unit; a histogram as above.
std::string exact_text(const ValueCell& cell, bool simulated);
/// "bytes", "ns", "cycles", "simulated cycles"; "" for what is a bare number.
std::string unit_text(const ebpf::TypeField& field, bool simulated);

/// "gather_strided gather.cu:14 ld.global.f32", or "gather_strided #3" without line information.
std::string site_text(const Catalogue& catalogue, const Site& site);

}  // namespace egpu::host
