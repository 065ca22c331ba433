// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/driver.hpp"

#include <dlfcn.h>

#include <fmt/format.h>

namespace egpu::cuda {
namespace {

/// Finds functions by name and remembers the first that is missing.
class Finder {
public:
    explicit Finder(void* library) : library_(library) {}

    template <typename Function>
    void find(const char* name, Function& function) {
        function = reinterpret_cast<Function>(::dlsym(library_, name));
        if (function == nullptr && missing_ == nullptr)
            missing_ = name;
    }
    const char* missing() const { return missing_; }

private:
    void* library_;
    const char* missing_ = nullptr;
};

void find_all(Finder& finder, Driver& driver) {
    finder.find("cuInit", driver.init);
    finder.find("cuDriverGetVersion", driver.driver_get_version);
    finder.find("cuDeviceGet", driver.device_get);
    finder.find("cuDeviceGetName", driver.device_get_name);
    finder.find("cuDeviceGetAttribute", driver.device_get_attribute);
    finder.find("cuDevicePrimaryCtxRetain", driver.primary_context_retain);
    finder.find("cuDevicePrimaryCtxRelease_v2", driver.primary_context_release);
    finder.find("cuDevicePrimaryCtxReset_v2", driver.primary_context_reset);
    finder.find("cuCtxSetCurrent", driver.context_set_current);
    finder.find("cuGetErrorName", driver.get_error_name);
    finder.find("cuLinkCreate_v2", driver.link_create);
    finder.find("cuLinkAddData_v2", driver.link_add_data);
    finder.find("cuLinkComplete", driver.link_complete);
    finder.find("cuLinkDestroy", driver.link_destroy);
    finder.find("cuModuleLoadDataEx", driver.module_load);
    finder.find("cuModuleUnload", driver.module_unload);
    finder.find("cuModuleGetFunction", driver.module_get_function);
    finder.find("cuModuleGetGlobal_v2", driver.module_get_global);
    finder.find("cuMemAlloc_v2", driver.memory_allocate);
    finder.find("cuMemFree_v2", driver.memory_free);
    finder.find("cuMemcpyHtoD_v2", driver.copy_to_device);
    finder.find("cuMemcpyDtoH_v2", driver.copy_to_host);
    finder.find("cuLaunchKernel", driver.launch_kernel);
    finder.find("cuStreamQuery", driver.stream_query);
}

}  // namespace

std::string Driver::name_of(CUresult result) const {
    const char* name = nullptr;
    if (get_error_name(result, &name) != CUDA_SUCCESS || name == nullptr)
        return fmt::format("CUDA error {}", static_cast<int>(result));
    return name;
}

Result<Driver> load_driver(const std::string& library) {
    void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* why = ::dlerror();
        return error("EGPU-G001", fmt::format("no NVIDIA driver: {}", why != nullptr ? why : library));
    }
    Driver driver;
    Finder finder(handle);
    find_all(finder, driver);
    if (finder.missing() != nullptr)
        return error("EGPU-G001", fmt::format("{} has no {}, as every driver has", library, finder.missing()));
    if (const CUresult result = driver.init(0); result != CUDA_SUCCESS)
        return error("EGPU-G002", fmt::format("the driver does not start: {}", driver.name_of(result)));
    return driver;
}

}  // namespace egpu::cuda
