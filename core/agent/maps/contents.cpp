// SPDX-License-Identifier: Apache-2.0
#include "agent/maps/contents.hpp"

#include <algorithm>
#include <cstring>

#include "agent/maps/device_maps.hpp"
#include "agent/session/buffer.hpp"
#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

// As a snapshot lays it out for so many slots; there is room for all.
struct Part {
    std::byte* bytes = nullptr;
    std::uint32_t slots = 0;
};

// Of one map.
struct Contents {
    Part ended;                 ///< sum of the places that have ended
    Part last[kMostPlaces];     ///< what each place held at the last drain, with several places only
    std::uint32_t holders = 0;  ///< places whose part the published snapshot has
};
constinit Contents contents[EGPU_SEGMENT_MAX_MAPS];

bool make_room(std::uint32_t map, Part* part) {
    if (part->bytes == nullptr)
        part->bytes = static_cast<std::byte*>(std::calloc(1, view().geometry(map).snapshot_bytes()));
    return part->bytes != nullptr;
}

std::span<std::byte> used(std::uint32_t map, const Part& part) {
    return {part.bytes, view().geometry(map).layout().snapshot_bytes(part.slots)};
}

template <typename Number>
void add_numbers(const std::byte* from, std::byte* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        Number a, b;
        std::memcpy(&a, from + i * sizeof(Number), sizeof(Number));
        std::memcpy(&b, to + i * sizeof(Number), sizeof(Number));
        b += a;
        std::memcpy(to + i * sizeof(Number), &b, sizeof(Number));
    }
}

void add_shard(const segment::MapGeometry& map, std::span<const std::byte> from, std::byte* to) {
    if (map.narrow_words == 0)
        return add_numbers<std::uint64_t>(from.data(), to, from.size() / 8);
    const std::size_t words = map.stride / 8;
    for (std::size_t at = 0; at + map.stride <= from.size(); at += map.stride)
        for (std::size_t word = 0; word < words; ++word) {
            const bool narrow = word < 64 && ((map.narrow_words >> word) & 1) != 0;
            const auto add = narrow ? add_numbers<std::uint32_t> : add_numbers<std::uint64_t>;
            add(from.data() + at + word * 8, to + at + word * 8, narrow ? 2 : 1);
        }
}

// `to` has at least as many slots as `from`.
void add_values(const segment::MapGeometry& map, std::span<const std::byte> from, std::span<std::byte> to) {
    const std::size_t width = from.size() / map.shards, width_there = to.size() / map.shards;
    for (std::uint32_t shard = 0; shard < map.shards; ++shard)
        add_shard(map, from.subspan(width * shard, width), to.data() + width_there * shard);
}

// Makes it a part of `slots` slots: the shards move apart, those of new slots hold zeroes.
void widen(std::uint32_t map, Part* part, std::uint32_t slots) {
    const segment::MapGeometry& geometry = view().geometry(map);
    const std::size_t before = std::size_t{geometry.stride} * part->slots, after = std::size_t{geometry.stride} * slots;
    if (after <= before)
        return;
    for (std::uint32_t shard = geometry.shards; shard-- > 0;) {
        std::memmove(part->bytes + after * shard, part->bytes + before * shard, before);
        std::memset(part->bytes + after * shard + before, 0, after - before);
    }
    part->slots = slots;
}

// The published snapshot becomes what is kept.
void keep_snapshot(std::uint32_t map) {
    const egpu_map_entry& entry = view().map(map);
    const std::uint32_t which = segment::load_acquire(entry.snapshot_index) & 1;
    Part& ended = contents[map].ended;
    ended.slots = std::min(segment::load_relaxed(entry.snapshot_slots[which]), view().used_slots(map));
    std::memcpy(ended.bytes, view().snapshot(map, which).data(), used(map, ended).size());
}

bool keep(std::uint32_t map, unsigned int place) {
    Contents& content = contents[map];
    const std::uint32_t bit = 1u << place;
    if ((content.holders & bit) == 0)
        return true;  // nothing of it was ever seen
    if (!make_room(map, &content.ended))
        return false;
    Part& last = content.last[place];
    if (content.holders == bit) {
        keep_snapshot(map);  // what had ended before is in it
    } else if (last.bytes != nullptr) {
        widen(map, &content.ended, last.slots);
        add_values(view().geometry(map), used(map, last), used(map, content.ended));
    }
    content.holders &= ~bit;
    std::free(last.bytes);
    last = {};
    return true;
}

}  // namespace

bool adds_up(std::uint32_t map) {
    return view().geometry(map).adds_up;
}

bool may_have(const Place& place, std::uint32_t map) {
    if (adds_up(map) || view().geometry(map).ring_bytes != 0)
        return true;
    for (unsigned int i = 0; i < places_used(); ++i)
        if (&place_at(i) != &place && allocated_map(place_at(i), map) != 0)
            return false;
    return true;
}

std::span<const std::byte> first_content(std::uint32_t map) {
    if (adds_up(map))
        return {};
    if (contents[map].ended.bytes != nullptr)
        return used(map, contents[map].ended);
    // Nothing was drained into it yet: a snapshot that is there is what the egpu process laid there.
    const egpu_map_entry& entry = view().map(map);
    const std::uint32_t which = segment::load_acquire(entry.snapshot_index) & 1;
    const std::uint32_t slots = std::min(segment::load_relaxed(entry.snapshot_slots[which]), view().used_slots(map));
    return view().snapshot(map, which).first(view().geometry(map).layout().snapshot_bytes(slots));
}

bool has_parts(std::uint32_t map) {
    return adds_up(map) && contents[map].ended.bytes != nullptr;
}

void begin_sum(std::uint32_t map, std::span<std::byte> to) {
    std::memset(to.data(), 0, to.size());
    if (has_parts(map))
        add_values(view().geometry(map), used(map, contents[map].ended), to);
}

void add_part(std::uint32_t map, std::span<const std::byte> part, std::span<std::byte> to) {
    add_values(view().geometry(map), part, to);
}

std::span<std::byte> last_part(std::uint32_t map, const Place& place, std::uint32_t slots) {
    Part& last = contents[map].last[index_of(place)];
    if (!make_room(map, &last))
        return {};
    last.slots = slots;
    return used(map, last);
}

void snapshot_holds(std::uint32_t map, std::uint32_t places) {
    contents[map].holders = places;
}

bool keep_contents(const Place& place) {
    bool kept = true;
    for (std::uint32_t map = 0; map < view().map_count(); ++map)
        kept = keep(map, index_of(place)) && kept;
    return kept;
}

}  // namespace egpu::agent
