// SPDX-License-Identifier: Apache-2.0
// The CUDA driver as the workloads use it: found at run time, every error an exception with the call's name.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/device/driver.h"

namespace workload {

/// A call of the driver failed, or a result is wrong: exit code 1.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// There is no driver or no device: exit code 77.
struct NoDriver : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The functions in use, by the names that libcuda.so.1 exports.
// The formatter moves these backslashes back and forth.
// clang-format off
#define WORKLOAD_DRIVER_FUNCTIONS(F) \
    F(cuInit) \
    F(cuGetErrorName) \
    F(cuDeviceGet) F(cuDeviceGetCount) \
    F(cuDevicePrimaryCtxReset_v2) \
    F(cuDevicePrimaryCtxRetain) F(cuDevicePrimaryCtxRelease_v2) F(cuCtxSetCurrent) F(cuCtxSynchronize) \
        F(cuModuleLoadData) F(cuModuleUnload) F(cuModuleGetFunction) F(cuModuleGetGlobal_v2) F(cuLibraryLoadData) \
            F(cuLibraryGetKernel) F(cuLibraryUnload) F(cuMemAlloc_v2) F(cuMemFree_v2) F(cuMemcpyHtoD_v2) \
                F(cuMemcpyDtoH_v2) F(cuMemsetD32_v2) F(cuLaunchKernel) F(cuLaunchKernelEx) \
    F(cuStreamCreate) F(cuStreamDestroy_v2) F(cuStreamSynchronize) F(cuStreamBeginCapture_v2) F(cuStreamEndCapture) \
    F(cuGraphInstantiateWithFlags) F(cuGraphLaunch) F(cuGraphExecUpdate_v2) F(cuGraphExecDestroy) F(cuGraphDestroy) \
    F(cuCtxCreate_v2) F(cuCtxDestroy_v2)
// clang-format on

struct Api {
#define WORKLOAD_MEMBER(name) decltype(&::name) name = nullptr;
    WORKLOAD_DRIVER_FUNCTIONS(WORKLOAD_MEMBER)
#undef WORKLOAD_MEMBER

    /// Opens libcuda.so.1; NoDriver where there is none.
    static const Api& get();
    /// Throws Failure with the error's name unless `result` is success.
    void check(CUresult result, const char* call) const;
};

/// The device's primary context, current while this lives.
class Session {
public:
    Session();
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// Makes the context current on another thread.
    void enter() const;
    CUdevice device() const { return device_; }

private:
    CUdevice device_ = 0;
    CUcontext context_ = nullptr;
};

/// A stream that does not wait for the default stream.
class Stream {
public:
    Stream();
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    CUstream get() const { return stream_; }
    void synchronize() const;

private:
    CUstream stream_ = nullptr;
};

class Module {
public:
    explicit Module(const char* ptx);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    CUfunction function(const char* name) const;
    CUdeviceptr variable(const char* name) const;

private:
    CUmodule module_ = nullptr;
};

/// The newer way to load code: a library, whose kernels belong to no context.
class Library {
public:
    explicit Library(const char* ptx);
    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    /// A kernel handle, which launches take in place of a function.
    CUfunction kernel(const char* name) const;

private:
    CUlibrary library_ = nullptr;
};

template <typename T>
class DeviceArray {
public:
    explicit DeviceArray(std::size_t count) : count_(count) {
        Api::get().check(Api::get().cuMemAlloc_v2(&address_, count * sizeof(T)), "cuMemAlloc");
    }
    explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
        Api::get().check(Api::get().cuMemcpyHtoD_v2(address_, values.data(), count_ * sizeof(T)), "cuMemcpyHtoD");
    }
    ~DeviceArray() { Api::get().cuMemFree_v2(address_); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;

    void zero() {
        static_assert(sizeof(T) == 4);
        Api::get().check(Api::get().cuMemsetD32_v2(address_, 0, count_), "cuMemsetD32");
    }
    std::vector<T> read() const {
        std::vector<T> values(count_);
        Api::get().check(Api::get().cuMemcpyDtoH_v2(values.data(), address_, count_ * sizeof(T)), "cuMemcpyDtoH");
        return values;
    }
    CUdeviceptr& address() { return address_; }

private:
    CUdeviceptr address_ = 0;
    std::size_t count_ = 0;
};

/// Launches a one-dimensional grid and does not wait.
void launch(CUfunction function, unsigned blocks, unsigned threads, std::span<void* const> parameters,
            CUstream stream = nullptr);
/// The same through cuLaunchKernelEx.
void launch_with_config(CUfunction function, unsigned blocks, unsigned threads, std::span<void* const> parameters);
void synchronize();

}  // namespace workload
