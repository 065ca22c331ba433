// SPDX-License-Identifier: Apache-2.0
// Arrays, texture and surface objects through the driver's functions.
#include <array>
#include <numeric>
#include <vector>

#include "driver_fixture.hpp"

namespace {

/// Each thread reads one texel of a 2D texture and writes it, doubled, to a surface.
constexpr const char* kImagePtx = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry twice(.param .u64 texture, .param .u64 surface)
{
    .reg .b32 %r<9>;
    .reg .f32 %f<9>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [texture];
    ld.param.u64 %rd2, [surface];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %tid.y;
    cvt.rn.f32.u32 %f1, %r1;
    cvt.rn.f32.u32 %f2, %r2;
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}];
    add.f32 %f3, %f3, %f3;
    shl.b32 %r3, %r1, 2;
    mov.b32 %r4, %f3;
    sust.b.2d.b32.trap [%rd2, {%r3, %r2}], {%r4};
    ret;
}
)";

class ArrayTest : public DriverTest {
protected:
    CUarray make(std::size_t width, std::size_t height, std::size_t depth, CUarray_format format = CU_AD_FORMAT_FLOAT,
                 unsigned channels = 1, unsigned flags = 0) {
        const CUDA_ARRAY3D_DESCRIPTOR shape{width, height, depth, format, channels, flags};
        CUarray array = nullptr;
        EXPECT_EQ(DRIVER(cuArray3DCreate_v2)(&array, &shape), CUDA_SUCCESS);
        return array;
    }
    static CUresult try_make(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
        CUarray array = nullptr;
        return DRIVER(cuArray3DCreate_v2)(&array, &shape);
    }
    /// Whole rows between an array and the host, slice after slice.
    static CUresult copy(CUarray array, std::vector<float>& host, std::size_t width, std::size_t height,
                         std::size_t depth, bool to_array) {
        CUDA_MEMCPY3D all{};
        all.srcMemoryType = to_array ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY;
        all.dstMemoryType = to_array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST;
        all.srcArray = all.dstArray = array;
        all.srcHost = all.dstHost = host.data();
        all.srcPitch = all.dstPitch = width * sizeof(float);
        all.srcHeight = all.dstHeight = height;
        all.WidthInBytes = width * sizeof(float);
        all.Height = height;
        all.Depth = depth;
        return DRIVER(cuMemcpy3D_v2)(&all);
    }
    static CUDA_RESOURCE_DESC resource_of(CUarray array) {
        CUDA_RESOURCE_DESC resource{};
        resource.resType = CU_RESOURCE_TYPE_ARRAY;
        resource.res.array.hArray = array;
        return resource;
    }
    static CUDA_TEXTURE_DESC clamped() {
        CUDA_TEXTURE_DESC texture{};
        for (CUaddress_mode& mode : texture.addressMode) {
            mode = CU_TR_ADDRESS_MODE_CLAMP;
        }
        return texture;
    }
    static CUresult try_texture(const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& texture) {
        CUtexObject handle = 0;
        return DRIVER(cuTexObjectCreate)(&handle, &resource, &texture, nullptr);
    }
};

std::vector<float> counted(std::size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 1.0F);
    return values;
}

TEST_F(ArrayTest, AreMadeAndDescribed) {
    std::size_t before = 0;
    std::size_t after = 0;
    std::size_t total = 0;
    EXPECT_EQ(DRIVER(cuMemGetInfo_v2)(&before, &total), CUDA_SUCCESS);
    const CUarray array = make(256, 64, 0, CU_AD_FORMAT_UNSIGNED_INT16, 4, CUDA_ARRAY3D_SURFACE_LDST);
    EXPECT_EQ(DRIVER(cuMemGetInfo_v2)(&after, &total), CUDA_SUCCESS);
    EXPECT_EQ(before - after, 256U * 64 * 8);
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    EXPECT_EQ(DRIVER(cuArray3DGetDescriptor_v2)(&shape, array), CUDA_SUCCESS);
    EXPECT_EQ(shape.Width, 256U);
    EXPECT_EQ(shape.Height, 64U);
    EXPECT_EQ(shape.NumChannels, 4U);
    EXPECT_EQ(shape.Format, CU_AD_FORMAT_UNSIGNED_INT16);
    EXPECT_EQ(shape.Flags, unsigned{CUDA_ARRAY3D_SURFACE_LDST});
    EXPECT_EQ(DRIVER(cuArrayDestroy)(array), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuArrayDestroy)(array), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(DRIVER(cuMemGetInfo_v2)(&after, &total), CUDA_SUCCESS);
    EXPECT_EQ(before, after);
}

TEST_F(ArrayTest, BadDescriptionsAreErrors) {
    EXPECT_EQ(try_make({0, 1, 0, CU_AD_FORMAT_FLOAT, 1, 0}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(try_make({4, 0, 4, CU_AD_FORMAT_FLOAT, 1, 0}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(try_make({4, 5, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(try_make({4, 4, 5, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(try_make({4, 4, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(try_make({4, 4, 0, CU_AD_FORMAT_FLOAT, 3, 0}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(try_make({4, 4, 0, unknown<CUarray_format>(0x99), 1, 0}), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(try_make({4, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0x40}), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(DRIVER(cuArray3DCreate_v2)(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ArrayTest, CopiesOfEverySide) {
    auto values = counted(4 * 3 * 2);
    const CUarray solid = make(4, 3, 2);
    EXPECT_EQ(copy(solid, values, 4, 3, 2, true), CUDA_SUCCESS);
    std::vector<float> back(values.size());
    EXPECT_EQ(copy(solid, back, 4, 3, 2, false), CUDA_SUCCESS);
    EXPECT_EQ(back, values);
    // Rows that are no multiple of what a surface reads at a time.
    auto narrow = counted(3 * 2 * 2);
    const CUarray odd = make(3, 2, 2);
    EXPECT_EQ(copy(odd, narrow, 3, 2, 2, true), CUDA_SUCCESS);
    std::vector<float> narrow_back(narrow.size());
    EXPECT_EQ(copy(odd, narrow_back, 3, 2, 2, false), CUDA_SUCCESS);
    EXPECT_EQ(narrow_back, narrow);
    EXPECT_EQ(copy(solid, values, 5, 3, 2, true), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(copy(solid, values, 4, 4, 2, true), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(copy(solid, values, 4, 3, 3, true), CUDA_ERROR_INVALID_VALUE);

    // A part of it to device memory with a pitch, and from there into another array.
    const CUdeviceptr rows = allocate(64);
    CUDA_MEMCPY3D part{};
    part.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    part.srcArray = solid;
    part.srcXInBytes = 4;
    part.srcY = 1;
    part.srcZ = 1;
    part.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    part.dstDevice = rows;
    part.dstPitch = 32;
    part.WidthInBytes = 8;
    part.Height = 2;
    part.Depth = 1;
    EXPECT_EQ(DRIVER(cuMemcpy3D_v2)(&part), CUDA_SUCCESS);
    std::array<float, 10> seen{};
    EXPECT_EQ(DRIVER(cuMemcpyDtoH_v2)(seen.data(), rows, sizeof seen), CUDA_SUCCESS);
    EXPECT_EQ(seen[0], 18);
    EXPECT_EQ(seen[1], 19);
    EXPECT_EQ(seen[8], 22);
    const CUarray line = make(8, 0, 0);
    EXPECT_EQ(DRIVER(cuMemcpyDtoA_v2)(line, 4, rows, 8), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemcpyHtoA_v2)(line, 12, values.data(), 8), CUDA_SUCCESS);
    const CUarray other = make(8, 0, 0);
    EXPECT_EQ(DRIVER(cuMemcpyAtoA_v2)(other, 8, line, 4, 16), CUDA_SUCCESS);
    std::array<float, 8> ends{};
    EXPECT_EQ(DRIVER(cuMemcpyAtoH_v2)(ends.data(), other, 0, sizeof ends), CUDA_SUCCESS);
    EXPECT_EQ(ends, (std::array<float, 8>{0, 0, 18, 19, 1, 2, 0, 0}));
    EXPECT_EQ(DRIVER(cuMemcpyAtoD_v2)(rows, other, 8, 8), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemcpyAtoH_v2)(ends.data(), other, 8, sizeof ends), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuArrayDestroy)(other), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuMemcpyAtoH_v2)(ends.data(), other, 0, 4), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ArrayTest, KernelsReadAndWriteThem) {
    auto values = counted(4 * 2);
    const CUarray from = make(4, 2, 0);
    const CUarray to = make(4, 2, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST);
    ASSERT_EQ(copy(from, values, 4, 2, 1, true), CUDA_SUCCESS);
    CUtexObject texture = 0;
    CUsurfObject surface = 0;
    const CUDA_RESOURCE_DESC source = resource_of(from);
    const CUDA_RESOURCE_DESC target = resource_of(to);
    const CUDA_TEXTURE_DESC how = clamped();
    ASSERT_EQ(DRIVER(cuTexObjectCreate)(&texture, &source, &how, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuSurfObjectCreate)(&surface, &target), CUDA_SUCCESS);
    CUDA_RESOURCE_DESC told{};
    CUDA_TEXTURE_DESC told_how{};
    EXPECT_EQ(DRIVER(cuTexObjectGetResourceDesc)(&told, texture), CUDA_SUCCESS);
    EXPECT_EQ(told.res.array.hArray, from);
    EXPECT_EQ(DRIVER(cuTexObjectGetTextureDesc)(&told_how, texture), CUDA_SUCCESS);
    EXPECT_EQ(told_how.addressMode[1], CU_TR_ADDRESS_MODE_CLAMP);
    EXPECT_EQ(DRIVER(cuSurfObjectGetResourceDesc)(&told, surface), CUDA_SUCCESS);
    EXPECT_EQ(told.res.array.hArray, to);
    CUfunction twice = nullptr;
    ASSERT_EQ(DRIVER(cuModuleGetFunction)(&twice, load(kImagePtx), "twice"), CUDA_SUCCESS);
    void* parameters[] = {&texture, &surface};
    ASSERT_EQ(DRIVER(cuLaunchKernel)(twice, 1, 1, 1, 4, 2, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_SUCCESS);
    std::vector<float> back(values.size());
    ASSERT_EQ(copy(to, back, 4, 2, 1, false), CUDA_SUCCESS);
    for (std::size_t i = 0; i < back.size(); ++i) {
        EXPECT_EQ(back[i], 2 * values[i]);
    }
    EXPECT_EQ(DRIVER(cuSurfObjectDestroy)(texture), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuTexObjectDestroy)(texture), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuTexObjectDestroy)(texture), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuSurfObjectDestroy)(surface), CUDA_SUCCESS);
    // What is gone is a fault, which the context keeps.
    EXPECT_EQ(DRIVER(cuLaunchKernel)(twice, 1, 1, 1, 4, 2, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(ArrayTest, ObjectsOverMemory) {
    const CUdeviceptr memory = allocate(4096);
    CUDA_RESOURCE_DESC linear{};
    linear.resType = CU_RESOURCE_TYPE_LINEAR;
    linear.res.linear = {memory, CU_AD_FORMAT_SIGNED_INT32, 2, 4096};
    EXPECT_EQ(try_texture(linear, clamped()), CUDA_SUCCESS);
    linear.res.linear.sizeInBytes = 4104;
    EXPECT_EQ(try_texture(linear, clamped()), CUDA_ERROR_INVALID_VALUE);
    linear.res.linear = {memory + 4, CU_AD_FORMAT_SIGNED_INT32, 1, 4};
    EXPECT_EQ(try_texture(linear, clamped()), CUDA_ERROR_INVALID_VALUE);
    CUDA_RESOURCE_DESC pitched{};
    pitched.resType = CU_RESOURCE_TYPE_PITCH2D;
    pitched.res.pitch2D = {memory, CU_AD_FORMAT_FLOAT, 1, 10, 8, 512};
    EXPECT_EQ(try_texture(pitched, clamped()), CUDA_SUCCESS);
    pitched.res.pitch2D.height = 9;
    EXPECT_EQ(try_texture(pitched, clamped()), CUDA_ERROR_INVALID_VALUE);
    pitched.res.pitch2D = {memory, CU_AD_FORMAT_FLOAT, 1, 10, 8, 500};
    EXPECT_EQ(try_texture(pitched, clamped()), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ArrayTest, WhatIsMissingIsRefused) {
    const CUarray floats = make(4, 4, 0);
    const CUarray integers = make(4, 4, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4);
    CUDA_TEXTURE_DESC texture = clamped();
    texture.flags = CU_TRSF_SRGB;
    EXPECT_EQ(try_texture(resource_of(integers), texture), CUDA_ERROR_NOT_SUPPORTED);
    texture.flags = CU_TRSF_READ_AS_INTEGER;
    texture.filterMode = CU_TR_FILTER_MODE_LINEAR;
    EXPECT_EQ(try_texture(resource_of(integers), texture), CUDA_ERROR_INVALID_VALUE);
    texture.flags = 0;
    EXPECT_EQ(try_texture(resource_of(integers), texture), CUDA_SUCCESS);
    CUDA_RESOURCE_DESC mipmapped{};
    mipmapped.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    EXPECT_EQ(try_texture(mipmapped, clamped()), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(try_texture(resource_of(nullptr), clamped()), CUDA_ERROR_INVALID_HANDLE);
    CUsurfObject surface = 0;
    const CUDA_RESOURCE_DESC resource = resource_of(floats);
    EXPECT_EQ(DRIVER(cuSurfObjectCreate)(&surface, &resource), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
