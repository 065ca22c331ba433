// SPDX-License-Identifier: Apache-2.0
// Starting up in the order in which NVIDIA's runtime calls the driver, and loading code when it is first used.
#include "gpu/simulated/libcudart/runtime.hpp"

#include "gpu/simulated/libcudart/properties.hpp"

namespace egpu::simulated::runtime {

namespace {

thread_local cudaError_t thread_error = cudaSuccess;
/// The context was made current on this thread (or the thread had one of its own).
thread_local bool thread_attached = false;
thread_local int thread_device = 0;

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
    if (count == 0) {
        return cudaErrorNoDevice;
    }
    state.contexts.resize(static_cast<std::size_t>(count));
    return from_driver(read_properties(driver, 0, state.properties));
}

/// Makes a device's primary context current.
CUresult enter(Runtime& state, int device) {
    CUcontext context = nullptr;
    {
        const std::lock_guard lock(state.mutex);
        CUcontext& primary = state.contexts[static_cast<std::size_t>(device)];
        if (primary == nullptr) {
            const CUresult result = state.driver.cuDevicePrimaryCtxRetain(&primary, device);
            if (result != CUDA_SUCCESS) {
                primary = nullptr;
                return result;
            }
        }
        context = primary;
    }
    return state.driver.cuCtxSetCurrent(context);
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
    for (std::size_t device = 0; device < state.contexts.size(); ++device) {
        if (state.contexts[device] != nullptr) {
            state.contexts[device] = nullptr;
            state.driver.cuDevicePrimaryCtxRelease(static_cast<CUdevice>(device));
        }
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
        result = enter(state, thread_device);
    }
    thread_attached = result == CUDA_SUCCESS;
    return from_driver(result);
}

int current_device() {
    return thread_device;
}

cudaError_t use_device(Runtime& state, int device) {
    if (device < 0 || static_cast<std::size_t>(device) >= state.contexts.size()) {
        return cudaErrorInvalidDevice;
    }
    if (device == thread_device) {
        return attach(state);
    }
    const CUresult result = enter(state, device);
    if (result == CUDA_SUCCESS) {
        thread_device = device;
        thread_attached = true;
    }
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

const void* host_function_of(Runtime& state, CUkernel kernel) {
    const std::lock_guard lock(state.mutex);
    for (const auto& one : state.functions) {
        if (kernel != nullptr && one.second.kernel == kernel) {
            return one.first;
        }
    }
    return nullptr;
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
