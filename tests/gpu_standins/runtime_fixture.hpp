// SPDX-License-Identifier: Apache-2.0
// The stand-in for libcudart.so.13 opened by its path.
#pragma once

#include "driver_fixture.hpp"
#include "gpu/simulated/libcudart/runtime_types.h"

/// The stand-in for libcudart.so.13.
inline void* runtime_library() {
    static void* const library = [] {
        (void)driver_library();  // the runtime opens libcuda.so.1 by that name and gets the one that is there
        const std::string path = std::string(EGPU_BINARY_DIR) + "/lib/egpu/simulated/libcudart.so.13";
        return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    }();
    return library;
}

/// Calls a function of it by its exported name.
template <typename... Arguments>
cudaError_t runtime(const char* name, Arguments... arguments) {
    using Function = cudaError_t (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(dlsym(runtime_library(), name));
    EXPECT_NE(function, nullptr) << name;
    return function == nullptr ? cudaErrorUnknown : function(arguments...);
}
