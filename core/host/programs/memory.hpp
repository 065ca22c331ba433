// SPDX-License-Identifier: Apache-2.0
// What the maps of an object need of a GPU's memory, told before a run finds no room for them.
#pragma once

#include <cstdint>
#include <optional>

#include "base/diagnostic.hpp"
#include "ebpf/object/object.hpp"

namespace egpu::host {

/// What a run allocates at most where nobody says otherwise (--gpu-memory, gpu_memory of a probe set), in bytes.
inline constexpr std::uint64_t kGpuMemory = std::uint64_t{64} << 20;

/// EGPU-M011, a warning, where the maps in GPU memory do not fit `limit` together, on however few SMs.
std::optional<Diagnostic> too_large_maps(const ebpf::Object& object, std::uint64_t limit = kGpuMemory);

}  // namespace egpu::host
