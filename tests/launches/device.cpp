// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include <dlfcn.h>

#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/diagnostic.hpp"

namespace egpu::launches {
namespace {

using workload::Api;

Status done(CUresult result, const char* call) {
    if (result == CUDA_SUCCESS)
        return ok();
    const char* name = nullptr;
    Api::get().cuGetErrorName(result, &name);
    return error("", fmt::format("{}: {}", call, name == nullptr ? "an unknown error" : name));
}

/// A function that not every driver has; nullptr where it is missing.
template <typename Function>
Function find(const char* name) {
    static void* const kLibrary = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return kLibrary == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(kLibrary, name));
}

Diagnostic missing(const char* name) {
    return error("", fmt::format("the driver has no {}", name));
}

}  // namespace

Result<std::uint64_t> DriverMemory::allocate(std::uint64_t bytes) {
    CUdeviceptr address = 0;
    auto allocated = done(Api::get().cuMemAlloc_v2(&address, bytes), "cuMemAlloc");
    return allocated ? Result<std::uint64_t>(std::uint64_t{address}) : allocated.error();
}

Status DriverMemory::copy_in(std::uint64_t to, const void* from, std::uint64_t bytes) {
    return done(Api::get().cuMemcpyHtoD_v2(to, from, bytes), "cuMemcpyHtoD");
}

Status DriverMemory::copy_out(void* to, std::uint64_t from, std::uint64_t bytes) {
    return done(Api::get().cuMemcpyDtoH_v2(to, from, bytes), "cuMemcpyDtoH");
}

Result<std::vector<std::byte>> DriverMemory::object(const Argument& argument) {
    return objects_.make(argument);
}

Result<std::vector<ParameterPlace>> parameters_of(CUfunction function) {
    const auto information = find<decltype(&cuFuncGetParamInfo)>("cuFuncGetParamInfo");
    if (information == nullptr)
        return missing("cuFuncGetParamInfo (12.4)");
    std::vector<ParameterPlace> places;
    std::size_t offset = 0, bytes = 0;
    while (information(function, places.size(), &offset, &bytes) == CUDA_SUCCESS)
        places.push_back({offset, bytes});
    return places;
}

Status launch_and_wait(CUfunction function, const LaunchLine& line, std::vector<std::byte>& parameters,
                       const std::vector<ParameterPlace>& places) {
    std::vector<void*> pointers;
    for (const auto& place : places)
        pointers.push_back(parameters.data() + place.offset);
    const auto& [grid, block] = std::pair(line.grid, line.block);
    CUlaunchConfig config{};
    config.gridDimX = grid.x;
    config.gridDimY = grid.y;
    config.gridDimZ = grid.z;
    config.blockDimX = block.x;
    config.blockDimY = block.y;
    config.blockDimZ = block.z;
    config.sharedMemBytes = line.shared;
    CUlaunchAttribute cooperative{};
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
    config.attrs = &cooperative;
    config.numAttrs = line.cooperative ? 1 : 0;
    auto launched = done(Api::get().cuLaunchKernelEx(&config, function, pointers.data(), nullptr), "cuLaunchKernelEx");
    return launched ? done(Api::get().cuCtxSynchronize(), "cuCtxSynchronize") : launched;
}

std::string device_name() {
    const auto name_of = find<decltype(&cuDeviceGetName)>("cuDeviceGetName");
    std::array<char, 256> name{};
    if (name_of != nullptr)
        name_of(name.data(), static_cast<int>(name.size()) - 1, 0);
    return name.data();
}

}  // namespace egpu::launches
