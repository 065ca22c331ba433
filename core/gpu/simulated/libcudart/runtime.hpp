// SPDX-License-Identifier: Apache-2.0
// The runtime's state: what programs registered before main, the device's context, errors by thread.
#pragma once

#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "gpu/simulated/libcudart/driver_calls.hpp"
#include "gpu/simulated/libcudart/runtime_types.h"

namespace egpu::simulated::runtime {

/// An image that the program carries; loaded when something of it is first used.
struct FatBinary {
    const void* image = nullptr;
    CUlibrary library = nullptr;
    bool failed = false;
    cudaError_t failure = cudaSuccess;
};

struct HostFunction {
    FatBinary* binary = nullptr;
    std::string name;
    CUkernel kernel = nullptr;
};

struct HostVariable {
    FatBinary* binary = nullptr;
    std::string name;
    std::size_t bytes = 0;
    void** managed_pointer = nullptr;  ///< where the program keeps the address of a __managed__ variable
};

/// Kept until the process ends: static destructors still use it.
struct Runtime {
    std::mutex mutex;
    DriverCalls driver;
    bool opened = false;  ///< the driver was looked for
    cudaError_t opening = cudaSuccess;
    std::vector<CUcontext> contexts;  ///< primary contexts by device, null until something needs them
    cudaDeviceProp properties{};      ///< of device 0; what launches ask for is the same on all
    std::unordered_map<const void*, HostFunction> functions;
    std::unordered_map<const void*, HostVariable> variables;
    std::vector<FatBinary*> binaries;
};

Runtime& runtime();

/// The driver opened and the device looked at, as the first call of a program does.
cudaError_t open(Runtime& state);
/// ... and the primary context current on this thread.
cudaError_t attach(Runtime& state);

/// The calling thread's device, and another one made so with its primary context.
int current_device();
cudaError_t use_device(Runtime& state, int device);

/// Both take the state's mutex. The kernel behind the address of a host stub, or behind a kernel handle.
cudaError_t kernel_of(Runtime& state, const void* function, CUkernel* kernel);
/// The host stub of a kernel that this runtime loaded; null for any other.
const void* host_function_of(Runtime& state, CUkernel kernel);
cudaError_t variable_of(Runtime& state, const void* symbol, CUdeviceptr* address, std::size_t* bytes);
/// Puts the addresses of managed variables where the program looks for them.
void settle_managed(Runtime& state, FatBinary& binary);

/// The runtime's name for a driver's error; they have the same numbers but for a few.
cudaError_t from_driver(CUresult result);

/// The calling thread's last error, which cudaGetLastError takes away.
cudaError_t& last_error();
cudaError_t remember(cudaError_t error);

/// Runs the body of an entry point that needs the device, its result remembered as the thread's last error.
template <typename Body>
cudaError_t call(const Body& body) noexcept {
    try {
        Runtime& state = runtime();
        const cudaError_t error = attach(state);
        return remember(error != cudaSuccess ? error : body(state));
    } catch (...) {
        return remember(cudaErrorMemoryAllocation);
    }
}

/// The same for a body that makes one call of the driver.
template <typename Body>
cudaError_t call_driver(const Body& body) noexcept {
    return call([&](Runtime& state) { return from_driver(body(state.driver)); });
}

}  // namespace egpu::simulated::runtime
