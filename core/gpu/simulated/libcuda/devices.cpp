// SPDX-License-Identifier: Apache-2.0
// cuDevice*: devices of compute capability 9.0 with few SMs, each like the other.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "gpu/simulated/libcuda/driver.hpp"
#include "gpu/simulated/libcuda/functions.hpp"

using namespace egpu::simulated;

namespace {

constexpr std::string_view kName = "egpu simulated GPU";
constexpr int kFirstBus = 0xE6;          ///< of device 0; the next device is on the next bus
constexpr std::size_t kUuidDevice = 14;  ///< the byte that tells devices apart
constexpr CUuuid kUuid = {{'e', 'g', 'p', 'u', ' ', 's', 'i', 'm', 'u', 'l', 'a', 't', 'e', 'd', 0, 0}};

struct AttributeValue {
    CUdevice_attribute attribute;
    int value;
};

/// What is not here is 0: a feature the simulated GPU has not got.
constexpr AttributeValue kAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kThreadsPerBlock},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7FFFFFFF},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, kSharedPerBlock},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, kWarpSize},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0x7FFFFFFF},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, kRegistersPerSm},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1'000'000},  // kHz; nominal, the simulated GPU knows no time
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, kSmCount},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 0},
    {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, kFirstBus},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1'000'000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 64},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, kThreadsPerSm},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, kSharedPerSm},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, kRegistersPerSm},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, kSharedPerBlockOptIn},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, kBlocksPerSm},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, kSharedReserved},
    {CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_NUMA_ID, -1},
    {CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, -1},
};

/// The highest attribute number of the interface this stands in for.
constexpr int kLastAttribute = 147;

void copy_text(char* to, int room, std::string_view text) {
    const std::size_t count = std::min(text.size(), static_cast<std::size_t>(room) - 1);
    std::memcpy(to, text.data(), count);
    to[count] = '\0';
}

std::string bus_id(CUdevice device) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    const auto bus = static_cast<std::size_t>(kFirstBus + device);
    return std::string("0000:") + digits[bus / 16] + digits[bus % 16] + ":00.0";
}

/// Runs a body where there is this device.
template <typename Body>
CUresult with_device(CUdevice device, const Body& body) {
    return entry(
        [&](Driver& state) -> CUresult { return is_device(device) ? body(state) : CUDA_ERROR_INVALID_DEVICE; });
}

CUresult uuid(CUuuid* value, CUdevice device) {
    return with_device(device, [&](Driver&) -> CUresult {
        if (value == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *value = kUuid;
        value->bytes[kUuidDevice] = static_cast<char>(device);
        return CUDA_SUCCESS;
    });
}

}  // namespace

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    return entry([&](Driver&) -> CUresult {
        if (device == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (!is_device(ordinal)) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        *device = ordinal;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetCount(int* count) {
    return entry([&](Driver&) -> CUresult {
        if (count == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *count = device_count();
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetName(char* name, int room, CUdevice device) {
    return with_device(device, [&](Driver&) -> CUresult {
        if (name == nullptr || room <= 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        copy_text(name, room, kName);
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetUuid(CUuuid* value, CUdevice device) {
    return uuid(value, device);
}
CUresult cuDeviceGetUuid_v2(CUuuid* value, CUdevice device) {
    return uuid(value, device);
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
    return with_device(device, [&](Driver& state) -> CUresult {
        if (bytes == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *bytes = state.memory.capacity();
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    return with_device(device, [&](Driver&) -> CUresult {
        if (value == nullptr || attribute < 1 || static_cast<int>(attribute) > kLastAttribute) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *value = 0;
        for (const AttributeValue& known : kAttributes) {
            if (known.attribute == attribute) {
                *value = known.value;
                break;
            }
        }
        if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) {
            *value += device;
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
    return with_device(device, [&](Driver&) -> CUresult {
        if (major == nullptr || minor == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *major = 9;
        *minor = 0;
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetPCIBusId(char* id, int room, CUdevice device) {
    return with_device(device, [&](Driver&) -> CUresult {
        if (id == nullptr || room <= 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        copy_text(id, room, bus_id(device));
        return CUDA_SUCCESS;
    });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
    return entry([&](Driver&) -> CUresult {
        if (device == nullptr || id == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const std::string_view asked = id;
        for (CUdevice one = 0; one < device_count(); ++one) {
            const std::string known = bus_id(one);
            if (asked == known || asked == std::string_view(known).substr(5)) {
                *device = one;
                return CUDA_SUCCESS;
            }
        }
        return CUDA_ERROR_INVALID_DEVICE;
    });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
    return with_device(device, [&](Driver&) -> CUresult {
        if (can == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (!is_device(peer)) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        *can = 0;
        return CUDA_SUCCESS;
    });
}
