// SPDX-License-Identifier: Apache-2.0
// Starting up in the order in which NVIDIA's runtime calls the driver, and loading code when it is first used.
#include "gpu/simulated/libcudart/runtime.hpp"

#include "gpu/simulated/libcudart/properties.hpp"

namespace egpu::simulated::runtime {

namespace {

thread_local cudaError_t thread_error = cudaSuccess;
/// The context was made current on this thread (or the thread had one of its own).
thread_local bool thread_attached = false;

cudaError_t open_once(Runtime& state) {
    if (!open_driver(state.driver)) {
        return cudaErrorInsufficientDriver;
    }
    const DriverCalls& driver = state.driver;
    int version = 0;
    if (driver.cuDriverGetVersion(&version) != CUDA_SUCCESS || version < EGPU_DRIVER_API_VERSION) {
        return cudaErrorInsufficientDriver;
    }
    if (const CUresult result = driver.cuInit(0); result != CUDA_SUCCESS) {
        return from_driver(result);
    }
    CUmoduleLoadingMode mode = CU_MODULE_LAZY_LOADING;
    driver.cuModuleGetLoadingMode(&mode);
    int count = 0;
    if (const CUresult result = driver.cuDeviceGetCount(&count); result != CUDA_SUCCESS) {
        return from_driver(result);
    }
    return count == 0 ? cudaErrorNoDevice : from_driver(read_properties(driver, state.properties));
}

cudaError_t retain(Runtime& state) {
    const std::lock_guard lock(state.mutex);
    if (!state.retained) {
        const CUresult result = state.driver.cuDevicePrimaryCtxRetain(&state.context, 0);
        if (result != CUDA_SUCCESS) {
            return from_driver(result);
        }
        state.retained = true;
    }
    return cudaSuccess;
}

cudaError_t load(Runtime& state, FatBinary& binary) {
    if (binary.library != nullptr) {
        return cudaSuccess;
    }
    if (binary.failed) {
        return binary.failure;
    }
    const CUresult result =
        state.driver.cuLibraryLoadData(&binary.library, binary.image, nullptr, nullptr, 0, nullptr, nullptr, 0);
    if (result != CUDA_SUCCESS) {
        binary.failed = true;
        binary.failure = from_driver(result);
        binary.library = nullptr;
        return binary.failure;
    }
    return cudaSuccess;
}

/// Gives the context back when this library goes, after the program's own destructors.
__attribute__((destructor)) void release_context() {
    Runtime& state = runtime();
    if (state.retained) {
        state.retained = false;
        state.driver.cuDevicePrimaryCtxRelease(0);
    }
}

}  // namespace

Runtime& runtime() {
    static Runtime* const state = new Runtime;
    return *state;
}

cudaError_t open(Runtime& state) {
    const std::lock_guard lock(state.mutex);
    if (!state.opened) {
        state.opening = open_once(state);
        state.opened = true;
    }
    return state.opening;
}

cudaError_t attach(Runtime& state) {
    if (const cudaError_t error = open(state); error != cudaSuccess) {
        return error;
    }
    if (thread_attached) {
        return cudaSuccess;
    }
    CUcontext current = nullptr;
    CUresult result = state.driver.cuCtxGetCurrent(&current);
    if (result == CUDA_SUCCESS && current == nullptr) {
        if (const cudaError_t error = retain(state); error != cudaSuccess) {
            return error;
        }
        result = state.driver.cuCtxSetCurrent(state.context);
    }
    thread_attached = result == CUDA_SUCCESS;
    return from_driver(result);
}

cudaError_t kernel_of(Runtime& state, const void* function, CUkernel* kernel) {
    const std::lock_guard lock(state.mutex);
    const auto found = state.functions.find(function);
    if (found == state.functions.end()) {
        // Since CUDA 12 a kernel handle may stand for the function.
        for (const auto& one : state.functions) {
            if (function != nullptr && one.second.kernel == function) {
                *kernel = one.second.kernel;
                return cudaSuccess;
            }
        }
        return cudaErrorInvalidDeviceFunction;
    }
    HostFunction& known = found->second;
    if (known.kernel == nullptr) {
        if (const cudaError_t error = load(state, *known.binary); error != cudaSuccess) {
            return error;
        }
        const CUresult result =
            state.driver.cuLibraryGetKernel(&known.kernel, known.binary->library, known.name.c_str());
        if (result != CUDA_SUCCESS) {
            known.kernel = nullptr;
            return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : from_driver(result);
        }
    }
    *kernel = known.kernel;
    return cudaSuccess;
}

cudaError_t variable_of(Runtime& state, const void* symbol, CUdeviceptr* address, std::size_t* bytes) {
    const std::lock_guard lock(state.mutex);
    const auto found = state.variables.find(symbol);
    if (found == state.variables.end()) {
        return cudaErrorInvalidSymbol;
    }
    const HostVariable& known = found->second;
    if (const cudaError_t error = load(state, *known.binary); error != cudaSuccess) {
        return error;
    }
    const CUresult result = state.driver.cuLibraryGetGlobal(address, bytes, known.binary->library, known.name.c_str());
    return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : from_driver(result);
}

void settle_managed(Runtime& state, FatBinary& binary) {
    const std::lock_guard lock(state.mutex);
    for (const auto& entry : state.variables) {
        const HostVariable& variable = entry.second;
        CUdeviceptr address = 0;
        if (variable.binary != &binary || variable.managed_pointer == nullptr || load(state, binary) != cudaSuccess ||
            state.driver.cuLibraryGetManaged(&address, nullptr, binary.library, variable.name.c_str()) !=
                CUDA_SUCCESS) {
            continue;
        }
        *variable.managed_pointer = reinterpret_cast<void*>(address);
    }
}

cudaError_t from_driver(CUresult result) {
    switch (static_cast<int>(result)) {
#define ERROR(name, value, text) \
    case value:                  \
        return name;
#include "gpu/simulated/libcudart/errors.inc"
#undef ERROR
        default:
            return cudaErrorUnknown;
    }
}

cudaError_t& last_error() {
    return thread_error;
}

cudaError_t remember(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady) {
        thread_error = error;
    }
    return error;
}

}  // namespace egpu::simulated::runtime
