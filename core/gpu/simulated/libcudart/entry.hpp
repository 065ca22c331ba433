// SPDX-License-Identifier: Apache-2.0
// What each file with functions of the runtime's interface needs.
#pragma once

#include "gpu/simulated/libcudart/runtime.hpp"

/// An exported function. Its name is the interface's; libcudart.map gives it the version libcudart.so.13.
#define ENTRY extern "C" __attribute__((visibility("default")))

namespace egpu::simulated::runtime {

/// Stream 0 in the forms for programs built with per-thread default streams.
inline CUstream own_default(CUstream stream) {
    return stream == nullptr ? CU_STREAM_PER_THREAD : stream;
}

}  // namespace egpu::simulated::runtime
