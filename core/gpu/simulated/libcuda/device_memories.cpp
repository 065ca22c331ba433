// SPDX-License-Identifier: Apache-2.0
#include "gpu/simulated/libcuda/device_memories.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "gpu/simulated/libcuda/driver.hpp"

namespace egpu::simulated {

namespace {

constexpr int kMostDevices = 16;

int read_device_count() {
    const char* const text = std::getenv("EGPU_SIMULATED_DEVICES");
    if (text == nullptr || *text == '\0') {
        return 1;
    }
    int count = 0;
    const char* const end = text + std::strlen(text);
    const auto [rest, failed] = std::from_chars(text, end, count);
    if (failed != std::errc() || rest != end || count < 1 || count > kMostDevices) {
        report(std::string_view("EGPU_SIMULATED_DEVICES takes a number from 1 to 16; there is one device now"));
        return 1;
    }
    return count;
}

}  // namespace

int device_count() {
    static const int count = read_device_count();
    return count;
}

DeviceMemories::DeviceMemories(int devices) {
    for (int device = 0; device < devices; ++device) {
        devices_.push_back(std::make_unique<DeviceMemory>());
    }
}

int DeviceMemories::device_of(std::uint64_t address) const {
    for (std::size_t device = 0; devices_.size() > 1 && device < devices_.size(); ++device) {
        if (devices_[device]->find(address).has_value()) {
            return static_cast<int>(device);
        }
    }
    return 0;
}

Status DeviceMemories::map_host(void* pointer, std::uint64_t bytes) {
    for (std::size_t device = 0; device < devices_.size(); ++device) {
        if (Status mapped = devices_[device]->map_host(pointer, bytes); !mapped) {
            for (std::size_t done = 0; done < device; ++done) {
                (void)devices_[done]->unmap_host(pointer);
            }
            return mapped;
        }
    }
    return Done{};
}

Status DeviceMemories::unmap_host(void* pointer) {
    Status result = Done{};
    for (const std::unique_ptr<DeviceMemory>& device : devices_) {
        if (Status unmapped = device->unmap_host(pointer); !unmapped) {
            result = std::move(unmapped);
        }
    }
    return result;
}

Status DeviceMemories::copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
    DeviceMemory& target = at(to);
    DeviceMemory& source = at(from);
    if (&target == &source || target.find(from).has_value()) {
        return target.copy(to, from, bytes);
    }
    if (source.find(to).has_value()) {
        return source.copy(to, from, bytes);  // to host memory, which every device knows
    }
    std::vector<std::byte> between(bytes);
    Status read = source.copy_out(between.data(), from, bytes);
    return read ? target.copy_in(to, between.data(), bytes) : read;
}

}  // namespace egpu::simulated
