// SPDX-License-Identifier: Apache-2.0
#include "host/session/map_description.hpp"

#include <optional>

namespace egpu::host {
namespace {

/// Words of 8 bytes that hold two numbers of 4; nothing where a value can't be summed word by word. Of per-SM maps:
/// programs do nothing to their fields but add (ebpf/verifier/rules/atomics).
std::optional<std::uint64_t> summed_words(const ebpf::MapDefinition& map) {
    std::uint64_t narrow = 0;
    if (!map.per_sm() || map.keys_at_run_time)  // a table's places differ from context to context
        return std::nullopt;
    for (const auto& field : map.value.fields) {
        if (field.bytes != 4 && field.bytes != 8)
            return std::nullopt;
        const std::uint32_t last = (field.offset + field.bytes * field.elements - 1) / 8;
        for (std::uint32_t word = field.offset / 8; field.bytes == 4 && word <= last; ++word) {
            if (word >= 64)
                return std::nullopt;
            narrow |= std::uint64_t{1} << word;
        }
    }
    return narrow;
}

}  // namespace

bool adds_up(const Map& map) {
    return summed_words(map.definition).has_value();
}

segment::MapDescription describe(const Map& map, const maps::Layout& layout) {
    segment::MapDescription description;
    description.name = map.name;
    description.key_bytes = map.definition.key_bytes;
    description.value_bytes = layout.value_bytes;
    description.capacity = layout.capacity;
    description.shards = layout.shards;
    // A table that the GPU fills is drained whole.
    description.is_array = map.definition.is_array() || map.definition.keys_at_run_time;
    const auto summed = summed_words(map.definition);
    description.adds_up = summed.has_value();
    description.narrow_words = summed.value_or(0);
    if (map.definition.is_ring()) {
        description.is_array = true;
        description.ring_bytes = map.definition.max_entries;
    }
    description.initial = map.definition.initial;
    return description;
}

}  // namespace egpu::host
