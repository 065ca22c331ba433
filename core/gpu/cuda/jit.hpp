// SPDX-License-Identifier: Apache-2.0
// PTX to a cubin by the driver's own compiler. Only ever in a process made for it: a compiler that crashes or hangs
// takes its process with it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gpu/cuda/driver.hpp"

namespace egpu::cuda {

struct JitRequest {
    std::string ptx;
    std::uint32_t architecture = 0;  ///< 90
    char suffix = 0;                 ///< 'a', 'f' or 0
    std::optional<std::uint32_t> max_registers, optimisation_level;
    std::optional<CUjit_cacheMode> load_cache;
    bool line_info = false;
};

struct JitResult {
    CUresult result = CUDA_SUCCESS;
    std::string call;  ///< that answered with `result`
    std::vector<std::byte> cubin;
    std::string info, errors;  ///< the driver's logs
};

JitResult compile(const Driver& driver, const JitRequest& request);

}  // namespace egpu::cuda
