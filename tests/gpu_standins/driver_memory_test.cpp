// SPDX-License-Identifier: Apache-2.0
// Memory, copies, streams, events and contexts of the simulated GPU through the driver's functions.
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "driver_fixture.hpp"

namespace {

TEST_F(DriverTest, AllocatesAndFrees) {
    std::size_t free_before = 0;
    std::size_t free_after = 0;
    std::size_t total = 0;
    EXPECT_EQ(DRIVER(cuMemGetInfo_v2)(&free_before, &total), CUDA_SUCCESS);
    CUdeviceptr address = allocate(1 << 20);
    EXPECT_EQ(DRIVER(cuMemGetInfo_v2)(&free_after, &total), CUDA_SUCCESS);
    EXPECT_GE(free_before - free_after, 1U << 20);
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    EXPECT_EQ(DRIVER(cuMemGetAddressRange_v2)(&base, &bytes, address + 1000), CUDA_SUCCESS);
    EXPECT_EQ(base, address);
    EXPECT_EQ(bytes, 1U << 20);
    EXPECT_EQ(DRIVER(cuMemFree_v2)(address + 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuMemFree_v2)(address), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemFree_v2)(address), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuMemAlloc_v2)(&address, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuMemAlloc_v2)(nullptr, 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuMemAlloc_v2)(&address, std::size_t{1} << 60), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(DRIVER(cuMemAllocHost_v2)(nullptr, 16), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTest, CopiesWithinBounds) {
    std::vector<unsigned char> host(256);
    for (std::size_t i = 0; i < host.size(); ++i) {
        host[i] = static_cast<unsigned char>(i);
    }
    const CUdeviceptr a = allocate(256);
    const CUdeviceptr b = allocate(256);
    EXPECT_EQ(DRIVER(cuMemcpyHtoD_v2)(a, host.data(), 256), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemcpyDtoDAsync_v2)(b, a, 256, nullptr), CUDA_SUCCESS);
    std::vector<unsigned char> back(256);
    EXPECT_EQ(DRIVER(cuMemcpy)(reinterpret_cast<CUdeviceptr>(back.data()), b, 256), CUDA_SUCCESS);
    EXPECT_EQ(back, host);
    EXPECT_EQ(DRIVER(cuMemcpyHtoD_v2)(a, host.data(), 257), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuMemcpyHtoD_v2)(a + 200, host.data(), 100), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuMemcpyDtoH_v2)(back.data(), a - 8, 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuMemcpy)(a + 4096, b, 16), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuMemcpyHtoD_v2)(a, host.data(), ~std::size_t{0}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuMemcpyHtoD_v2)(a, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuMemcpyHtoD_v2)(a, nullptr, 0), CUDA_SUCCESS);
}

TEST_F(DriverTest, CopiesRows) {
    CUdeviceptr rows = 0;
    std::size_t pitch = 0;
    EXPECT_EQ(DRIVER(cuMemAllocPitch_v2)(&rows, &pitch, 10, 3, 4), CUDA_SUCCESS);
    EXPECT_EQ(pitch % 512, 0U);
    EXPECT_EQ(DRIVER(cuMemAllocPitch_v2)(&rows, &pitch, 10, 3, 3), CUDA_ERROR_INVALID_VALUE);
    const std::array<char, 30> host{"aaaaaaaaaabbbbbbbbbbccccccccc"};
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host.data();
    copy.srcPitch = 10;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = rows;
    copy.dstPitch = pitch;
    copy.WidthInBytes = 10;
    copy.Height = 3;
    EXPECT_EQ(DRIVER(cuMemcpy2D_v2)(&copy), CUDA_SUCCESS);
    char second = 0;
    EXPECT_EQ(DRIVER(cuMemcpyDtoH_v2)(&second, rows + pitch, 1), CUDA_SUCCESS);
    EXPECT_EQ(second, 'b');
    copy.Height = std::size_t{1} << 62;
    EXPECT_EQ(DRIVER(cuMemcpy2D_v2)(&copy), CUDA_ERROR_INVALID_VALUE);
    copy.Height = 3;
    copy.dstPitch = 4;
    EXPECT_EQ(DRIVER(cuMemcpy2D_v2)(&copy), CUDA_ERROR_INVALID_VALUE);
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    EXPECT_EQ(DRIVER(cuMemcpy2D_v2)(&copy), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(DRIVER(cuMemcpy2D_v2)(nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTest, Fills) {
    const CUdeviceptr address = allocate(64);
    std::array<unsigned short, 32> host{};
    EXPECT_EQ(DRIVER(cuMemsetD8_v2)(address, 0xAB, 64), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemsetD16Async)(address + 4, 0x1234, 2, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemsetD2D32_v2)(address + 16, 16, 0x11223344, 1, 2), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemcpyDtoH_v2)(host.data(), address, 64), CUDA_SUCCESS);
    EXPECT_EQ(host[0], 0xABAB);
    EXPECT_EQ(host[2], 0x1234);
    EXPECT_EQ(host[3], 0x1234);
    EXPECT_EQ(host[4], 0xABAB);
    EXPECT_EQ(host[8], 0x3344);
    EXPECT_EQ(host[16], 0x3344);
    EXPECT_EQ(host[10], 0xABAB);
    EXPECT_EQ(DRIVER(cuMemsetD8_v2)(address, 1, 65), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuMemsetD32_v2)(address + 2, 1, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverTest, ReachesHostMemory) {
    void* pinned = nullptr;
    ASSERT_EQ(DRIVER(cuMemHostAlloc)(&pinned, 4096, CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
    CUdeviceptr managed = 0;
    ASSERT_EQ(DRIVER(cuMemAllocManaged)(&managed, 4096, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    std::vector<unsigned> plain(16);
    ASSERT_EQ(DRIVER(cuMemHostRegister_v2)(plain.data(), 64, 0), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemHostRegister_v2)(plain.data(), 64, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    const CUfunction fill = function("fill");
    unsigned value = 9;
    unsigned count = 16;
    for (CUdeviceptr address :
         {reinterpret_cast<CUdeviceptr>(pinned), managed, reinterpret_cast<CUdeviceptr>(plain.data())}) {
        void* parameters[] = {&address, &value, &count};
        EXPECT_EQ(launch(fill, parameters), CUDA_SUCCESS);
        EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_SUCCESS);
        EXPECT_EQ(reinterpret_cast<unsigned*>(address)[15], 9U);
    }
    CUdeviceptr device = 0;
    EXPECT_EQ(DRIVER(cuMemHostGetDevicePointer_v2)(&device, pinned, 0), CUDA_SUCCESS);
    EXPECT_EQ(device, reinterpret_cast<CUdeviceptr>(pinned));
    EXPECT_EQ(DRIVER(cuMemHostUnregister)(pinned), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    EXPECT_EQ(DRIVER(cuMemFreeHost)(plain.data()), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuMemHostUnregister)(plain.data()), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemHostUnregister)(plain.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    EXPECT_EQ(DRIVER(cuMemFreeHost)(pinned), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemFree_v2)(managed), CUDA_SUCCESS);
}

TEST_F(DriverTest, KnowsPointers) {
    const CUdeviceptr device = allocate(100);
    unsigned type = 0;
    EXPECT_EQ(DRIVER(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 5), CUDA_SUCCESS);
    EXPECT_EQ(type, static_cast<unsigned>(CU_MEMORYTYPE_DEVICE));
    CUcontext context = nullptr;
    EXPECT_EQ(DRIVER(cuPointerGetAttribute)(&context, CU_POINTER_ATTRIBUTE_CONTEXT, device), CUDA_SUCCESS);
    EXPECT_EQ(context, context_);
    std::size_t size = 0;
    EXPECT_EQ(DRIVER(cuPointerGetAttribute)(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, device), CUDA_SUCCESS);
    EXPECT_EQ(size, 100U);
    EXPECT_EQ(
        DRIVER(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&type)),
        CUDA_ERROR_INVALID_VALUE);
    unsigned managed = 7;
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void* values[] = {&type, &managed};
    EXPECT_EQ(DRIVER(cuPointerGetAttributes)(2, wanted, values, reinterpret_cast<CUdeviceptr>(&type)), CUDA_SUCCESS);
    EXPECT_EQ(type, 0U);
    EXPECT_EQ(managed, 0U);
}

TEST_F(DriverTest, OrdersStreamsAndEvents) {
    CUstream stream = nullptr;
    EXPECT_EQ(DRIVER(cuStreamCreate)(&stream, 2), CUDA_ERROR_INVALID_VALUE);
    ASSERT_EQ(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CUevent begin = nullptr;
    CUevent end = nullptr;
    CUevent silent = nullptr;
    ASSERT_EQ(DRIVER(cuEventCreate)(&begin, 0), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuEventCreate)(&end, 0), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuEventCreate)(&silent, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    float milliseconds = -1;
    EXPECT_EQ(DRIVER(cuEventElapsedTime)(&milliseconds, begin, end), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(DRIVER(cuEventRecord)(begin, stream), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuEventRecord)(end, stream), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuEventRecord)(silent, stream), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuEventElapsedTime)(&milliseconds, begin, end), CUDA_SUCCESS);
    EXPECT_GE(milliseconds, 0);
    EXPECT_EQ(DRIVER(cuEventElapsedTime)(&milliseconds, begin, silent), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(DRIVER(cuStreamWaitEvent)(nullptr, begin, 0), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuStreamQuery)(stream), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuEventQuery)(end), CUDA_SUCCESS);
    int called = 0;
    EXPECT_EQ(DRIVER(cuLaunchHostFunc)(
                  stream,
                  [](void* data) {
                      // Calls of the driver are not allowed in here.
                      int count = 0;
                      *static_cast<int*>(data) = DRIVER(cuDeviceGetCount)(&count) == CUDA_ERROR_NOT_PERMITTED ? 1 : 2;
                  },
                  &called),
              CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuStreamSynchronize)(stream), CUDA_SUCCESS);
    EXPECT_EQ(called, 1);
    CUcontext context = nullptr;
    EXPECT_EQ(DRIVER(cuStreamGetCtx)(stream, &context), CUDA_SUCCESS);
    EXPECT_EQ(context, context_);
    EXPECT_EQ(DRIVER(cuEventDestroy_v2)(begin), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuEventRecord)(begin, stream), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(DRIVER(cuStreamDestroy_v2)(stream), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuStreamSynchronize)(stream), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverTest, ExchangesCaptureModes) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    EXPECT_EQ(DRIVER(cuThreadExchangeStreamCaptureMode)(&mode), CUDA_SUCCESS);
    EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    EXPECT_EQ(DRIVER(cuThreadExchangeStreamCaptureMode)(&mode), CUDA_SUCCESS);
    EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
}

TEST_F(DriverTest, KeepsAStackOfContexts) {
    CUcontext other = nullptr;
    CUcontext current = nullptr;
    ASSERT_EQ(DRIVER(cuCtxCreate_v4)(&other, nullptr, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuCtxGetCurrent)(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, other);
    EXPECT_EQ(DRIVER(cuCtxPopCurrent_v2)(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, other);
    EXPECT_EQ(DRIVER(cuCtxGetCurrent)(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, context_);
    EXPECT_EQ(DRIVER(cuCtxPushCurrent_v2)(other), CUDA_SUCCESS);
    const CUdeviceptr owned = allocate(16);
    EXPECT_EQ(DRIVER(cuCtxDestroy_v2)(other), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuCtxSetCurrent)(other), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(DRIVER(cuCtxGetCurrent)(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, context_);
    EXPECT_EQ(DRIVER(cuMemFree_v2)(owned), CUDA_ERROR_INVALID_VALUE);
    unsigned long long id = 0;
    EXPECT_EQ(DRIVER(cuCtxGetId)(context_, &id), CUDA_SUCCESS);
    EXPECT_NE(id, 0U);
    std::size_t limit = 0;
    EXPECT_EQ(DRIVER(cuCtxSetLimit)(CU_LIMIT_STACK_SIZE, 4096), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuCtxGetLimit)(&limit, CU_LIMIT_STACK_SIZE), CUDA_SUCCESS);
    EXPECT_EQ(limit, 4096U);
    EXPECT_EQ(DRIVER(cuCtxGetLimit)(&limit, unknown<CUlimit>(99)), CUDA_ERROR_UNSUPPORTED_LIMIT);
}

TEST_F(DriverTest, KeepsThePrimaryContext) {
    CUcontext first = nullptr;
    CUcontext second = nullptr;
    ASSERT_EQ(DRIVER(cuDevicePrimaryCtxRetain)(&first, 0), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuDevicePrimaryCtxRetain)(&second, 0), CUDA_SUCCESS);
    EXPECT_EQ(first, second);
    ASSERT_EQ(DRIVER(cuCtxPushCurrent_v2)(first), CUDA_SUCCESS);
    const CUdeviceptr owned = allocate(64);
    unsigned flags = 0;
    int active = 0;
    EXPECT_EQ(DRIVER(cuDevicePrimaryCtxGetState)(0, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 1);
    EXPECT_EQ(DRIVER(cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemsetD8_v2)(owned, 1, 64), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuDevicePrimaryCtxRelease_v2)(0), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemsetD8_v2)(owned, 1, 64), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_EQ(DRIVER(cuDevicePrimaryCtxRelease_v2)(0), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(DRIVER(cuDevicePrimaryCtxGetState)(0, &flags, &active), CUDA_SUCCESS);
    EXPECT_EQ(active, 0);
    CUcontext popped = nullptr;
    EXPECT_EQ(DRIVER(cuCtxPopCurrent_v2)(&popped), CUDA_SUCCESS);
}

TEST_F(DriverTest, ServesThreads) {
    const CUfunction fill = function("fill");
    constexpr unsigned threads = 4;
    std::atomic<unsigned> good{0};
    std::vector<std::thread> running;
    for (unsigned index = 0; index < threads; ++index) {
        running.emplace_back([&, index] {
            if (DRIVER(cuCtxSetCurrent)(context_) != CUDA_SUCCESS) {
                return;
            }
            for (unsigned round = 0; round < 50; ++round) {
                CUdeviceptr out = 0;
                DRIVER(cuMemAlloc_v2)(&out, 256 * 4);
                unsigned value = index * 1000 + round;
                unsigned count = 256;
                void* parameters[] = {&out, &value, &count};
                std::array<unsigned, 256> host{};
                const bool launched = DRIVER(cuLaunchKernel_ptsz)(fill, 8, 1, 1, 32, 1, 1, 0, nullptr, parameters,
                                                                  nullptr) == CUDA_SUCCESS;
                DRIVER(cuMemcpyDtoHAsync_v2_ptsz)(host.data(), out, sizeof host, nullptr);
                DRIVER(cuStreamSynchronize_ptsz)(nullptr);
                DRIVER(cuMemFree_v2)(out);
                good += launched && host[0] == value && host[255] == value ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : running) {
        thread.join();
    }
    EXPECT_EQ(good, threads * 50);
}

}  // namespace
