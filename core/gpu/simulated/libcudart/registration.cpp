// SPDX-License-Identifier: Apache-2.0
// What nvcc's generated code calls before main and around <<<>>>. No call reaches the driver before something is used.
#include <algorithm>
#include <array>

#include "gpu/simulated/libcudart/entry.hpp"

using namespace egpu::simulated::runtime;

namespace {

/// A launch configuration between <<<...>>> and the kernel's stub.
struct Configuration {
    dim3 grid;
    dim3 block;
    std::size_t shared_bytes;
    void* stream;
};

/// Nested only where an argument of a launch launches, so a few are plenty.
struct Configurations {
    std::array<Configuration, 16> stack;
    std::size_t depth;
};
thread_local Configurations configurations;

FatBinary* find_binary(Runtime& state, void** handle) {
    const auto found = std::find(state.binaries.begin(), state.binaries.end(), reinterpret_cast<FatBinary*>(handle));
    return found == state.binaries.end() ? nullptr : *found;
}

void add_variable(void** handle, const void* symbol, const char* name, std::size_t bytes, void** managed_pointer) {
    Runtime& state = runtime();
    const std::lock_guard lock(state.mutex);
    FatBinary* const binary = find_binary(state, handle);
    if (binary != nullptr && name != nullptr) {
        state.variables[symbol] = {binary, name, bytes, managed_pointer};
    }
}

}  // namespace

ENTRY void** __cudaRegisterFatBinary(void* wrapper) {
    Runtime& state = runtime();
    auto* const binary = new FatBinary;
    binary->image = wrapper;
    const std::lock_guard lock(state.mutex);
    state.binaries.push_back(binary);
    return reinterpret_cast<void**>(binary);
}

ENTRY void __cudaRegisterFatBinaryEnd(void**) {}

ENTRY void __cudaUnregisterFatBinary(void** handle) {
    Runtime& state = runtime();
    const std::lock_guard lock(state.mutex);
    FatBinary* const binary = find_binary(state, handle);
    if (binary == nullptr) {
        return;
    }
    std::erase_if(state.functions, [&](const auto& one) { return one.second.binary == binary; });
    std::erase_if(state.variables, [&](const auto& one) { return one.second.binary == binary; });
    std::erase(state.binaries, binary);
    if (binary->library != nullptr) {
        state.driver.cuLibraryUnload(binary->library);
    }
    delete binary;
}

ENTRY void __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* name, int, void*, void*,
                                  void*, void*, int*) {
    Runtime& state = runtime();
    const std::lock_guard lock(state.mutex);
    FatBinary* const binary = find_binary(state, handle);
    if (binary != nullptr && name != nullptr) {
        state.functions[host_function] = {binary, name, nullptr};
    }
}

ENTRY void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* name, int, size_t bytes, int, int) {
    add_variable(handle, host_variable, name, bytes, nullptr);
}

ENTRY void __cudaRegisterManagedVar(void** handle, void** host_pointer, char*, const char* name, int, size_t bytes, int,
                                    int) {
    add_variable(handle, host_pointer, name, bytes, host_pointer);
}

/// Called before the first use of a managed variable.
ENTRY char __cudaInitModule(void** handle) {
    const cudaError_t error = call([&](Runtime& state) {
        FatBinary* binary = nullptr;
        {
            const std::lock_guard lock(state.mutex);
            binary = find_binary(state, handle);
        }
        if (binary == nullptr) {
            return cudaErrorInvalidValue;
        }
        settle_managed(state, *binary);
        return cudaSuccess;
    });
    return error == cudaSuccess ? 1 : 0;
}

ENTRY unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, void* stream) {
    if (configurations.depth == configurations.stack.size()) {
        return 1;
    }
    configurations.stack[configurations.depth++] = {grid, block, shared_bytes, stream};
    return 0;
}

ENTRY cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
    if (configurations.depth == 0) {
        return remember(cudaErrorMissingConfiguration);
    }
    const Configuration& top = configurations.stack[--configurations.depth];
    *grid = top.grid;
    *block = top.block;
    *shared_bytes = top.shared_bytes;
    *static_cast<void**>(stream) = top.stream;
    return cudaSuccess;
}

ENTRY cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
    return call(
        [&](Runtime& state) { return kernel == nullptr ? cudaErrorInvalidValue : kernel_of(state, function, kernel); });
}
