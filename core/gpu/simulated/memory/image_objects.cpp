// SPDX-License-Identifier: Apache-2.0
#include "gpu/simulated/memory/image_objects.hpp"

#include <atomic>
#include <mutex>

namespace egpu::simulated {

std::uint64_t ImageObjects::add(const ImageObject& object) {
    static std::atomic<std::uint64_t> last{0};
    const std::uint64_t handle = ++last;
    const std::unique_lock lock(mutex_);
    objects_.emplace(handle, std::make_shared<const ImageObject>(object));
    return handle;
}

bool ImageObjects::remove(std::uint64_t handle) {
    const std::unique_lock lock(mutex_);
    return objects_.erase(handle) != 0;
}

std::shared_ptr<const ImageObject> ImageObjects::find(std::uint64_t handle) const {
    const std::shared_lock lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
}

}  // namespace egpu::simulated
