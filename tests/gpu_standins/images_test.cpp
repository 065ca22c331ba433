// SPDX-License-Identifier: Apache-2.0
// Fatbinaries and cubins handed to the driver stand-in: those with PTX load, the others are refused with the right
// error, and damaged ones are refused without a crash.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "driver_fixture.hpp"

namespace {

const std::string kImages = std::string(EGPU_TEST_DATA) + "/fatbin/";

struct Image {
    const char* file;
    CUresult result;
};

TEST_F(DriverTest, ReadsImagesOfNvcc) {
    for (const Image& image :
         {Image{"plain.fatbin", CUDA_SUCCESS}, Image{"zstd.fatbin", CUDA_SUCCESS}, Image{"lz4.fatbin", CUDA_SUCCESS},
          Image{"options.fatbin", CUDA_SUCCESS}, Image{"two_gencode.fatbin", CUDA_SUCCESS},
          Image{"sass_only.fatbin", CUDA_ERROR_NO_BINARY_FOR_GPU}, Image{"linked.cubin", CUDA_ERROR_NO_BINARY_FOR_GPU},
          Image{"relocatable.fatbin", CUDA_ERROR_NO_BINARY_FOR_GPU}}) {
        CUmodule module = nullptr;
        EXPECT_EQ(DRIVER(cuModuleLoad)(&module, (kImages + image.file).c_str()), image.result) << image.file;
        CUlibrary library = nullptr;
        EXPECT_EQ(DRIVER(cuLibraryLoadFromFile)(&library, (kImages + image.file).c_str(), nullptr, nullptr, 0, nullptr,
                                                nullptr, 0),
                  image.result)
            << image.file;
    }
}

/// In memory an image has no length: its headers are believed only as far as they make sense.
TEST_F(DriverTest, RefusesDamagedImages) {
    unsigned files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(kImages + "bad")) {
        CUmodule module = nullptr;
        EXPECT_NE(DRIVER(cuModuleLoad)(&module, entry.path().c_str()), CUDA_SUCCESS) << entry.path();
        EXPECT_EQ(module, nullptr) << entry.path();
        ++files;
    }
    EXPECT_GT(files, 10U);
}

/// A wrapper as nvcc puts it beside an image: magic number, version, address of the container.
TEST_F(DriverTest, FollowsWrappers) {
    std::ifstream file(kImages + "plain.fatbin", std::ios::binary);
    const std::vector<char> container((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    ASSERT_GT(container.size(), 16U);
    struct {
        unsigned magic = 0x466243B1;
        unsigned version = 1;
        const void* data = nullptr;
        const void* others = nullptr;
    } wrapper;
    wrapper.data = container.data();
    CUmodule module = nullptr;
    EXPECT_EQ(DRIVER(cuModuleLoadFatBinary)(&module, &wrapper), CUDA_SUCCESS);
    unsigned count = 0;
    EXPECT_EQ(DRIVER(cuModuleGetFunctionCount)(&count, module), CUDA_SUCCESS);
    EXPECT_GT(count, 0U);
    wrapper.version = 7;
    EXPECT_EQ(DRIVER(cuModuleLoadFatBinary)(&module, &wrapper), CUDA_ERROR_INVALID_IMAGE);
}

}  // namespace
