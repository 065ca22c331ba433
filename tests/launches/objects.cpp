// SPDX-License-Identifier: Apache-2.0
#include "objects.hpp"

#include <cuda.h>
#include <dlfcn.h>

#include <array>
#include <cstring>

#include <fmt/format.h>

#include "base/diagnostic.hpp"

namespace egpu::launches {
namespace {

constexpr std::size_t kTexelBytes = 16;  // four f32

Status done(CUresult result, const char* call) {
    return result == CUDA_SUCCESS ? ok()
                                  : Status(error("", fmt::format("{} gives {}", call, static_cast<int>(result))));
}

/// The driver is found at run time, as the rest of the program finds it.
template <typename Function>
Function find(const char* name) {
    static void* const kLibrary = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return kLibrary == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(kLibrary, name));
}

struct Driver {
    decltype(&cuMemAlloc_v2) allocate = find<decltype(&cuMemAlloc_v2)>("cuMemAlloc_v2");
    decltype(&cuMemcpyHtoD_v2) copy_in = find<decltype(&cuMemcpyHtoD_v2)>("cuMemcpyHtoD_v2");
    decltype(&cuMemcpyDtoH_v2) copy_out = find<decltype(&cuMemcpyDtoH_v2)>("cuMemcpyDtoH_v2");
    decltype(&cuTensorMapEncodeTiled) encode = find<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
    decltype(&cuArray3DCreate_v2) create_array = find<decltype(&cuArray3DCreate_v2)>("cuArray3DCreate_v2");
    decltype(&cuMemcpy2D_v2) copy_array = find<decltype(&cuMemcpy2D_v2)>("cuMemcpy2D_v2");
    decltype(&cuTexObjectCreate) create_texture = find<decltype(&cuTexObjectCreate)>("cuTexObjectCreate");
    decltype(&cuSurfObjectCreate) create_surface = find<decltype(&cuSurfObjectCreate)>("cuSurfObjectCreate");

    bool complete() const {
        return allocate != nullptr && copy_in != nullptr && copy_out != nullptr && encode != nullptr &&
               create_array != nullptr && copy_array != nullptr && create_texture != nullptr &&
               create_surface != nullptr;
    }
};

const Driver& driver() {
    static const Driver kDriver;
    return kDriver;
}

template <typename Object>
std::vector<std::byte> bytes_of(const Object& object) {
    std::vector<std::byte> bytes(sizeof object);
    std::memcpy(bytes.data(), &object, sizeof object);
    return bytes;
}

Result<CUtensorMapDataType> element_of(const std::string& type) {
    if (type == "i32" || type == "u32")
        return CU_TENSOR_MAP_DATA_TYPE_INT32;
    if (type == "f32")
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    if (type == "f16")
        return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    if (type == "u8")
        return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    return error("", fmt::format("no tensor of {}", type));
}

/// Between an array and rows of the host.
CUDA_MEMCPY2D whole(CUarray array, std::size_t row, std::size_t height) {
    CUDA_MEMCPY2D area{};
    area.srcMemoryType = area.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    area.srcArray = area.dstArray = array;
    area.srcPitch = area.dstPitch = area.WidthInBytes = row;
    area.Height = height;
    return area;
}

Result<CUarray> array_of_pattern(std::size_t width, std::size_t height, bool is_surface) {
    CUDA_ARRAY3D_DESCRIPTOR shape{};
    shape.Width = width;
    shape.Height = height;
    shape.Format = CU_AD_FORMAT_FLOAT;
    shape.NumChannels = 4;
    shape.Flags = is_surface ? CUDA_ARRAY3D_SURFACE_LDST : 0;
    CUarray array = nullptr;
    if (auto made = done(driver().create_array(&array, &shape), "cuArray3DCreate"); !made)
        return made.error();
    const auto contents = patterned("f32", width * height * 4);
    auto area = whole(array, width * kTexelBytes, height);
    area.srcMemoryType = CU_MEMORYTYPE_HOST;
    area.srcHost = contents.data();
    auto copied = done(driver().copy_array(&area), "cuMemcpy2D");
    return copied ? Result<CUarray>(array) : copied.error();
}

}  // namespace

Result<std::vector<std::byte>> Objects::make(const Argument& argument) {
    if (!driver().complete())
        return error("", "the driver has no tensor maps or no textures");
    return argument.kind == Argument::Kind::tensor ? tensor(argument) : image(argument);
}

Result<std::vector<std::byte>> Objects::tensor(const Argument& argument) {
    const auto element = element_of(argument.type);
    if (!element)
        return element.error();
    const auto contents = patterned(argument.type, std::size_t{argument.extent[0]} * argument.extent[1]);
    CUdeviceptr address = 0;
    if (auto made = done(driver().allocate(&address, contents.size()), "cuMemAlloc"); !made)
        return made.error();
    if (auto copied = done(driver().copy_in(address, contents.data(), contents.size()), "cuMemcpyHtoD"); !copied)
        return copied.error();
    const std::array<cuuint64_t, 2> size{argument.extent[0], argument.extent[1]};
    const std::array<cuuint64_t, 1> stride{contents.size() / argument.extent[1]};
    const std::array<cuuint32_t, 2> box{argument.extent[2], argument.extent[3]};
    const std::array<cuuint32_t, 2> steps{1, 1};
    CUtensorMap map{};
    auto encoded =
        done(driver().encode(&map, *element, 2, reinterpret_cast<void*>(address), size.data(), stride.data(),
                             box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                             CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
             "cuTensorMapEncodeTiled");
    areas_.push_back({address, nullptr, stride[0], argument.extent[1]});
    return encoded ? Result<std::vector<std::byte>>(bytes_of(map)) : encoded.error();
}

/// Read by whole numbers, clamped at the edges.
Result<std::vector<std::byte>> Objects::image(const Argument& argument) {
    const bool is_surface = argument.kind == Argument::Kind::surface;
    const auto array = array_of_pattern(argument.extent[0], argument.extent[1], is_surface);
    if (!array)
        return array.error();
    areas_.push_back({0, *array, argument.extent[0] * kTexelBytes, argument.extent[1]});
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = *array;
    CUDA_TEXTURE_DESC texture{};
    for (auto& mode : texture.addressMode)
        mode = CU_TR_ADDRESS_MODE_CLAMP;
    unsigned long long handle = 0;
    auto made = is_surface ? done(driver().create_surface(&handle, &resource), "cuSurfObjectCreate")
                           : done(driver().create_texture(&handle, &resource, &texture, nullptr), "cuTexObjectCreate");
    return made ? Result<std::vector<std::byte>>(bytes_of(handle)) : made.error();
}

Result<std::vector<std::vector<std::byte>>> Objects::take() {
    std::vector<std::vector<std::byte>> all;
    for (const auto& area : areas_) {
        auto& contents = all.emplace_back(area.row * area.height);
        auto copied = ok();
        if (area.array == nullptr) {
            copied = done(driver().copy_out(contents.data(), area.address, contents.size()), "cuMemcpyDtoH");
        } else {
            auto out = whole(static_cast<CUarray>(area.array), area.row, area.height);
            out.dstMemoryType = CU_MEMORYTYPE_HOST;
            out.dstHost = contents.data();
            copied = done(driver().copy_array(&out), "cuMemcpy2D");
        }
        if (!copied)
            return copied.error();
    }
    areas_.clear();
    return all;
}

}  // namespace egpu::launches
