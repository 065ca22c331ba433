// SPDX-License-Identifier: Apache-2.0
// The driver's functions on the simulated GPU: what they do, and what they answer to bad arguments and handles.
#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "driver_fixture.hpp"

namespace {

/// A handle that is nobody's.
template <typename Handle>
Handle bogus() {
    return reinterpret_cast<Handle>(std::uintptr_t{0x1234560});
}

TEST(DriverStart, NothingWorksBeforeInit) {
    // Must be the first test of the process that calls anything.
    ASSERT_NE(driver_library(), nullptr) << dlerror();
    int count = 0;
    EXPECT_EQ(DRIVER(cuDeviceGetCount)(&count), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(DRIVER(cuInit)(1), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(DRIVER(cuInit)(0), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuDeviceGetCount)(&count), CUDA_SUCCESS);
    EXPECT_EQ(count, 1);
    CUdeviceptr address = 0;
    EXPECT_EQ(DRIVER(cuMemAlloc_v2)(&address, 16), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(DriverTest, DescribesTheDevice) {
    char name[64];
    EXPECT_EQ(DRIVER(cuDeviceGetName)(name, sizeof name, 0), CUDA_SUCCESS);
    EXPECT_STREQ(name, "egpu simulated GPU");
    EXPECT_EQ(DRIVER(cuDeviceGetName)(name, 5, 0), CUDA_SUCCESS);
    EXPECT_STREQ(name, "egpu");
    int value = 0;
    EXPECT_EQ(DRIVER(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0), CUDA_SUCCESS);
    EXPECT_EQ(value, 8);
    EXPECT_EQ(DRIVER(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), CUDA_SUCCESS);
    EXPECT_EQ(value, 9);
    EXPECT_EQ(DRIVER(cuDeviceGetAttribute)(&value, unknown<CUdevice_attribute>(9999), 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1), CUDA_ERROR_INVALID_DEVICE);
    CUdevice device = -1;
    EXPECT_EQ(DRIVER(cuDeviceGet)(&device, 1), CUDA_ERROR_INVALID_DEVICE);
    char id[32];
    EXPECT_EQ(DRIVER(cuDeviceGetPCIBusId)(id, sizeof id, 0), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuDeviceGetByPCIBusId)(&device, id), CUDA_SUCCESS);
    EXPECT_EQ(device, 0);
    EXPECT_EQ(DRIVER(cuDeviceGetByPCIBusId)(&device, "no id"), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(DriverTest, RunsAKernel) {
    std::array<unsigned, 100> host{};
    CUdeviceptr out = allocate(sizeof host);
    unsigned value = 42;
    unsigned count = 90;
    void* parameters[] = {&out, &value, &count};
    EXPECT_EQ(launch(function("fill"), parameters, 4), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemcpyDtoH_v2)(host.data(), out, sizeof host), CUDA_SUCCESS);
    EXPECT_EQ(host[89], 42U);
    EXPECT_EQ(host[90], 0U);

    // The same parameters as one buffer.
    struct {
        CUdeviceptr out;
        unsigned value;
        unsigned count;
    } buffer{out, 43, 100};
    std::size_t size = sizeof buffer;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    EXPECT_EQ(DRIVER(cuLaunchKernel)(function("fill"), 4, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemcpyDtoH_v2)(host.data(), out, sizeof host), CUDA_SUCCESS);
    EXPECT_EQ(host[99], 43U);
    size = 8;
    EXPECT_EQ(DRIVER(cuLaunchKernel)(function("fill"), 4, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra),
              CUDA_ERROR_INVALID_VALUE);
    extra[0] = bogus<void*>();
    EXPECT_EQ(DRIVER(cuLaunchKernel)(function("fill"), 4, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuMemFree_v2)(out), CUDA_SUCCESS);
}

TEST_F(DriverTest, ChecksLaunches) {
    const CUfunction fill = function("fill");
    const CUfunction bounded = function("bounded");
    void* none[] = {nullptr, nullptr, nullptr};
    EXPECT_EQ(launch(fill, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(launch(fill, none), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(launch(bounded, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(launch(bounded, nullptr, 1, 2048), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(launch(bounded, nullptr, 1, 65), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    EXPECT_EQ(launch(bounded, nullptr, 1, 64), CUDA_SUCCESS);
    EXPECT_EQ(launch(bounded, nullptr, 1, 64, 60000), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuFuncSetAttribute)(bounded, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000),
              CUDA_SUCCESS);
    EXPECT_EQ(launch(bounded, nullptr, 1, 64, 60000), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuFuncSetAttribute)(bounded, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * 1024),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(launch(bogus<CUfunction>(), nullptr), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(launch(nullptr, nullptr), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(launch(bounded, nullptr, 1, 64, 0, bogus<CUstream>()), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(DRIVER(cuLaunchKernelEx)(nullptr, bounded, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);

    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = 2;
    attribute.value.clusterDim.y = 1;
    attribute.value.clusterDim.z = 1;
    CUlaunchConfig config{2, 1, 1, 32, 1, 1, 0, nullptr, &attribute, 1};
    EXPECT_EQ(DRIVER(cuLaunchKernelEx)(&config, bounded, nullptr, nullptr), CUDA_SUCCESS);
    int clusters = 0, largest = 0;
    EXPECT_EQ(DRIVER(cuOccupancyMaxActiveClusters)(&clusters, bounded, &config), CUDA_SUCCESS);
    EXPECT_GT(clusters, 0);
    EXPECT_EQ(DRIVER(cuOccupancyMaxPotentialClusterSize)(&largest, bounded, &config), CUDA_SUCCESS);
    EXPECT_EQ(largest, 8);
    // Of 2 blocks no cluster of 4 is made; more than 8 need permission.
    attribute.value.clusterDim.x = 4;
    EXPECT_EQ(DRIVER(cuLaunchKernelEx)(&config, bounded, nullptr, nullptr), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    config.gridDimX = attribute.value.clusterDim.x = 16;
    EXPECT_EQ(DRIVER(cuLaunchKernelEx)(&config, bounded, nullptr, nullptr), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    EXPECT_EQ(DRIVER(cuFuncSetAttribute)(bounded, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
              CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuLaunchKernelEx)(&config, bounded, nullptr, nullptr), CUDA_SUCCESS);
    config.gridDimX = 2;
    attribute.value.clusterDim.x = 1;
    EXPECT_EQ(DRIVER(cuLaunchKernelEx)(&config, bounded, nullptr, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuLaunchCooperativeKernel)(bounded, 4, 1, 1, 32, 1, 1, 0, nullptr, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuLaunchCooperativeKernel)(bounded, 1 << 20, 1, 1, 32, 1, 1, 0, nullptr, nullptr),
              CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

/// A kernel's fault is the answer to every later call in its context, and to none in another.
TEST_F(DriverTest, FaultsStick) {
    struct {
        const char* kernel;
        CUdeviceptr address;
        CUresult error;
    } const cases[] = {{"read_at", 0x4FFFFFFFFF00, CUDA_ERROR_ILLEGAL_ADDRESS},
                       {"read_at", 16, CUDA_ERROR_ILLEGAL_ADDRESS},
                       {"give_up", 0, CUDA_ERROR_LAUNCH_FAILED}};
    for (const auto& one : cases) {
        CUcontext other = nullptr;
        ASSERT_EQ(DRIVER(cuCtxCreate_v2)(&other, 0, 0), CUDA_SUCCESS);
        CUdeviceptr address = one.address;
        void* parameters[] = {&address};
        EXPECT_EQ(launch(function(one.kernel), parameters, 1, 1), CUDA_SUCCESS);
        EXPECT_EQ(DRIVER(cuCtxSynchronize)(), one.error) << one.kernel;
        EXPECT_EQ(DRIVER(cuMemAlloc_v2)(&address, 16), one.error);
        EXPECT_EQ(DRIVER(cuStreamSynchronize)(nullptr), one.error);
        EXPECT_EQ(DRIVER(cuCtxDestroy_v2)(other), CUDA_SUCCESS);
        EXPECT_EQ(DRIVER(cuMemAlloc_v2)(&address, 16), CUDA_SUCCESS);
    }
}

TEST_F(DriverTest, MisalignedAccessIsAFault) {
    CUcontext other = nullptr;
    ASSERT_EQ(DRIVER(cuCtxCreate_v2)(&other, 0, 0), CUDA_SUCCESS);
    CUdeviceptr address = allocate(16) + 2;
    void* parameters[] = {&address};
    EXPECT_EQ(launch(function("read_at"), parameters, 1, 1), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_ERROR_MISALIGNED_ADDRESS);
    EXPECT_EQ(DRIVER(cuCtxDestroy_v2)(other), CUDA_SUCCESS);
}

TEST_F(DriverTest, LoadsModules) {
    CUmodule module = load();
    CUfunction found = nullptr;
    EXPECT_EQ(DRIVER(cuModuleGetFunction)(&found, module, "fill"), CUDA_SUCCESS);
    CUfunction again = nullptr;
    EXPECT_EQ(DRIVER(cuModuleGetFunction)(&again, module, "fill"), CUDA_SUCCESS);
    EXPECT_EQ(found, again);
    EXPECT_EQ(DRIVER(cuModuleGetFunction)(&found, module, "missing"), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(DRIVER(cuModuleGetFunction)(&found, bogus<CUmodule>(), "fill"), CUDA_ERROR_INVALID_HANDLE);
    unsigned count = 0;
    EXPECT_EQ(DRIVER(cuModuleGetFunctionCount)(&count, module), CUDA_SUCCESS);
    EXPECT_EQ(count, 5U);
    std::vector<CUfunction> all(count);
    EXPECT_EQ(DRIVER(cuModuleEnumerateFunctions)(all.data(), count, module), CUDA_SUCCESS);
    const char* name = nullptr;
    EXPECT_EQ(DRIVER(cuFuncGetName)(&name, all[0]), CUDA_SUCCESS);
    EXPECT_STREQ(name, "fill");
    EXPECT_EQ(DRIVER(cuModuleUnload)(module), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuModuleUnload)(module), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(launch(all[0], nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverTest, RefusesImages) {
    CUmodule module = nullptr;
    EXPECT_EQ(DRIVER(cuModuleLoadData)(&module, "this is no image at all"), CUDA_ERROR_INVALID_IMAGE);
    EXPECT_EQ(DRIVER(cuModuleLoadData)(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
    char log[256] = "untouched";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    EXPECT_EQ(
        DRIVER(cuModuleLoadDataEx)(&module, ".version 8.7\n.target sm_100\n.address_size 64\n", 2, options, values),
        CUDA_ERROR_INVALID_PTX);
    EXPECT_NE(std::string(log).find("sm_100"), std::string::npos) << log;
    EXPECT_EQ(
        DRIVER(cuModuleLoadData)(&module, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry broken( {"),
        CUDA_ERROR_INVALID_PTX);
    EXPECT_EQ(DRIVER(cuModuleLoad)(&module, "/nonexistent/file"), CUDA_ERROR_FILE_NOT_FOUND);
}

TEST_F(DriverTest, SharesVariablesWithTheHost) {
    CUmodule module = load();
    CUdeviceptr counter = 0;
    CUdeviceptr factor = 0;
    std::size_t bytes = 0;
    EXPECT_EQ(DRIVER(cuModuleGetGlobal_v2)(&counter, &bytes, module, "counter"), CUDA_SUCCESS);
    EXPECT_EQ(bytes, 4U);
    EXPECT_EQ(DRIVER(cuModuleGetGlobal_v2)(&factor, nullptr, module, "factor"), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuModuleGetGlobal_v2)(&factor, nullptr, module, "nothing"), CUDA_ERROR_NOT_FOUND);
    CUfunction increment = nullptr;
    EXPECT_EQ(DRIVER(cuModuleGetFunction)(&increment, module, "increment"), CUDA_SUCCESS);
    EXPECT_EQ(launch(increment, nullptr, 1, 1), CUDA_SUCCESS);
    unsigned value = 0;
    EXPECT_EQ(DRIVER(cuMemcpyDtoH_v2)(&value, counter, 4), CUDA_SUCCESS);
    EXPECT_EQ(value, 10U);
    value = 5;
    EXPECT_EQ(DRIVER(cuMemcpyHtoD_v2)(factor, &value, 4), CUDA_SUCCESS);
    EXPECT_EQ(launch(increment, nullptr, 1, 1), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemcpyDtoH_v2)(&value, counter, 4), CUDA_SUCCESS);
    EXPECT_EQ(value, 15U);
}

TEST_F(DriverTest, LoadsLibraries) {
    CUlibrary library = nullptr;
    ASSERT_EQ(DRIVER(cuLibraryLoadData)(&library, kTestPtx, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
    CUkernel kernel = nullptr;
    EXPECT_EQ(DRIVER(cuLibraryGetKernel)(&kernel, library, "missing"), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(DRIVER(cuLibraryGetKernel)(&kernel, library, "increment"), CUDA_SUCCESS);
    unsigned count = 0;
    EXPECT_EQ(DRIVER(cuLibraryGetKernelCount)(&count, library), CUDA_SUCCESS);
    EXPECT_EQ(count, 5U);
    CUlibrary of_kernel = nullptr;
    EXPECT_EQ(DRIVER(cuKernelGetLibrary)(&of_kernel, kernel), CUDA_SUCCESS);
    EXPECT_EQ(of_kernel, library);
    // A kernel handle launches as it is, and as its function in this context.
    EXPECT_EQ(launch(reinterpret_cast<CUfunction>(kernel), nullptr, 1, 1), CUDA_SUCCESS);
    CUfunction function = nullptr;
    EXPECT_EQ(DRIVER(cuKernelGetFunction)(&function, kernel), CUDA_SUCCESS);
    EXPECT_EQ(launch(function, nullptr, 1, 1), CUDA_SUCCESS);
    CUdeviceptr counter = 0;
    unsigned value = 0;
    EXPECT_EQ(DRIVER(cuLibraryGetGlobal)(&counter, nullptr, library, "counter"), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemcpyDtoH_v2)(&value, counter, 4), CUDA_SUCCESS);
    EXPECT_EQ(value, 13U);
    CUmodule module = nullptr;
    CUmodule of_function = nullptr;
    EXPECT_EQ(DRIVER(cuLibraryGetModule)(&module, library), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuFuncGetModule)(&of_function, function), CUDA_SUCCESS);
    EXPECT_EQ(module, of_function);
    // Another context has its own variables.
    CUcontext other = nullptr;
    ASSERT_EQ(DRIVER(cuCtxCreate_v2)(&other, 0, 0), CUDA_SUCCESS);
    CUdeviceptr counter_there = 0;
    EXPECT_EQ(DRIVER(cuLibraryGetGlobal)(&counter_there, nullptr, library, "counter"), CUDA_SUCCESS);
    EXPECT_NE(counter, counter_there);
    EXPECT_EQ(DRIVER(cuCtxDestroy_v2)(other), CUDA_SUCCESS);

    EXPECT_EQ(DRIVER(cuLibraryUnload)(library), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuLibraryUnload)(library), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(launch(reinterpret_cast<CUfunction>(kernel), nullptr, 1, 1), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(launch(function, nullptr, 1, 1), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverTest, KnowsFunctions) {
    const CUfunction bounded = function("bounded");
    int value = 0;
    EXPECT_EQ(DRIVER(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, bounded), CUDA_SUCCESS);
    EXPECT_EQ(value, 64);
    EXPECT_EQ(DRIVER(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, bounded), CUDA_SUCCESS);
    EXPECT_EQ(value, 1024);
    EXPECT_EQ(DRIVER(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, bounded), CUDA_SUCCESS);
    EXPECT_EQ(value, 70);
    EXPECT_EQ(DRIVER(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, bounded), CUDA_SUCCESS);
    EXPECT_EQ(value, 90);
    EXPECT_EQ(DRIVER(cuFuncGetAttribute)(&value, unknown<CUfunction_attribute>(77), bounded), CUDA_ERROR_INVALID_VALUE);
    std::size_t offset = 0;
    std::size_t bytes = 0;
    EXPECT_EQ(DRIVER(cuFuncGetParamInfo)(function("fill"), 2, &offset, &bytes), CUDA_SUCCESS);
    EXPECT_EQ(offset, 12U);
    EXPECT_EQ(bytes, 4U);
    EXPECT_EQ(DRIVER(cuFuncGetParamInfo)(function("fill"), 3, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);

    // 1 KiB static and 1 KiB reserved of 228 KiB would allow 114; blocks an SM has are 32.
    EXPECT_EQ(DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&value, bounded, 64, 0), CUDA_SUCCESS);
    EXPECT_EQ(value, 32);
    EXPECT_EQ(DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&value, bounded, 64, 40 * 1024), CUDA_SUCCESS);
    EXPECT_EQ(value, 5);
    EXPECT_EQ(DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&value, bounded, 0, 0), CUDA_ERROR_INVALID_VALUE);
    int grid = 0;
    int block = 0;
    EXPECT_EQ(DRIVER(cuOccupancyMaxPotentialBlockSize)(&grid, &block, bounded, nullptr, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(block, 64);
    EXPECT_EQ(grid, 32 * 8);
}

}  // namespace
