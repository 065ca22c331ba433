// SPDX-License-Identifier: Apache-2.0
// From a handle that the application launches to the kernel behind it. Lookups take no lock; changes are made under
// the caller's lock.
#pragma once

#include <cstddef>
#include <cstdint>

namespace egpu::agent {

struct Kernel;

/// What a handle stands for.
struct Handle {
    Kernel* kernel = nullptr;   ///< null: not in the table
    bool context_free = false;  ///< of a library: which context it is for is asked at the launch
};

/// Open addressing with linear probing; deleted entries are marked, and freed where the next one is empty.
class HandleTable {
public:
    static constexpr std::size_t kSlots = 32768;  // twice what EGPU_SEGMENT_MAX_KERNELS with two handles each takes

    /// Any thread, any time. A handle that is removed at the same moment may be found or not.
    Handle find(const void* key) const;
    /// Adds or replaces. False where the table is full (three quarters).
    bool insert(const void* key, const Handle& handle);
    /// Removes the entries that `drop(context, handle)` names.
    void remove_if(bool (*drop)(void* context, const Handle& handle), void* context);
    std::size_t size() const { return size_; }

private:
    struct Slot {
        std::uintptr_t key;    // 0: empty, 1: deleted
        std::uintptr_t value;  // Kernel* with a flag in its low bits
    };
    void erase(std::size_t index);

    Slot slots_[kSlots] = {};
    std::size_t size_ = 0;
};

}  // namespace egpu::agent
