// SPDX-License-Identifier: Apache-2.0
// The texture and surface objects of one simulated device, by the handles that kernels get as numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "gpu/simulated/memory/image.hpp"

namespace egpu::simulated {

/// Thread-safe.
class ImageObjects {
public:
    /// The handle is not 0, and no other object of this process has had it.
    std::uint64_t add(const ImageObject& object);
    bool remove(std::uint64_t handle);
    /// Null where there is none. It stays while the caller holds it; the memory of its texels need not.
    std::shared_ptr<const ImageObject> find(std::uint64_t handle) const;

private:
    mutable std::shared_mutex mutex_;
    std::unordered_map<std::uint64_t, std::shared_ptr<const ImageObject>> objects_;
};

}  // namespace egpu::simulated
