// SPDX-License-Identifier: Apache-2.0
// cudaDeviceProp from the driver's attributes: one table of which attribute fills which member.
#include "gpu/simulated/libcudart/properties.hpp"

#include <cstddef>
#include <cstring>

namespace egpu::simulated::runtime {

namespace {

struct Member {
    CUdevice_attribute attribute;
    std::size_t offset;
    std::size_t bytes;  ///< 4 or 8
};

#define MEMBER(attribute, member)                                          \
    {                                                                      \
        CU_DEVICE_ATTRIBUTE_##attribute, offsetof(cudaDeviceProp, member), \
            sizeof(static_cast<cudaDeviceProp*>(nullptr)->member)          \
    }

constexpr Member kMembers[] = {
    MEMBER(MAX_SHARED_MEMORY_PER_BLOCK, sharedMemPerBlock),
    MEMBER(MAX_REGISTERS_PER_BLOCK, regsPerBlock),
    MEMBER(WARP_SIZE, warpSize),
    MEMBER(MAX_PITCH, memPitch),
    MEMBER(MAX_THREADS_PER_BLOCK, maxThreadsPerBlock),
    MEMBER(MAX_BLOCK_DIM_X, maxThreadsDim[0]),
    MEMBER(MAX_BLOCK_DIM_Y, maxThreadsDim[1]),
    MEMBER(MAX_BLOCK_DIM_Z, maxThreadsDim[2]),
    MEMBER(MAX_GRID_DIM_X, maxGridSize[0]),
    MEMBER(MAX_GRID_DIM_Y, maxGridSize[1]),
    MEMBER(MAX_GRID_DIM_Z, maxGridSize[2]),
    MEMBER(TOTAL_CONSTANT_MEMORY, totalConstMem),
    MEMBER(COMPUTE_CAPABILITY_MAJOR, major),
    MEMBER(COMPUTE_CAPABILITY_MINOR, minor),
    MEMBER(TEXTURE_ALIGNMENT, textureAlignment),
    MEMBER(TEXTURE_PITCH_ALIGNMENT, texturePitchAlignment),
    MEMBER(MULTIPROCESSOR_COUNT, multiProcessorCount),
    MEMBER(INTEGRATED, integrated),
    MEMBER(CAN_MAP_HOST_MEMORY, canMapHostMemory),
    MEMBER(SURFACE_ALIGNMENT, surfaceAlignment),
    MEMBER(CONCURRENT_KERNELS, concurrentKernels),
    MEMBER(ECC_ENABLED, ECCEnabled),
    MEMBER(PCI_BUS_ID, pciBusID),
    MEMBER(PCI_DEVICE_ID, pciDeviceID),
    MEMBER(PCI_DOMAIN_ID, pciDomainID),
    MEMBER(TCC_DRIVER, tccDriver),
    MEMBER(ASYNC_ENGINE_COUNT, asyncEngineCount),
    MEMBER(UNIFIED_ADDRESSING, unifiedAddressing),
    MEMBER(GLOBAL_MEMORY_BUS_WIDTH, memoryBusWidth),
    MEMBER(L2_CACHE_SIZE, l2CacheSize),
    MEMBER(MAX_PERSISTING_L2_CACHE_SIZE, persistingL2CacheMaxSize),
    MEMBER(MAX_THREADS_PER_MULTIPROCESSOR, maxThreadsPerMultiProcessor),
    MEMBER(STREAM_PRIORITIES_SUPPORTED, streamPrioritiesSupported),
    MEMBER(GLOBAL_L1_CACHE_SUPPORTED, globalL1CacheSupported),
    MEMBER(LOCAL_L1_CACHE_SUPPORTED, localL1CacheSupported),
    MEMBER(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, sharedMemPerMultiprocessor),
    MEMBER(MAX_REGISTERS_PER_MULTIPROCESSOR, regsPerMultiprocessor),
    MEMBER(MANAGED_MEMORY, managedMemory),
    MEMBER(MULTI_GPU_BOARD, isMultiGpuBoard),
    MEMBER(MULTI_GPU_BOARD_GROUP_ID, multiGpuBoardGroupID),
    MEMBER(HOST_NATIVE_ATOMIC_SUPPORTED, hostNativeAtomicSupported),
    MEMBER(PAGEABLE_MEMORY_ACCESS, pageableMemoryAccess),
    MEMBER(CONCURRENT_MANAGED_ACCESS, concurrentManagedAccess),
    MEMBER(COMPUTE_PREEMPTION_SUPPORTED, computePreemptionSupported),
    MEMBER(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, canUseHostPointerForRegisteredMem),
    MEMBER(COOPERATIVE_LAUNCH, cooperativeLaunch),
    MEMBER(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, sharedMemPerBlockOptin),
    MEMBER(PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, pageableMemoryAccessUsesHostPageTables),
    MEMBER(DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, directManagedMemAccessFromHost),
    MEMBER(MAX_BLOCKS_PER_MULTIPROCESSOR, maxBlocksPerMultiProcessor),
    MEMBER(MAX_ACCESS_POLICY_WINDOW_SIZE, accessPolicyMaxWindowSize),
    MEMBER(RESERVED_SHARED_MEMORY_PER_BLOCK, reservedSharedMemPerBlock),
    MEMBER(HOST_REGISTER_SUPPORTED, hostRegisterSupported),
    MEMBER(SPARSE_CUDA_ARRAY_SUPPORTED, sparseCudaArraySupported),
    MEMBER(READ_ONLY_HOST_REGISTER_SUPPORTED, hostRegisterReadOnlySupported),
    MEMBER(TIMELINE_SEMAPHORE_INTEROP_SUPPORTED, timelineSemaphoreInteropSupported),
    MEMBER(MEMORY_POOLS_SUPPORTED, memoryPoolsSupported),
    MEMBER(IPC_EVENT_SUPPORTED, ipcEventSupported),
    MEMBER(CLUSTER_LAUNCH, clusterLaunch),
    MEMBER(UNIFIED_FUNCTION_POINTERS, unifiedFunctionPointers),
    MEMBER(NUMA_CONFIG, deviceNumaConfig),
    MEMBER(NUMA_ID, deviceNumaId),
    MEMBER(HOST_NUMA_ID, hostNumaId),
};

}  // namespace

CUresult read_properties(const DriverCalls& driver, int ordinal, cudaDeviceProp& properties) {
    CUdevice device = 0;
    CUresult result = driver.cuDeviceGet(&device, ordinal);
    if (result == CUDA_SUCCESS) {
        result = driver.cuDeviceGetName(properties.name, sizeof properties.name, device);
    }
    if (result == CUDA_SUCCESS) {
        result = driver.cuDeviceTotalMem(&properties.totalGlobalMem, device);
    }
    if (result == CUDA_SUCCESS) {
        result = driver.cuDeviceGetUuid(&properties.uuid, device);
    }
    auto* const bytes = reinterpret_cast<unsigned char*>(&properties);
    for (const Member& member : kMembers) {
        int value = 0;
        if (result != CUDA_SUCCESS) {
            return result;
        }
        result = driver.cuDeviceGetAttribute(&value, member.attribute, device);
        const std::size_t wide = static_cast<std::size_t>(value);
        if (member.bytes == sizeof wide) {
            std::memcpy(bytes + member.offset, &wide, sizeof wide);
        } else {
            std::memcpy(bytes + member.offset, &value, sizeof value);
        }
    }
    return result;
}

}  // namespace egpu::simulated::runtime
