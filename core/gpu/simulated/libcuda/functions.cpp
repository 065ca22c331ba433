// SPDX-License-Identifier: Apache-2.0
// cuFunc* and cuOccupancy*.
#include "gpu/simulated/libcuda/functions.hpp"

#include <algorithm>

#include "gpu/simulated/executor/device.hpp"
#include "gpu/simulated/libcuda/image.hpp"

namespace egpu::simulated {

namespace {

/// Registers are given to warps in units of 256, shared memory to blocks in units of 128 bytes.
constexpr int kRegisterUnit = 256;
constexpr std::size_t kSharedUnit = 128;

constexpr int round_up(int value, int unit) {
    return (value + unit - 1) / unit * unit;
}

/// PTX has as many registers as it likes and nothing allocates them here: every kernel counts as this many, so that
/// occupancy depends on threads and shared memory only.
constexpr int kRegisters = 32;
constexpr int kRegistersPerWarp = round_up(kRegisters * kWarpSize, kRegisterUnit);

}  // namespace

int max_dynamic_shared(const Function& function) {
    const int chosen = function.attributes->max_dynamic_shared;
    const int of_static = static_cast<int>(function.kernel->static_shared_bytes);
    return chosen >= 0 ? chosen : std::max(kSharedPerBlock - of_static, 0);
}

int max_threads(const Function& function) {
    const int by_registers = kRegistersPerSm / kRegistersPerWarp * kWarpSize;
    const std::uint64_t declared = function.kernel->max_threads.count();
    const std::uint64_t required = function.kernel->required_threads.count();
    std::uint64_t limit = static_cast<std::uint64_t>(std::min(kThreadsPerBlock, by_registers));
    limit = declared > 0 ? std::min(limit, declared) : limit;
    limit = required > 0 ? std::min(limit, required) : limit;
    return static_cast<int>(limit);
}

int resident_blocks(const Function& function, int threads, std::size_t dynamic_shared) {
    if (threads > max_threads(function) || dynamic_shared > static_cast<std::size_t>(max_dynamic_shared(function))) {
        return 0;
    }
    const int warps = round_up(threads, kWarpSize) / kWarpSize;
    std::size_t shared = function.kernel->static_shared_bytes + dynamic_shared + kSharedReserved;
    shared = (shared + kSharedUnit - 1) / kSharedUnit * kSharedUnit;
    int blocks = std::min(kBlocksPerSm, kThreadsPerSm / kWarpSize / warps);
    blocks = std::min(blocks, kRegistersPerSm / (kRegistersPerWarp * warps));
    return std::min(blocks, static_cast<int>(static_cast<std::size_t>(kSharedPerSm) / shared));
}

CUresult get_attribute(const Function& function, CUfunction_attribute attribute, int* value) {
    if (value == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Kernel& kernel = *function.kernel;
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            *value = max_threads(function);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
            *value = static_cast<int>(kernel.static_shared_bytes);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
            *value = static_cast<int>(kernel.local_bytes);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            *value = kRegisters;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_PTX_VERSION:
            *value = function.module->ptx_version;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
            *value = static_cast<int>(kArchitecture);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            *value = max_dynamic_shared(function);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            *value = function.attributes->carveout;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
            *value = function.attributes->non_portable_cluster;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
            *value = function.attributes->cluster_policy;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: {
            std::uint64_t bytes = 0;
            for (const VariableInfo& variable : function.module->module->variables()) {
                bytes += variable.constant ? variable.bytes : 0;
            }
            *value = static_cast<int>(bytes);
            return CUDA_SUCCESS;
        }
        case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
            *value = kernel.explicit_cluster ? 1 : 0;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
            *value = static_cast<int>(kernel.required_cluster.x);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
            *value = static_cast<int>(kernel.required_cluster.y);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
            *value = static_cast<int>(kernel.required_cluster.z);
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
            *value = 0;
            return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult set_attribute(Function& function, CUfunction_attribute attribute, int value) {
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: {
            const int room = kSharedPerBlockOptIn - static_cast<int>(function.kernel->static_shared_bytes);
            if (value < 0 || value > room) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            function.attributes->max_dynamic_shared = value;
            return CUDA_SUCCESS;
        }
        case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            if (value < -1 || value > 100) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            function.attributes->carveout = value;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
            function.attributes->non_portable_cluster = value != 0 ? 1 : 0;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
            function.attributes->cluster_policy = value;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult parameter_info(const Function& function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
    if (offset == nullptr || index >= function.kernel->parameters.size()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *offset = function.kernel->parameters[index].offset;
    if (bytes != nullptr) {
        *bytes = function.kernel->parameters[index].bytes;
    }
    return CUDA_SUCCESS;
}

namespace {

/// Runs a body with the function behind a CUfunction or CUkernel.
template <typename Body>
CUresult with_function(CUfunction handle, const Body& body) {
    return entry_in_context([&](Driver&, DriverContext& context) -> CUresult {
        CUresult error = CUDA_SUCCESS;
        const std::shared_ptr<Function> function = find_function(handle, context, &error);
        return function == nullptr ? error : body(*function);
    });
}

CUresult active_blocks(int* blocks, CUfunction handle, int threads, size_t dynamic_shared) {
    return with_function(handle, [&](Function& function) -> CUresult {
        if (blocks == nullptr || threads <= 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *blocks = resident_blocks(function, threads, dynamic_shared);
        return CUDA_SUCCESS;
    });
}

CUresult best_block(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_of, size_t dynamic_shared,
                    int limit) {
    return with_function(handle, [&](Function& function) -> CUresult {
        if (grid == nullptr || block == nullptr || limit < 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        int most = max_threads(function);
        most = limit > 0 ? std::min(most, limit) : most;
        int best_threads = 0;
        int best_resident = 0;
        for (int threads = round_up(most, kWarpSize); threads > 0; threads -= kWarpSize) {
            const int size = std::min(threads, most);
            const std::size_t shared = shared_of != nullptr ? shared_of(size) : dynamic_shared;
            const int resident = resident_blocks(function, size, shared) * size;
            if (resident > best_resident) {
                best_resident = resident;
                best_threads = size;
            }
        }
        if (best_threads == 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *block = best_threads;
        *grid = best_resident / best_threads * kSmCount;
        return CUDA_SUCCESS;
    });
}

/// Clusters of a launch that the device holds at a time.
CUresult active_clusters(int* clusters, CUfunction handle, const CUlaunchConfig* config) {
    return with_function(handle, [&](Function& function) -> CUresult {
        if (clusters == nullptr || config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        Dimensions asked{0, 0, 0};
        for (unsigned index = 0; index < config->numAttrs; ++index) {
            if (config->attrs[index].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
                const auto& size = config->attrs[index].value.clusterDim;
                asked = {size.x, size.y, size.z};
            }
        }
        const std::uint64_t size = std::max<std::uint64_t>(cluster_of(*function.kernel, asked).count(), 1);
        const auto threads = static_cast<int>(config->blockDimX * config->blockDimY * config->blockDimZ);
        if (threads <= 0 || size > kMostBlocksOfCluster) {
            return threads <= 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CLUSTER_SIZE;
        }
        const int blocks = resident_blocks(function, threads, config->sharedMemBytes) * kSmCount;
        *clusters = static_cast<int>(static_cast<std::uint64_t>(blocks) / size);
        return CUDA_SUCCESS;
    });
}

CUresult largest_cluster(int* size, CUfunction handle, const CUlaunchConfig* config) {
    return with_function(handle, [&](Function& function) -> CUresult {
        if (size == nullptr || config == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *size =
            static_cast<int>(function.attributes->non_portable_cluster != 0 ? kMostBlocksOfCluster : kPortableCluster);
        return CUDA_SUCCESS;
    });
}

}  // namespace

}  // namespace egpu::simulated

using namespace egpu::simulated;

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
    return with_function(handle, [&](Function& function) { return get_attribute(function, attribute, value); });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
    return with_function(handle, [&](Function& function) { return set_attribute(function, attribute, value); });
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config) {
    return with_function(handle, [&](Function&) -> CUresult {
        return config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE
                                                                                         : CUDA_SUCCESS;
    });
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
    return with_function(handle, [&](Function& function) -> CUresult {
        if (module == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *module = reinterpret_cast<CUmodule>(function.module.get());
        return CUDA_SUCCESS;
    });
}

CUresult cuFuncGetName(const char** name, CUfunction handle) {
    return with_function(handle, [&](Function& function) -> CUresult {
        if (name == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *name = function.kernel->name.c_str();
        return CUDA_SUCCESS;
    });
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* bytes) {
    return with_function(handle, [&](Function& function) { return parameter_info(function, index, offset, bytes); });
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
    return with_function(handle, [&](Function&) -> CUresult {
        if (state == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *state = CU_FUNCTION_LOADING_STATE_LOADED;
        return CUDA_SUCCESS;
    });
}

CUresult cuFuncLoad(CUfunction handle) {
    return with_function(handle, [](Function&) { return CUDA_SUCCESS; });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     size_t dynamic_shared) {
    return active_blocks(blocks, function, threads, dynamic_shared);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int threads,
                                                              size_t dynamic_shared, unsigned flags) {
    return flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE ? CUDA_ERROR_INVALID_VALUE
                                                         : active_blocks(blocks, function, threads, dynamic_shared);
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function, CUoccupancyB2DSize shared_of,
                                          size_t dynamic_shared, int limit) {
    return best_block(grid, block, function, shared_of, dynamic_shared, limit);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function,
                                                   CUoccupancyB2DSize shared_of, size_t dynamic_shared, int limit,
                                                   unsigned flags) {
    return flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE
               ? CUDA_ERROR_INVALID_VALUE
               : best_block(grid, block, function, shared_of, dynamic_shared, limit);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction handle, int blocks, int threads) {
    return with_function(handle, [&](Function& function) -> CUresult {
        if (bytes == nullptr || blocks <= 0 || threads <= 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        // The most shared memory with which `blocks` blocks still fit, in steps of the allocation unit.
        const std::size_t share = static_cast<std::size_t>(kSharedPerSm / blocks) / kSharedUnit * kSharedUnit;
        const std::size_t taken = function.kernel->static_shared_bytes + kSharedReserved;
        const std::size_t room = share > taken ? share - taken : 0;
        *bytes = std::min(room, static_cast<std::size_t>(max_dynamic_shared(function)));
        if (resident_blocks(function, threads, 0) < blocks) {
            *bytes = 0;
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction function, const CUlaunchConfig* config) {
    return largest_cluster(size, function, config);
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config) {
    return active_clusters(clusters, function, config);
}
