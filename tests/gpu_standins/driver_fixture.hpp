// SPDX-License-Identifier: Apache-2.0
// The stand-in for libcuda.so.1 opened by its path, and tests of its functions in a context of their own.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "gpu/device/driver.h"

/// The stand-in, or what EGPU_TEST_DRIVER names: with libcuda.so.1 there, on a machine with a GPU, the tests of
/// captures and graphs say whether the stand-in is like the real thing.
inline void* driver_library() {
    static void* const library = [] {
        if (const char* const other = std::getenv("EGPU_TEST_DRIVER")) {
            return dlopen(other, RTLD_NOW | RTLD_LOCAL);
        }
        const std::string path = std::string(EGPU_BINARY_DIR) + "/lib/egpu/simulated/libcuda.so.1";
        return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    }();
    return library;
}

/// A function of the stand-in by its exported name.
#define DRIVER(name) reinterpret_cast<decltype(&::name)>(dlsym(driver_library(), #name))

/// A value that an enumeration has not got, as a program in C may pass it.
template <typename Enumeration>
Enumeration unknown(int value) {
    static_assert(sizeof(Enumeration) == sizeof value);
    Enumeration result;
    std::memcpy(&result, &value, sizeof value);
    return result;
}

/// PTX with kernels that write, read out of bounds, trap, fail an assertion of alignment, use shared memory.
inline constexpr const char* kTestPtx = R"(
.version 7.0
.target sm_70
.address_size 64
.global .align 4 .u32 counter = 7;
.const .align 4 .u32 factor = 3;

.visible .entry fill(.param .u64 out, .param .u32 value, .param .u32 count)
{
    .reg .pred %p1;
    .reg .b32 %r<8>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [value];
    ld.param.u32 %r2, [count];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.u32 %r6, %r3, %r4, %r5;
    setp.ge.u32 %p1, %r6, %r2;
    @%p1 bra done;
    mul.wide.u32 %rd2, %r6, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
done:
    ret;
}

.visible .entry increment()
{
    .reg .b32 %r<4>;
    ld.global.u32 %r1, [counter];
    ld.const.u32 %r2, [factor];
    add.u32 %r3, %r1, %r2;
    st.global.u32 [counter], %r3;
    ret;
}

.visible .entry read_at(.param .u64 address)
{
    .reg .b32 %r1;
    .reg .b64 %rd1;
    ld.param.u64 %rd1, [address];
    ld.global.u32 %r1, [%rd1];
    st.global.u32 [%rd1], %r1;
    ret;
}

.visible .entry give_up()
{
    trap;
}

.visible .entry bounded()
.maxntid 64, 1, 1
{
    .shared .align 4 .b8 kept[1024];
    .reg .b32 %r1;
    mov.u32 %r1, 1;
    st.shared.u32 [kept], %r1;
    ret;
}
)";

class DriverTest : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_NE(driver_library(), nullptr) << dlerror();
        ASSERT_EQ(DRIVER(cuInit)(0), CUDA_SUCCESS);
        ASSERT_EQ(DRIVER(cuCtxCreate_v2)(&context_, 0, 0), CUDA_SUCCESS);
    }
    void TearDown() override {
        if (context_ != nullptr) {
            EXPECT_EQ(DRIVER(cuCtxDestroy_v2)(context_), CUDA_SUCCESS);
        }
    }

    CUmodule load(const char* text = kTestPtx) {
        CUmodule module = nullptr;
        EXPECT_EQ(DRIVER(cuModuleLoadData)(&module, text), CUDA_SUCCESS);
        return module;
    }
    CUfunction function(const char* name) {
        CUfunction found = nullptr;
        EXPECT_EQ(DRIVER(cuModuleGetFunction)(&found, load(), name), CUDA_SUCCESS) << name;
        return found;
    }
    CUdeviceptr allocate(std::size_t bytes) {
        CUdeviceptr address = 0;
        EXPECT_EQ(DRIVER(cuMemAlloc_v2)(&address, bytes), CUDA_SUCCESS);
        return address;
    }
    CUresult launch(CUfunction kernel, void** parameters, unsigned blocks = 1, unsigned threads = 32,
                    unsigned shared_bytes = 0, CUstream stream = nullptr) {
        return DRIVER(cuLaunchKernel)(kernel, blocks, 1, 1, threads, 1, 1, shared_bytes, stream, parameters, nullptr);
    }

    CUcontext context_ = nullptr;
};
