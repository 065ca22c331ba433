// SPDX-License-Identifier: Apache-2.0
// Handles that applications hold: addresses of our objects, valid only while they stand in a table, so that a stale or
// made-up handle is an error and never a crash.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace egpu::simulated {

template <typename Object>
class Handles {
public:
    /// The object behind a handle; null where it is none of ours. It lives as long as the caller keeps it.
    std::shared_ptr<Object> find(const void* handle) const {
        const std::shared_lock lock(mutex_);
        const auto found = objects_.find(handle);
        return found == objects_.end() ? nullptr : found->second;
    }

    void add(const std::shared_ptr<Object>& object) {
        const std::unique_lock lock(mutex_);
        objects_.emplace(object.get(), object);
    }

    /// Takes a handle out; null where it was none of ours (or another thread was faster).
    std::shared_ptr<Object> remove(const void* handle) {
        const std::unique_lock lock(mutex_);
        const auto found = objects_.find(handle);
        if (found == objects_.end()) {
            return nullptr;
        }
        std::shared_ptr<Object> object = std::move(found->second);
        objects_.erase(found);
        return object;
    }

    template <typename Condition>
    std::vector<std::shared_ptr<Object>> remove_if(const Condition& condition) {
        std::vector<std::shared_ptr<Object>> removed;  // destroyed by the caller, outside of the lock
        const std::unique_lock lock(mutex_);
        for (auto entry = objects_.begin(); entry != objects_.end();) {
            if (condition(*entry->second)) {
                removed.push_back(std::move(entry->second));
                entry = objects_.erase(entry);
            } else {
                ++entry;
            }
        }
        return removed;
    }

    template <typename Condition>
    std::vector<std::shared_ptr<Object>> select(const Condition& condition) const {
        std::vector<std::shared_ptr<Object>> selected;
        const std::shared_lock lock(mutex_);
        for (const auto& entry : objects_) {
            if (condition(*entry.second)) {
                selected.push_back(entry.second);
            }
        }
        return selected;
    }

private:
    mutable std::shared_mutex mutex_;
    std::unordered_map<const void*, std::shared_ptr<Object>> objects_;
};

}  // namespace egpu::simulated
