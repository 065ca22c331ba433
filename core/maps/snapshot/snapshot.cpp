// SPDX-License-Identifier: Apache-2.0
#include "maps/snapshot/snapshot.hpp"

#include <algorithm>
#include <cstring>

namespace egpu::maps {

namespace {

constexpr int kTries = 16;

// Word by word, because the writer may be at work: a torn copy is thrown away, a torn word would be a wrong number.
void copy_words(std::byte* to, const std::byte* from, std::size_t bytes) {
    for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
        const auto* word = reinterpret_cast<const std::uint64_t*>(from + at);
        const std::uint64_t value = __atomic_load_n(word, __ATOMIC_RELAXED);
        std::memcpy(to + at, &value, sizeof(value));
    }
}

template <typename Word>
void add_word(std::byte* to, const std::byte* from) {
    Word sum, more;
    std::memcpy(&sum, to, sizeof(Word));
    std::memcpy(&more, from, sizeof(Word));
    sum = static_cast<Word>(sum + more);
    std::memcpy(to, &sum, sizeof(Word));
}

void add_field(std::byte* to, const std::byte* from, const FieldRange& field) {
    if (field.size == 8)
        add_word<std::uint64_t>(to + field.offset, from + field.offset);
    else
        add_word<std::uint32_t>(to + field.offset, from + field.offset);
}

bool fields_fit(std::span<const FieldRange> fields, std::uint32_t value_bytes) {
    return std::all_of(fields.begin(), fields.end(), [&](const FieldRange& field) {
        return (field.size == 4 || field.size == 8) && field.offset <= value_bytes &&
               field.size <= value_bytes - field.offset;
    });
}

}  // namespace

CopyResult copy_published(const Published& published, const Layout& layout, Snapshot* snapshot) {
    for (int attempt = 0; attempt < kTries; ++attempt) {
        const std::uint32_t which = __atomic_load_n(published.index, __ATOMIC_ACQUIRE) & 1;
        const std::uint64_t before = __atomic_load_n(&published.sequence[which], __ATOMIC_ACQUIRE);
        const std::uint64_t taken = __atomic_load_n(&published.taken_ns[which], __ATOMIC_RELAXED);
        const std::uint32_t said = __atomic_load_n(&published.slots[which], __ATOMIC_RELAXED);
        if (taken == 0 && before % 2 == 0)
            return CopyResult::none_yet;
        const std::uint32_t slots = std::min(said, layout.capacity);
        const std::uint64_t bytes = layout.snapshot_bytes(slots);
        if (before % 2 != 0 || bytes > published.data[which].size())
            continue;
        snapshot->bytes.resize(bytes);
        copy_words(snapshot->bytes.data(), published.data[which].data(), bytes);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&published.sequence[which], __ATOMIC_RELAXED) != before)
            continue;
        snapshot->slots = slots;
        snapshot->taken_ns = taken;
        return CopyResult::copied;
    }
    return CopyResult::busy;
}

bool merge_slot(std::span<const std::byte> snapshot, const Layout& layout, std::uint32_t slot,
                std::span<const FieldRange> fields, std::span<std::byte> out) {
    if (layout.stride == 0 || layout.shards == 0)
        return false;
    const std::size_t slots = snapshot.size() / layout.stride / layout.shards;
    if (slot >= layout.capacity || slot >= slots)
        return false;
    if (out.size() < layout.value_bytes || layout.stride < layout.value_bytes ||
        !fields_fit(fields, layout.value_bytes))
        return false;
    if (layout.shards > 1 && fields.empty() && layout.value_bytes % 8 != 0)
        return false;
    const std::byte* shard = snapshot.data() + layout.snapshot_offset_of(slot, 0);
    std::memcpy(out.data(), shard, layout.value_bytes);
    for (std::uint32_t i = 1; i < layout.shards; ++i) {
        shard += slots * layout.stride;
        for (const FieldRange& field : fields)
            add_field(out.data(), shard, field);
        for (std::uint32_t at = 0; fields.empty() && at < layout.value_bytes; at += 8)
            add_word<std::uint64_t>(out.data() + at, shard + at);
    }
    return true;
}

}  // namespace egpu::maps
