// SPDX-License-Identifier: Apache-2.0
// A reader sees key, value, key: where the key is the same twice, the value was its own, or that of a handle which the
// application unloads while it launches it (its own mistake, and harmless to us: kernels are never freed).
#include "agent/kernels/handle_table.hpp"

namespace egpu::agent {

namespace {

constexpr std::uintptr_t kEmpty = 0;
constexpr std::uintptr_t kDeleted = 1;
constexpr std::uintptr_t kContextFree = 1;
constexpr std::uintptr_t kFlags = 1;

std::size_t slot_of(std::uintptr_t key) {
    // Fibonacci hashing (Knuth, TAOCP 6.4): handles are aligned pointers, so their low bits say nothing.
    return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> 32) % HandleTable::kSlots;
}

std::uintptr_t load(const std::uintptr_t& word) {
    return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

void store(std::uintptr_t& word, std::uintptr_t value) {
    __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

std::uintptr_t pack(const Handle& handle) {
    return reinterpret_cast<std::uintptr_t>(handle.kernel) | (handle.context_free ? kContextFree : 0);
}

Handle unpack(std::uintptr_t value) {
    return {reinterpret_cast<Kernel*>(value & ~kFlags), (value & kContextFree) != 0};
}

}  // namespace

Handle HandleTable::find(const void* handle) const {
    const auto key = reinterpret_cast<std::uintptr_t>(handle);
    std::size_t index = slot_of(key);
    for (std::size_t probes = 0; probes < kSlots && key > kDeleted; ++probes, index = (index + 1) % kSlots) {
        const std::uintptr_t found = load(slots_[index].key);
        if (found == kEmpty)
            return {};
        if (found != key)
            continue;
        const std::uintptr_t value = load(slots_[index].value);
        return load(slots_[index].key) == key ? unpack(value) : Handle{};
    }
    return {};
}

bool HandleTable::insert(const void* handle, const Handle& content) {
    const auto key = reinterpret_cast<std::uintptr_t>(handle);
    if (key <= kDeleted)
        return false;
    std::size_t index = slot_of(key), free_slot = kSlots;
    for (std::size_t probes = 0; probes < kSlots; ++probes, index = (index + 1) % kSlots) {
        const std::uintptr_t found = slots_[index].key;
        if (found == key) {
            store(slots_[index].value, pack(content));
            return true;
        }
        if (found <= kDeleted && free_slot == kSlots)
            free_slot = index;
        if (found == kEmpty)
            break;
    }
    if (free_slot == kSlots || size_ >= kSlots / 4 * 3)
        return false;
    store(slots_[free_slot].value, pack(content));
    store(slots_[free_slot].key, key);
    ++size_;
    return true;
}

void HandleTable::erase(std::size_t index) {
    store(slots_[index].key, kDeleted);
    --size_;
    // Marks before an empty slot end no search that the empty one wouldn't end.
    while (slots_[index].key == kDeleted && slots_[(index + 1) % kSlots].key == kEmpty) {
        store(slots_[index].key, kEmpty);
        index = (index + kSlots - 1) % kSlots;
    }
}

void HandleTable::remove_if(bool (*drop)(void*, const Handle&), void* context) {
    for (std::size_t index = kSlots; index-- > 0;)
        if (slots_[index].key > kDeleted && drop(context, unpack(slots_[index].value)))
            erase(index);
}

}  // namespace egpu::agent
