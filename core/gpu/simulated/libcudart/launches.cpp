// SPDX-License-Identifier: Apache-2.0
// Launches, attributes of functions, occupancy.
#include "gpu/simulated/libcudart/entry.hpp"

using namespace egpu::simulated::runtime;

namespace {

/// The runtime has an error of its own for empty grids and blocks. Blocks that are too large reach the driver, whose
/// answer (invalid value) is the runtime's, as recorded on a GPU.
bool is_valid(const dim3& grid, const dim3& block) {
    return grid.x > 0 && grid.y > 0 && grid.z > 0 && block.x > 0 && block.y > 0 && block.z > 0;
}

cudaError_t launch_kernel(Runtime& state, CUkernel kernel, const dim3& grid, const dim3& block, void** parameters,
                          std::size_t shared_bytes, CUstream stream) {
    if (!is_valid(grid, block)) {
        return cudaErrorInvalidConfiguration;
    }
    if (shared_bytes > 0xFFFFFFFFU) {
        return cudaErrorInvalidValue;
    }
    return from_driver(state.driver.cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), grid.x, grid.y, grid.z,
                                                   block.x, block.y, block.z, static_cast<unsigned>(shared_bytes),
                                                   stream, parameters, nullptr));
}

cudaError_t launch_handle(cudaKernel_t kernel, dim3 grid, dim3 block, void** parameters, size_t shared_bytes,
                          cudaStream_t stream) {
    return call(
        [&](Runtime& state) { return launch_kernel(state, kernel, grid, block, parameters, shared_bytes, stream); });
}

cudaError_t launch_function(const void* function, dim3 grid, dim3 block, void** parameters, size_t shared_bytes,
                            cudaStream_t stream) {
    return call([&](Runtime& state) {
        CUkernel kernel = nullptr;
        const cudaError_t error = kernel_of(state, function, &kernel);
        return error != cudaSuccess ? error
                                    : launch_kernel(state, kernel, grid, block, parameters, shared_bytes, stream);
    });
}

cudaError_t launch_cooperative(const void* function, dim3 grid, dim3 block, void** parameters, size_t shared_bytes,
                               cudaStream_t stream) {
    return call([&](Runtime& state) {
        CUkernel kernel = nullptr;
        if (const cudaError_t error = kernel_of(state, function, &kernel); error != cudaSuccess) {
            return error;
        }
        if (!is_valid(grid, block)) {
            return cudaErrorInvalidConfiguration;
        }
        return from_driver(state.driver.cuLaunchCooperativeKernel(
            reinterpret_cast<CUfunction>(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
            static_cast<unsigned>(shared_bytes), stream, parameters));
    });
}

cudaError_t launch_configured(const cudaLaunchConfig_t* config, const void* function, void** parameters,
                              bool per_thread) {
    return call([&](Runtime& state) {
        CUkernel kernel = nullptr;
        if (config == nullptr) {
            return cudaErrorInvalidValue;
        }
        if (const cudaError_t error = kernel_of(state, function, &kernel); error != cudaSuccess) {
            return error;
        }
        if (!is_valid(config->gridDim, config->blockDim)) {
            return cudaErrorInvalidConfiguration;
        }
        CUlaunchConfig driver_config{};
        driver_config.gridDimX = config->gridDim.x;
        driver_config.gridDimY = config->gridDim.y;
        driver_config.gridDimZ = config->gridDim.z;
        driver_config.blockDimX = config->blockDim.x;
        driver_config.blockDimY = config->blockDim.y;
        driver_config.blockDimZ = config->blockDim.z;
        driver_config.sharedMemBytes = static_cast<unsigned>(config->dynamicSmemBytes);
        driver_config.hStream = per_thread ? own_default(config->stream) : config->stream;
        driver_config.attrs = config->attrs;
        driver_config.numAttrs = config->numAttrs;
        return from_driver(
            state.driver.cuLaunchKernelEx(&driver_config, reinterpret_cast<CUfunction>(kernel), parameters, nullptr));
    });
}

/// Runs a body with the kernel behind a host function.
template <typename Body>
cudaError_t with_kernel(const void* function, const Body& body) {
    return call([&](Runtime& state) {
        CUkernel kernel = nullptr;
        const cudaError_t error = kernel_of(state, function, &kernel);
        return error != cudaSuccess ? error : from_driver(body(state.driver, kernel));
    });
}

/// NVIDIA's runtime has a kernel's function made before it reads or sets attributes; so whoever hooks the driver sees
/// it.
CUresult make_function(const DriverCalls& driver, CUkernel kernel) {
    CUfunction function = nullptr;
    return driver.cuKernelGetFunction(&function, kernel);
}

CUresult read_attributes(const DriverCalls& driver, CUkernel kernel, cudaFuncAttributes& attributes) {
    const auto read = [&](CUfunction_attribute attribute, auto& member) {
        int value = 0;
        const CUresult result = driver.cuKernelGetAttribute(&value, attribute, kernel, 0);
        member = static_cast<std::remove_reference_t<decltype(member)>>(value);
        return result;
    };
    attributes = {};
    CUresult result = make_function(driver, kernel);
    if (result == CUDA_SUCCESS) {
        result = read(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, attributes.sharedSizeBytes);
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    read(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, attributes.constSizeBytes);
    read(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, attributes.localSizeBytes);
    read(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, attributes.maxThreadsPerBlock);
    read(CU_FUNC_ATTRIBUTE_NUM_REGS, attributes.numRegs);
    read(CU_FUNC_ATTRIBUTE_PTX_VERSION, attributes.ptxVersion);
    read(CU_FUNC_ATTRIBUTE_BINARY_VERSION, attributes.binaryVersion);
    read(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, attributes.cacheModeCA);
    read(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, attributes.maxDynamicSharedSizeBytes);
    read(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, attributes.preferredShmemCarveout);
    return CUDA_SUCCESS;
}

}  // namespace

ENTRY cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** parameters, size_t shared_bytes,
                                     cudaStream_t stream) {
    return launch_handle(kernel, grid, block, parameters, shared_bytes, stream);
}
ENTRY cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** parameters,
                                          size_t shared_bytes, cudaStream_t stream) {
    return launch_handle(kernel, grid, block, parameters, shared_bytes, own_default(stream));
}
ENTRY cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** parameters, size_t shared_bytes,
                                   cudaStream_t stream) {
    return launch_function(function, grid, block, parameters, shared_bytes, stream);
}
ENTRY cudaError_t cudaLaunchKernel_ptsz(const void* function, dim3 grid, dim3 block, void** parameters,
                                        size_t shared_bytes, cudaStream_t stream) {
    return launch_function(function, grid, block, parameters, shared_bytes, own_default(stream));
}
ENTRY cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** parameters,
                                              size_t shared_bytes, cudaStream_t stream) {
    return launch_cooperative(function, grid, block, parameters, shared_bytes, stream);
}
ENTRY cudaError_t cudaLaunchCooperativeKernel_ptsz(const void* function, dim3 grid, dim3 block, void** parameters,
                                                   size_t shared_bytes, cudaStream_t stream) {
    return launch_cooperative(function, grid, block, parameters, shared_bytes, own_default(stream));
}
ENTRY cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** parameters) {
    return launch_configured(config, function, parameters, false);
}
ENTRY cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t* config, const void* function, void** parameters) {
    return launch_configured(config, function, parameters, true);
}

ENTRY cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
    return with_kernel(function, [&](const DriverCalls& driver, CUkernel kernel) -> CUresult {
        return attributes == nullptr ? CUDA_ERROR_INVALID_VALUE : read_attributes(driver, kernel, *attributes);
    });
}

ENTRY cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
    return with_kernel(function, [&](const DriverCalls& driver, CUkernel kernel) {
        const CUresult result = make_function(driver, kernel);
        return result != CUDA_SUCCESS
                   ? result
                   : driver.cuKernelSetAttribute(static_cast<CUfunction_attribute>(attribute), value, kernel, 0);
    });
}

ENTRY cudaError_t cudaFuncSetCacheConfig(const void* function, CUfunc_cache config) {
    return with_kernel(function, [&](const DriverCalls& driver, CUkernel kernel) {
        return driver.cuKernelSetCacheConfig(kernel, config, 0);
    });
}

ENTRY cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                                         size_t shared_bytes, unsigned flags) {
    return with_kernel(function, [&](const DriverCalls& driver, CUkernel kernel) {
        return driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, reinterpret_cast<CUfunction>(kernel),
                                                                           threads, shared_bytes, flags);
    });
}

ENTRY cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                                size_t shared_bytes) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared_bytes, 0);
}

ENTRY cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function, int blocks,
                                                            int threads) {
    return with_kernel(function, [&](const DriverCalls& driver, CUkernel kernel) {
        return driver.cuOccupancyAvailableDynamicSMemPerBlock(bytes, reinterpret_cast<CUfunction>(kernel), blocks,
                                                              threads);
    });
}
