// SPDX-License-Identifier: Apache-2.0
// The installed driver, found at run time: the functions that compiling takes.
#pragma once

#include <string>

#include "base/result.hpp"
#include "gpu/device/driver.h"

namespace egpu::cuda {

struct Driver {
    decltype(&::cuInit) init = nullptr;
    decltype(&::cuDriverGetVersion) driver_get_version = nullptr;
    decltype(&::cuDeviceGet) device_get = nullptr;
    decltype(&::cuDevicePrimaryCtxRetain) primary_context_retain = nullptr;
    decltype(&::cuCtxSetCurrent) context_set_current = nullptr;
    decltype(&::cuGetErrorName) get_error_name = nullptr;
    decltype(&::cuLinkCreate_v2) link_create = nullptr;
    decltype(&::cuLinkAddData_v2) link_add_data = nullptr;
    decltype(&::cuLinkComplete) link_complete = nullptr;
    decltype(&::cuLinkDestroy) link_destroy = nullptr;

    /// "CUDA_ERROR_INVALID_PTX"
    std::string name_of(CUresult result) const;
};

/// Loads libcuda.so.1 and initialises it. EGPU-G001 where there is none, G002 where it answers with an error. It stays
/// loaded: the driver has threads of its own.
Result<Driver> load_driver();

}  // namespace egpu::cuda
