// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/driver.hpp"

#include <dlfcn.h>

#include <fmt/format.h>

namespace egpu::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

template <typename Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    return function != nullptr;
}

}  // namespace

std::string Driver::name_of(CUresult result) const {
    const char* name = nullptr;
    if (get_error_name(result, &name) != CUDA_SUCCESS || name == nullptr)
        return fmt::format("CUDA error {}", static_cast<int>(result));
    return name;
}

Result<Driver> load_driver() {
    void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* why = ::dlerror();
        return error("EGPU-G001", fmt::format("no NVIDIA driver: {}", why != nullptr ? why : kLibrary));
    }
    Driver driver;
    const bool all =
        find(library, "cuInit", driver.init) && find(library, "cuDriverGetVersion", driver.driver_get_version) &&
        find(library, "cuDeviceGet", driver.device_get) &&
        find(library, "cuDevicePrimaryCtxRetain", driver.primary_context_retain) &&
        find(library, "cuCtxSetCurrent", driver.context_set_current) &&
        find(library, "cuGetErrorName", driver.get_error_name) &&
        find(library, "cuLinkCreate_v2", driver.link_create) &&
        find(library, "cuLinkAddData_v2", driver.link_add_data) &&
        find(library, "cuLinkComplete", driver.link_complete) && find(library, "cuLinkDestroy", driver.link_destroy);
    if (!all)
        return error("EGPU-G001", fmt::format("{} lacks functions that every driver has", kLibrary));
    if (const CUresult result = driver.init(0); result != CUDA_SUCCESS)
        return error("EGPU-G002", fmt::format("the driver does not start: {}", driver.name_of(result)));
    return driver;
}

}  // namespace egpu::cuda
