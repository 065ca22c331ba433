// SPDX-License-Identifier: Apache-2.0
// Devices, limits, versions, errors.
#include "gpu/simulated/libcudart/entry.hpp"
#include "gpu/simulated/libcudart/properties.hpp"

using namespace egpu::simulated::runtime;

namespace {

constexpr int kRuntimeVersion = 13000;

/// For calls that need the device but no context.
template <typename Body>
cudaError_t call_opened(const Body& body) {
    Runtime& state = runtime();
    const cudaError_t error = open(state);
    return remember(error != cudaSuccess ? error : body(state));
}

struct ErrorText {
    cudaError_t error;
    const char* name;
    const char* text;
};

constexpr ErrorText kErrors[] = {
#define ERROR(name, value, text) {name, #name, text},
#include "gpu/simulated/libcudart/errors.inc"
#undef ERROR
};

const char* text_of(cudaError_t error, const char* ErrorText::*member, const char* unknown) {
    for (const ErrorText& one : kErrors) {
        if (one.error == error) {
            return one.*member;
        }
    }
    return unknown;
}

}  // namespace

ENTRY cudaError_t cudaGetDeviceCount(int* count) {
    return call_opened([&](Runtime& state) {
        return count == nullptr ? cudaErrorInvalidValue : from_driver(state.driver.cuDeviceGetCount(count));
    });
}

ENTRY cudaError_t cudaGetDevice(int* device) {
    return call_opened([&](Runtime&) {
        if (device == nullptr) {
            return cudaErrorInvalidValue;
        }
        *device = current_device();
        return cudaSuccess;
    });
}

ENTRY cudaError_t cudaSetDevice(int device) {
    return call_opened([&](Runtime& state) { return use_device(state, device); });
}

ENTRY cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    return call_opened([&](Runtime& state) {
        if (properties == nullptr) {
            return cudaErrorInvalidValue;
        }
        *properties = {};
        return from_driver(read_properties(state.driver, device, *properties));
    });
}

ENTRY cudaError_t cudaDeviceGetAttribute(int* value, CUdevice_attribute attribute, int device) {
    return call_opened(
        [&](Runtime& state) { return from_driver(state.driver.cuDeviceGetAttribute(value, attribute, device)); });
}

ENTRY cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    return call_opened(
        [&](Runtime& state) { return from_driver(state.driver.cuDeviceCanAccessPeer(can, device, peer)); });
}

ENTRY cudaError_t cudaDeviceSynchronize() {
    return call_driver([](const DriverCalls& driver) { return driver.cuCtxSynchronize(); });
}

ENTRY cudaError_t cudaDeviceReset() {
    return call([](Runtime& state) { return from_driver(state.driver.cuDevicePrimaryCtxReset(current_device())); });
}

ENTRY cudaError_t cudaDeviceGetLimit(size_t* value, CUlimit limit) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuCtxGetLimit(value, limit); });
}

ENTRY cudaError_t cudaDeviceSetLimit(CUlimit limit, size_t value) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuCtxSetLimit(limit, value); });
}

ENTRY cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuCtxGetStreamPriorityRange(least, greatest); });
}

ENTRY cudaError_t cudaRuntimeGetVersion(int* version) {
    if (version == nullptr) {
        return remember(cudaErrorInvalidValue);
    }
    *version = kRuntimeVersion;
    return cudaSuccess;
}

/// 0 without a driver, which is no error.
ENTRY cudaError_t cudaDriverGetVersion(int* version) {
    if (version == nullptr) {
        return remember(cudaErrorInvalidValue);
    }
    *version = 0;
    Runtime& state = runtime();
    if (open(state) == cudaSuccess) {
        state.driver.cuDriverGetVersion(version);
    }
    return cudaSuccess;
}

/// The driver's own functions, for programs that mix the two interfaces. Not found is a status, not an error.
ENTRY cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                                   unsigned long long flags, CUdriverProcAddressQueryResult* status) {
    return call_opened([&](Runtime& state) {
        if (symbol == nullptr || function == nullptr || version > 0x7FFFFFFFU) {
            return cudaErrorInvalidValue;
        }
        const CUresult result =
            state.driver.cuGetProcAddress(symbol, function, static_cast<int>(version), flags, status);
        return result == CUDA_ERROR_NOT_FOUND ? cudaSuccess : from_driver(result);
    });
}

ENTRY cudaError_t cudaProfilerStart() {
    return call_driver([](const DriverCalls& driver) { return driver.cuProfilerStart(); });
}

ENTRY cudaError_t cudaProfilerStop() {
    return call_driver([](const DriverCalls& driver) { return driver.cuProfilerStop(); });
}

ENTRY cudaError_t cudaGetLastError() {
    const cudaError_t error = last_error();
    last_error() = cudaSuccess;
    return error;
}

ENTRY cudaError_t cudaPeekAtLastError() {
    return last_error();
}

ENTRY const char* cudaGetErrorName(cudaError_t error) {
    return text_of(error, &ErrorText::name, "unrecognized error code");
}

ENTRY const char* cudaGetErrorString(cudaError_t error) {
    return text_of(error, &ErrorText::text, "unrecognized error code");
}
