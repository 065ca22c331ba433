// SPDX-License-Identifier: Apache-2.0
// Arrays and texture objects through the runtime's interface; tests/gpu/programs/textures.cu reads from them.
#include <numeric>
#include <vector>

#include "runtime_fixture.hpp"

namespace {

constexpr cudaChannelFormatDesc kFloat{32, 0, 0, 0, cudaChannelFormatKindFloat};
constexpr cudaChannelFormatDesc kFourBytes{8, 8, 8, 8, cudaChannelFormatKindUnsigned};
constexpr cudaChannelFormatDesc kTwoWords{32, 32, 0, 0, cudaChannelFormatKindSigned};

class RuntimeArrayTest : public testing::Test {
protected:
    void SetUp() override {
        if (std::getenv("EGPU_TEST_DRIVER") != nullptr) {
            GTEST_SKIP() << "about the runtime's stand-in";
        }
        ASSERT_NE(runtime_library(), nullptr) << dlerror();
    }
    static cudaError_t try_make(cudaArray_t* array, const cudaChannelFormatDesc& channels, std::size_t width,
                                std::size_t height) {
        return runtime("cudaMallocArray", array, &channels, width, height, 0U);
    }
    static cudaArray_t make(const cudaChannelFormatDesc& channels, std::size_t width, std::size_t height) {
        cudaArray_t array = nullptr;
        EXPECT_EQ(try_make(&array, channels, width, height), cudaSuccess);
        return array;
    }
    static cudaError_t try_texture(cudaArray_t array, CUfilter_mode filter, cudaTextureReadMode mode, int srgb = 0) {
        cudaResourceDesc resource{};
        resource.resType = CU_RESOURCE_TYPE_ARRAY;
        resource.res.array.array = array;
        cudaTextureDesc texture{};
        texture.filterMode = filter;
        texture.readMode = mode;
        texture.sRGB = srgb;
        cudaTextureObject_t object = 0;
        const cudaError_t error = runtime(
            "cudaCreateTextureObject", &object, static_cast<const cudaResourceDesc*>(&resource),
            static_cast<const cudaTextureDesc*>(&texture), static_cast<const CUDA_RESOURCE_VIEW_DESC*>(nullptr));
        if (error == cudaSuccess) {
            EXPECT_EQ(runtime("cudaDestroyTextureObject", object), cudaSuccess);
            EXPECT_EQ(runtime("cudaDestroyTextureObject", object), cudaErrorInvalidValue);
        }
        return error;
    }
};

TEST_F(RuntimeArrayTest, AreMadeAndDescribed) {
    const cudaArray_t array = make(kFourBytes, 10, 6);
    cudaChannelFormatDesc channels{};
    cudaExtent extent{};
    unsigned flags = 99;
    EXPECT_EQ(runtime("cudaArrayGetInfo", &channels, &extent, &flags, array), cudaSuccess);
    EXPECT_EQ(channels.w, 8);
    EXPECT_EQ(channels.f, cudaChannelFormatKindUnsigned);
    EXPECT_EQ(extent.width, 10U);
    EXPECT_EQ(extent.height, 6U);
    EXPECT_EQ(extent.depth, 0U);
    EXPECT_EQ(flags, 0U);
    EXPECT_EQ(runtime("cudaFreeArray", array), cudaSuccess);
    EXPECT_EQ(runtime("cudaFreeArray", array), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(runtime("cudaFreeArray", static_cast<cudaArray_t>(nullptr)), cudaSuccess);
}

TEST_F(RuntimeArrayTest, BadChannelsAreErrors) {
    cudaArray_t array = nullptr;
    for (const cudaChannelFormatDesc& channels : {cudaChannelFormatDesc{8, 8, 8, 0, cudaChannelFormatKindUnsigned},
                                                  cudaChannelFormatDesc{8, 16, 0, 0, cudaChannelFormatKindUnsigned},
                                                  cudaChannelFormatDesc{8, 0, 8, 0, cudaChannelFormatKindUnsigned},
                                                  cudaChannelFormatDesc{8, 0, 0, 0, cudaChannelFormatKindFloat},
                                                  cudaChannelFormatDesc{0, 0, 0, 0, cudaChannelFormatKindNone}}) {
        EXPECT_EQ(try_make(&array, channels, 4, 4), cudaErrorInvalidChannelDescriptor);
    }
    EXPECT_EQ(try_make(&array, kFloat, 0, 4), cudaErrorInvalidValue);
}

TEST_F(RuntimeArrayTest, CopiesOfPlanesAndOfElements) {
    std::vector<float> values(24);
    std::iota(values.begin(), values.end(), 1.0F);
    const cudaArray_t array = make(kFloat, 6, 4);
    EXPECT_EQ(
        runtime("cudaMemcpy2DToArray", array, std::size_t{0}, std::size_t{0}, static_cast<const void*>(values.data()),
                std::size_t{24}, std::size_t{24}, std::size_t{4}, cudaMemcpyHostToDevice),
        cudaSuccess);
    // Two elements of two rows, from (1, 1) to (3, 2) of another array; positions in arrays are elements.
    const cudaArray_t other = make(kFloat, 6, 4);
    cudaMemcpy3DParms part{};
    part.srcArray = array;
    part.srcPos = {1, 1, 0};
    part.dstArray = other;
    part.dstPos = {3, 2, 0};
    part.extent = {2, 2, 1};
    part.kind = cudaMemcpyDeviceToDevice;
    EXPECT_EQ(runtime("cudaMemcpy3D", static_cast<const cudaMemcpy3DParms*>(&part)), cudaSuccess);
    std::vector<float> back(24, -1.0F);
    EXPECT_EQ(runtime("cudaMemcpy2DFromArray", static_cast<void*>(back.data()), std::size_t{24}, other, std::size_t{0},
                      std::size_t{0}, std::size_t{24}, std::size_t{4}, cudaMemcpyDeviceToHost),
              cudaSuccess);
    EXPECT_EQ(back[2 * 6 + 3], values[1 * 6 + 1]);
    EXPECT_EQ(back[2 * 6 + 4], values[1 * 6 + 2]);
    EXPECT_EQ(back[3 * 6 + 4], values[2 * 6 + 2]);
    EXPECT_EQ(std::accumulate(back.begin(), back.end(), 0.0F), values[7] + values[8] + values[13] + values[14]);
    part.extent.width = 4;
    EXPECT_EQ(runtime("cudaMemcpy3D", static_cast<const cudaMemcpy3DParms*>(&part)), cudaErrorInvalidValue);
    part.dstArray = make(kFourBytes, 6, 4);
    part.extent.width = 1;
    EXPECT_EQ(runtime("cudaMemcpy3D", static_cast<const cudaMemcpy3DParms*>(&part)), cudaSuccess);
    part.dstArray = make(kTwoWords, 6, 4);
    EXPECT_EQ(runtime("cudaMemcpy3D", static_cast<const cudaMemcpy3DParms*>(&part)), cudaErrorInvalidValue);
    EXPECT_EQ(
        runtime("cudaMemcpy2DToArray", array, std::size_t{0}, std::size_t{0}, static_cast<const void*>(values.data()),
                std::size_t{20}, std::size_t{24}, std::size_t{4}, cudaMemcpyHostToDevice),
        cudaErrorInvalidPitchValue);
}

TEST_F(RuntimeArrayTest, WaysOfReadingThatThereAre) {
    const cudaArray_t floats = make(kFloat, 4, 4);
    const cudaArray_t bytes = make(kFourBytes, 4, 4);
    const cudaArray_t words = make(kTwoWords, 4, 4);
    constexpr auto point = CU_TR_FILTER_MODE_POINT;
    constexpr auto linear = CU_TR_FILTER_MODE_LINEAR;
    EXPECT_EQ(try_texture(floats, linear, cudaReadModeElementType), cudaSuccess);
    EXPECT_EQ(try_texture(bytes, linear, cudaReadModeNormalizedFloat), cudaSuccess);
    EXPECT_EQ(try_texture(bytes, linear, cudaReadModeElementType), cudaErrorInvalidFilterSetting);
    EXPECT_EQ(try_texture(words, point, cudaReadModeNormalizedFloat), cudaErrorInvalidNormSetting);
    EXPECT_EQ(try_texture(words, point, cudaReadModeElementType), cudaSuccess);
    EXPECT_EQ(try_texture(bytes, point, cudaReadModeNormalizedFloat, 1), cudaErrorNotSupported);
}

}  // namespace
