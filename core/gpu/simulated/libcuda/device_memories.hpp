// SPDX-License-Identifier: Apache-2.0
// The memory of all simulated devices under one set of addresses. Each device has memory of its own, which its kernels
// alone can reach; host memory is known to all of them.
#pragma once

#include <memory>
#include <vector>

#include "gpu/simulated/memory/device_memory.hpp"

namespace egpu::simulated {

class DeviceMemories {
public:
    explicit DeviceMemories(int devices);

    int count() const { return static_cast<int>(devices_.size()); }
    DeviceMemory& of(int device) { return *devices_[static_cast<std::size_t>(device)]; }
    /// The device whose memory, or to which known host memory, an address belongs to; 0 where it is nobody's.
    int device_of(std::uint64_t address) const;
    std::uint64_t capacity() const { return devices_.front()->capacity(); }

    Status map_host(void* pointer, std::uint64_t bytes);
    Status unmap_host(void* pointer);
    Status release(std::uint64_t address) { return at(address).release(address); }
    Status copy_in(std::uint64_t to, const void* from, std::uint64_t bytes) { return at(to).copy_in(to, from, bytes); }
    Status copy_out(void* to, std::uint64_t from, std::uint64_t bytes) const {
        return at(from).copy_out(to, from, bytes);
    }
    /// Also between devices.
    Status copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);
    Status fill(std::uint64_t to, std::uint64_t value, std::uint32_t width, std::uint64_t count) {
        return at(to).fill(to, value, width, count);
    }
    std::optional<Allocation> find(std::uint64_t address) const { return at(address).find(address); }

private:
    DeviceMemory& at(std::uint64_t address) const { return *devices_[static_cast<std::size_t>(device_of(address))]; }

    std::vector<std::unique_ptr<DeviceMemory>> devices_;
};

/// How many devices there are: EGPU_SIMULATED_DEVICES, 1 to 16; 1 where it is not set.
int device_count();
inline bool is_device(int device) {
    return device >= 0 && device < device_count();
}

}  // namespace egpu::simulated
