// SPDX-License-Identifier: Apache-2.0
// A driver, found at run time: the functions that compiling a text and running a kernel take.
#pragma once

#include <string>

#include "base/result.hpp"
#include "gpu/device/driver.h"

namespace egpu::cuda {

struct Driver {
    decltype(&::cuInit) init = nullptr;
    decltype(&::cuDriverGetVersion) driver_get_version = nullptr;
    decltype(&::cuDeviceGet) device_get = nullptr;
    decltype(&::cuDeviceGetName) device_get_name = nullptr;
    decltype(&::cuDeviceGetAttribute) device_get_attribute = nullptr;
    decltype(&::cuDevicePrimaryCtxRetain) primary_context_retain = nullptr;
    decltype(&::cuDevicePrimaryCtxRelease_v2) primary_context_release = nullptr;
    decltype(&::cuDevicePrimaryCtxReset_v2) primary_context_reset = nullptr;
    decltype(&::cuCtxSetCurrent) context_set_current = nullptr;
    decltype(&::cuGetErrorName) get_error_name = nullptr;
    decltype(&::cuLinkCreate_v2) link_create = nullptr;
    decltype(&::cuLinkAddData_v2) link_add_data = nullptr;
    decltype(&::cuLinkComplete) link_complete = nullptr;
    decltype(&::cuLinkDestroy) link_destroy = nullptr;
    decltype(&::cuModuleLoadDataEx) module_load = nullptr;
    decltype(&::cuModuleUnload) module_unload = nullptr;
    decltype(&::cuModuleGetFunction) module_get_function = nullptr;
    decltype(&::cuModuleGetGlobal_v2) module_get_global = nullptr;
    decltype(&::cuMemAlloc_v2) memory_allocate = nullptr;
    decltype(&::cuMemFree_v2) memory_free = nullptr;
    decltype(&::cuMemcpyHtoD_v2) copy_to_device = nullptr;
    decltype(&::cuMemcpyDtoH_v2) copy_to_host = nullptr;
    decltype(&::cuLaunchKernel) launch_kernel = nullptr;
    decltype(&::cuStreamQuery) stream_query = nullptr;

    /// "CUDA_ERROR_INVALID_PTX"
    std::string name_of(CUresult result) const;
};

/// Loads a driver, the installed one or a stand-in by its path, and initialises it. EGPU-G001 where there is none, G002
/// where it answers with an error. It stays loaded: a driver has threads of its own.
Result<Driver> load_driver(const std::string& library = "libcuda.so.1");

}  // namespace egpu::cuda
