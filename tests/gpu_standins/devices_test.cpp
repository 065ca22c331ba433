// SPDX-License-Identifier: Apache-2.0
// Several devices: memory, contexts and names of their own; and several contexts of one.
#include <cstdlib>
#include <vector>

#include "driver_fixture.hpp"

namespace {

/// Read when the driver is first used.
const bool three_devices = setenv("EGPU_SIMULATED_DEVICES", "3", 1) == 0;

class DevicesTest : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_TRUE(three_devices);
        ASSERT_NE(driver_library(), nullptr) << dlerror();
        ASSERT_EQ(DRIVER(cuInit)(0), CUDA_SUCCESS);
        for (CUdevice device = 0; device < 2; ++device) {
            ASSERT_EQ(DRIVER(cuDevicePrimaryCtxRetain)(&contexts_[device], device), CUDA_SUCCESS);
            enter(device);
            ASSERT_EQ(DRIVER(cuModuleLoadData)(&modules_[device], kTestPtx), CUDA_SUCCESS);
            ASSERT_EQ(DRIVER(cuMemAlloc_v2)(&memory_[device], 64), CUDA_SUCCESS);
            ASSERT_EQ(DRIVER(cuMemsetD32_v2)(memory_[device], 0, 16), CUDA_SUCCESS);
        }
    }
    void TearDown() override {
        for (CUdevice device = 0; device < 2; ++device) {
            EXPECT_EQ(DRIVER(cuDevicePrimaryCtxRelease_v2)(device), CUDA_SUCCESS);
        }
    }
    void enter(int device) { ASSERT_EQ(DRIVER(cuCtxSetCurrent)(contexts_[device]), CUDA_SUCCESS); }
    /// Launches a device's kernel that writes `value` to an address.
    void fill(int device, CUdeviceptr out, unsigned value) {
        enter(device);
        CUfunction kernel = nullptr;
        ASSERT_EQ(DRIVER(cuModuleGetFunction)(&kernel, modules_[device], "fill"), CUDA_SUCCESS);
        unsigned count = 1;
        void* parameters[] = {&out, &value, &count};
        ASSERT_EQ(DRIVER(cuLaunchKernel)(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    }
    static unsigned read(CUdeviceptr address) {
        unsigned value = 99;
        EXPECT_EQ(DRIVER(cuMemcpyDtoH_v2)(&value, address, sizeof value), CUDA_SUCCESS);
        return value;
    }

    CUcontext contexts_[2] = {};
    CUmodule modules_[2] = {};
    CUdeviceptr memory_[2] = {};
};

TEST_F(DevicesTest, HaveNamesOfTheirOwn) {
    int count = 0;
    EXPECT_EQ(DRIVER(cuDeviceGetCount)(&count), CUDA_SUCCESS);
    EXPECT_EQ(count, 3);
    CUdevice device = -1;
    EXPECT_EQ(DRIVER(cuDeviceGet)(&device, 2), CUDA_SUCCESS);
    EXPECT_EQ(device, 2);
    EXPECT_EQ(DRIVER(cuDeviceGet)(&device, 3), CUDA_ERROR_INVALID_DEVICE);
    std::vector<std::string> ids;
    for (int one = 0; one < count; ++one) {
        char id[32] = {};
        EXPECT_EQ(DRIVER(cuDeviceGetPCIBusId)(id, sizeof id, one), CUDA_SUCCESS);
        EXPECT_EQ(DRIVER(cuDeviceGetByPCIBusId)(&device, id), CUDA_SUCCESS);
        EXPECT_EQ(device, one);
        CUuuid uuid{};
        EXPECT_EQ(DRIVER(cuDeviceGetUuid_v2)(&uuid, one), CUDA_SUCCESS);
        ids.push_back(std::string(id) + std::string(uuid.bytes, sizeof uuid.bytes));
    }
    EXPECT_NE(ids[0], ids[1]);
    EXPECT_NE(ids[1], ids[2]);
    EXPECT_NE(contexts_[0], contexts_[1]);
    enter(1);
    EXPECT_EQ(DRIVER(cuCtxGetDevice)(&device), CUDA_SUCCESS);
    EXPECT_EQ(device, 1);
    int can = 7;
    EXPECT_EQ(DRIVER(cuDeviceCanAccessPeer)(&can, 0, 1), CUDA_SUCCESS);
    EXPECT_EQ(can, 0);
}

TEST_F(DevicesTest, HaveMemoryOfTheirOwn) {
    fill(0, memory_[0], 10);
    fill(1, memory_[1], 11);
    EXPECT_EQ(read(memory_[0]), 10U);
    EXPECT_EQ(read(memory_[1]), 11U);
    for (int device = 0; device < 2; ++device) {
        int ordinal = -1;
        EXPECT_EQ(DRIVER(cuPointerGetAttribute)(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory_[device]),
                  CUDA_SUCCESS);
        EXPECT_EQ(ordinal, device);
    }
    enter(0);
    std::size_t free = 0;
    std::size_t later = 0;
    std::size_t total = 0;
    ASSERT_EQ(DRIVER(cuMemGetInfo_v2)(&free, &total), CUDA_SUCCESS);
    enter(1);
    CUdeviceptr more = 0;
    ASSERT_EQ(DRIVER(cuMemAlloc_v2)(&more, 1 << 20), CUDA_SUCCESS);
    enter(0);
    ASSERT_EQ(DRIVER(cuMemGetInfo_v2)(&later, &total), CUDA_SUCCESS);
    EXPECT_EQ(free, later);
    EXPECT_EQ(DRIVER(cuMemFree_v2)(more), CUDA_SUCCESS);
}

TEST_F(DevicesTest, AreReachedByCopiesAndThroughTheHost) {
    fill(0, memory_[0], 20);
    EXPECT_EQ(DRIVER(cuMemcpyPeer)(memory_[1], contexts_[1], memory_[0], contexts_[0], 4), CUDA_SUCCESS);
    EXPECT_EQ(read(memory_[1]), 20U);
    fill(1, memory_[1], 21);
    EXPECT_EQ(DRIVER(cuMemcpyDtoD_v2)(memory_[0], memory_[1], 4), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemcpy)(memory_[0] + 4, memory_[1], 4), CUDA_SUCCESS);
    EXPECT_EQ(read(memory_[0]), 21U);
    EXPECT_EQ(read(memory_[0] + 4), 21U);
    // Host memory has one address for all.
    void* pinned = nullptr;
    ASSERT_EQ(DRIVER(cuMemHostAlloc)(&pinned, 64, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
    auto* const words = static_cast<unsigned*>(pinned);
    fill(0, reinterpret_cast<CUdeviceptr>(words), 22);
    fill(1, reinterpret_cast<CUdeviceptr>(words + 1), 23);
    EXPECT_EQ(words[0], 22U);
    EXPECT_EQ(words[1], 23U);
    EXPECT_EQ(DRIVER(cuMemcpyDtoD_v2)(memory_[1], reinterpret_cast<CUdeviceptr>(words), 8), CUDA_SUCCESS);
    EXPECT_EQ(read(memory_[1] + 4), 23U);
    EXPECT_EQ(DRIVER(cuMemFreeHost)(pinned), CUDA_SUCCESS);
}

TEST_F(DevicesTest, HaveVariablesAndLibrariesOfTheirOwn) {
    CUlibrary library = nullptr;
    ASSERT_EQ(DRIVER(cuLibraryLoadData)(&library, kTestPtx, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
    CUkernel kernel = nullptr;
    ASSERT_EQ(DRIVER(cuLibraryGetKernel)(&kernel, library, "increment"), CUDA_SUCCESS);
    CUdeviceptr counters[2] = {};
    for (int device = 1; device >= 0; --device) {
        enter(device);
        ASSERT_EQ(DRIVER(cuLibraryGetGlobal)(&counters[device], nullptr, library, "counter"), CUDA_SUCCESS);
        for (int count = 0; count <= device; ++count) {
            EXPECT_EQ(DRIVER(cuLaunchKernel)(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, nullptr,
                                             nullptr, nullptr),
                      CUDA_SUCCESS);
        }
    }
    EXPECT_EQ(read(counters[0]), 10U);
    EXPECT_EQ(read(counters[1]), 13U);
}

/// Without peer access a kernel reaches no other device's memory.
TEST_F(DevicesTest, FaultOnEachOthersMemory) {
    CUcontext own = nullptr;
    ASSERT_EQ(DRIVER(cuCtxCreate_v2)(&own, 0, 1), CUDA_SUCCESS);
    CUmodule module = nullptr;
    ASSERT_EQ(DRIVER(cuModuleLoadData)(&module, kTestPtx), CUDA_SUCCESS);
    CUfunction kernel = nullptr;
    ASSERT_EQ(DRIVER(cuModuleGetFunction)(&kernel, module, "read_at"), CUDA_SUCCESS);
    // The memory of its own device is there, whichever context made it.
    void* near[] = {&memory_[1]};
    EXPECT_EQ(DRIVER(cuLaunchKernel)(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, near, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_SUCCESS);
    void* far[] = {&memory_[0]};
    EXPECT_EQ(DRIVER(cuLaunchKernel)(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, far, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(DRIVER(cuCtxDestroy_v2)(own), CUDA_SUCCESS);
    enter(1);
    EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_SUCCESS);
}

}  // namespace
