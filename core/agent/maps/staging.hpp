// SPDX-License-Identifier: Apache-2.0
// Copies from a place's memory to the host, through the pinned memory that the place has for it, where it has some.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "agent/driver/driver.hpp"
#include "agent/maps/places.hpp"

namespace egpu::agent {

/// Waits for what `issue` put into the place's stream: a copy to the memory that it is given, of `to.size()` bytes. The
/// place's context is current.
template <typename Issue>
CUresult fetch_through(const Place& place, std::span<std::byte> to, Issue issue) {
    std::byte* through = place.staging != nullptr ? static_cast<std::byte*>(place.staging) : to.data();
    CUresult result = issue(through);
    if (result == CUDA_SUCCESS)
        result = driver().cuStreamSynchronize(place.stream);
    if (result == CUDA_SUCCESS && through != to.data())
        std::memcpy(to.data(), through, to.size());
    return result;
}

/// Bytes that lie together.
inline CUresult fetch(const Place& place, CUdeviceptr from, std::span<std::byte> to) {
    return fetch_through(place, to, [&](std::byte* through) {
        return driver().cuMemcpyDtoHAsync_v2(through, from, to.size(), place.stream);
    });
}

}  // namespace egpu::agent
