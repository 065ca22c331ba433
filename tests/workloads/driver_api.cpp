// SPDX-License-Identifier: Apache-2.0
// Opening the driver, and calls with their errors.
#include "driver_api.hpp"

#include <dlfcn.h>

namespace workload {

namespace {

constexpr const char* kNoDriver = "no CUDA driver found: run it under egpu run --simulated or on a machine with one";

Api open_driver() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        throw NoDriver(kNoDriver);
    }
    Api api;
#define WORKLOAD_LOAD(name)                                                                  \
    api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, #name));                  \
    if (api.name == nullptr) {                                                               \
        throw NoDriver("the CUDA driver has no " #name ": version 12.0 or later is needed"); \
    }
    WORKLOAD_DRIVER_FUNCTIONS(WORKLOAD_LOAD)
#undef WORKLOAD_LOAD
    return api;
}

}  // namespace

const Api& Api::get() {
    static const Api api = open_driver();
    return api;
}

void Api::check(CUresult result, const char* call) const {
    if (result == CUDA_SUCCESS) {
        return;
    }
    const char* name = nullptr;
    cuGetErrorName(result, &name);
    throw Failure(std::string(call) + ": " + (name != nullptr ? name : std::to_string(static_cast<int>(result))));
}

Session::Session() {
    const Api& api = Api::get();
    if (const CUresult result = api.cuInit(0); result != CUDA_SUCCESS) {
        const char* name = nullptr;
        api.cuGetErrorName(result, &name);
        throw NoDriver(std::string("no CUDA device: cuInit gave ") + (name != nullptr ? name : "an unknown error"));
    }
    api.check(api.cuDeviceGet(&device_, 0), "cuDeviceGet");
    api.check(api.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
    enter();
}

void Session::enter() const {
    Api::get().check(Api::get().cuCtxSetCurrent(context_), "cuCtxSetCurrent");
}

Stream::Stream() {
    Api::get().check(Api::get().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

Stream::~Stream() {
    Api::get().cuStreamDestroy_v2(stream_);
}

void Stream::synchronize() const {
    Api::get().check(Api::get().cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

Session::~Session() {
    Api::get().cuDevicePrimaryCtxRelease_v2(device_);
}

Module::Module(const char* ptx) {
    Api::get().check(Api::get().cuModuleLoadData(&module_, ptx), "cuModuleLoadData");
}

Module::~Module() {
    Api::get().cuModuleUnload(module_);
}

CUfunction Module::function(const char* name) const {
    CUfunction function = nullptr;
    Api::get().check(Api::get().cuModuleGetFunction(&function, module_, name), "cuModuleGetFunction");
    return function;
}

CUdeviceptr Module::variable(const char* name) const {
    CUdeviceptr address = 0;
    Api::get().check(Api::get().cuModuleGetGlobal_v2(&address, nullptr, module_, name), "cuModuleGetGlobal");
    return address;
}

Library::Library(const char* ptx) {
    Api::get().check(Api::get().cuLibraryLoadData(&library_, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0),
                     "cuLibraryLoadData");
}

Library::~Library() {
    Api::get().cuLibraryUnload(library_);
}

CUfunction Library::kernel(const char* name) const {
    CUkernel kernel = nullptr;
    Api::get().check(Api::get().cuLibraryGetKernel(&kernel, library_, name), "cuLibraryGetKernel");
    return reinterpret_cast<CUfunction>(kernel);
}

void launch(CUfunction function, unsigned blocks, unsigned threads, std::span<void* const> parameters,
            CUstream stream) {
    std::vector<void*> copies(parameters.begin(), parameters.end());
    Api::get().check(
        Api::get().cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, copies.data(), nullptr),
        "cuLaunchKernel");
}

void launch_with_config(CUfunction function, unsigned blocks, unsigned threads, std::span<void* const> parameters) {
    std::vector<void*> copies(parameters.begin(), parameters.end());
    CUlaunchConfig config{};
    config.gridDimX = blocks;
    config.gridDimY = 1;
    config.gridDimZ = 1;
    config.blockDimX = threads;
    config.blockDimY = 1;
    config.blockDimZ = 1;
    Api::get().check(Api::get().cuLaunchKernelEx(&config, function, copies.data(), nullptr), "cuLaunchKernelEx");
}

void synchronize() {
    Api::get().check(Api::get().cuCtxSynchronize(), "cuCtxSynchronize");
}

}  // namespace workload
