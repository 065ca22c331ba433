// SPDX-License-Identifier: Apache-2.0
// A real GPU through its driver, loaded at run time: enough to run fixtures on it. The few driver functions used are
// declared by their documented signatures.
#pragma once

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace egpu::simulated::test {

class Hardware {
public:
    ~Hardware() {
        if (module_ != nullptr) {
            unload_(module_);
        }
    }
    /// Loads a PTX module; says why it can't.
    std::string start(const std::string& ptx) {
        void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (driver == nullptr) {
            return "no libcuda.so.1";
        }
        const bool found = get(driver, "cuInit", init_) && get(driver, "cuDeviceGet", device_) &&
                           get(driver, "cuDevicePrimaryCtxRetain", retain_) &&
                           get(driver, "cuCtxSetCurrent", set_current_) && get(driver, "cuModuleLoadData", load_) &&
                           get(driver, "cuModuleUnload", unload_) && get(driver, "cuModuleGetFunction", function_) &&
                           get(driver, "cuMemAlloc_v2", allocate_) && get(driver, "cuMemFree_v2", free_) &&
                           get(driver, "cuMemcpyHtoD_v2", copy_in_) && get(driver, "cuMemcpyDtoH_v2", copy_out_) &&
                           get(driver, "cuLaunchKernel", launch_) && get(driver, "cuCtxSynchronize", synchronize_) &&
                           get(driver, "cuDeviceGetName", name_);
        if (!found) {
            return "a libcuda.so.1 without the functions needed";
        }
        int device = 0;
        void* context = nullptr;
        if (init_(0) != 0 || device_(&device, 0) != 0) {
            return "no GPU";
        }
        std::array<char, 128> name{};
        if (name_(name.data(), static_cast<int>(name.size()), device) != 0 ||
            std::string(name.data()).find("egpu") != std::string::npos) {
            return "the simulated GPU is not the hardware";
        }
        if (retain_(&context, device) != 0 || set_current_(context) != 0) {
            return "no context on the GPU";
        }
        const int status = load_(&module_, ptx.c_str());
        return status == 0 ? std::string() : "cuModuleLoadData: " + std::to_string(status);
    }
    std::string run(const std::string& kernel, const std::vector<std::uint64_t>& in, std::vector<std::uint64_t>& out,
                    std::uint32_t threads) {
        void* function = nullptr;
        unsigned long long a = 0, b = 0, scratch = 0;
        int status = function_(&function, module_, kernel.c_str());
        status = status != 0 ? status : allocate_(&a, in.size() * 8);
        status = status != 0 ? status : allocate_(&b, out.size() * 8);
        status = status != 0 ? status : allocate_(&scratch, 64 * 128);
        status = status != 0 ? status : copy_in_(a, in.data(), in.size() * 8);
        status = status != 0 ? status : copy_in_(b, out.data(), out.size() * 8);
        void* parameters[] = {&a, &b, &scratch, &threads};
        status = status != 0 ? status : launch_(function, 1, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr);
        status = status != 0 ? status : synchronize_();
        status = status != 0 ? status : copy_out_(out.data(), b, out.size() * 8);
        free_(a);
        free_(b);
        free_(scratch);
        return status == 0 ? std::string() : "driver error " + std::to_string(status);
    }

private:
    template <typename F>
    static bool get(void* driver, const char* name, F& function) {
        function = reinterpret_cast<F>(dlsym(driver, name));
        return function != nullptr;
    }

    int (*init_)(unsigned) = nullptr;
    int (*device_)(int*, int) = nullptr;
    int (*name_)(char*, int, int) = nullptr;
    int (*retain_)(void**, int) = nullptr;
    int (*set_current_)(void*) = nullptr;
    int (*load_)(void**, const void*) = nullptr;
    int (*unload_)(void*) = nullptr;
    int (*function_)(void**, void*, const char*) = nullptr;
    int (*allocate_)(unsigned long long*, std::size_t) = nullptr;
    int (*free_)(unsigned long long) = nullptr;
    int (*copy_in_)(unsigned long long, const void*, std::size_t) = nullptr;
    int (*copy_out_)(void*, unsigned long long, std::size_t) = nullptr;
    int (*launch_)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                   void**) = nullptr;
    int (*synchronize_)() = nullptr;
    void* module_ = nullptr;
};

}  // namespace egpu::simulated::test
