// SPDX-License-Identifier: Apache-2.0
#include "agent/driver/tensor_maps.hpp"

#include <cstdint>
#include <cstring>

#include "agent/driver/driver.hpp"
#include "base/tensor_map.hpp"

namespace egpu::agent {
namespace {

constexpr unsigned kMostDimensions = 5;

struct Trial {
    CUtensorMapDataType type;
    unsigned element_bytes, dimensions;
    CUtensorMapInterleave interleave;
    cuuint32_t box[kMostDimensions], strides[kMostDimensions];
};

constexpr auto kPlain = CU_TENSOR_MAP_INTERLEAVE_NONE;
constexpr auto kInterleaved = CU_TENSOR_MAP_INTERLEAVE_16B;

// Every type, every dimension with a small and a large box, every stride.
constexpr Trial kTrials[] = {
    {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, 1, kPlain, {16}, {1}},
    {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, 2, kPlain, {256, 255}, {1, 1}},
    {CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, 2, kPlain, {64, 2}, {1, 1}},
    {CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, 3, kPlain, {4, 3, 5}, {1, 1, 1}},
    {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 2, kPlain, {16, 15}, {1, 2}},
    {CU_TENSOR_MAP_DATA_TYPE_UINT64, 8, 4, kPlain, {2, 1, 7, 256}, {1, 1, 1, 1}},
    {CU_TENSOR_MAP_DATA_TYPE_INT64, 8, 5, kPlain, {2, 1, 1, 2, 129}, {1, 1, 1, 1, 1}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 3, kPlain, {64, 32, 9}, {1, 3, 8}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 5, kPlain, {32, 16, 8, 4, 2}, {1, 4, 5, 2, 1}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8, 4, kPlain, {16, 9, 9, 9}, {1, 6, 7, 8}},
    {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, 5, kPlain, {8, 2, 3, 64, 13}, {1, 1, 2, 3, 4}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, 4, 2, kPlain, {64, 32}, {1, 1}},
    {CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 4, 3, kPlain, {8, 128, 2}, {1, 1, 1}},
    {CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ, 4, 2, kPlain, {8, 100}, {1, 7}},
    {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 3, kInterleaved, {8, 6, 5}, {2, 1, 1}},
};

// Types of less than a byte, of which egpu doesn't know the bytes. A driver that takes one has maps that can't be read.
constexpr int kNarrowTypes[] = {13, 14, 15};

// Places where tensors may lie; no two rows overlap.
constexpr cuuint64_t kSize[kMostDimensions] = {256, 256, 256, 256, 256};
constexpr cuuint64_t kRows[kMostDimensions - 1] = {4096, cuuint64_t{1} << 20, cuuint64_t{1} << 28, cuuint64_t{1} << 36};
constexpr std::uintptr_t kNobodys = 0x7f0000000000;

CUresult encoded(decltype(&cuTensorMapEncodeTiled) encode, const Trial& trial, CUtensorMap* map) {
    return encode(map, trial.type, trial.dimensions, reinterpret_cast<void*>(kNobodys), kSize, kRows, trial.box,
                  trial.strides, trial.interleave, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

std::uint64_t value_of(const CUtensorMap& map, tensor_map::Field field) {
    std::uint64_t word = 0;
    std::memcpy(&word, reinterpret_cast<const char*>(&map) + field.at / 64 * 8, sizeof(word));
    return word >> field.at % 64 & ((std::uint64_t{1} << field.bits) - 1);
}

// As a copy reads it.
std::uint64_t bytes_in(const CUtensorMap& map, unsigned dimensions) {
    std::uint64_t bytes = tensor_map::kElementBytes >> 4 * value_of(map, tensor_map::kElementType) & 15;
    for (unsigned i = 0; i < dimensions; ++i) {
        const bool has_stride = i > 0 || value_of(map, tensor_map::kInterleave) != 0;
        const std::uint64_t stride = has_stride ? value_of(map, tensor_map::stride_of(i)) + 1 : 1;
        bytes *= value_of(map, tensor_map::box_of(i)) / stride + 1;
    }
    return bytes;
}

std::uint64_t bytes_of(const Trial& trial) {
    std::uint64_t bytes = trial.element_bytes;
    for (unsigned i = 0; i < trial.dimensions; ++i)
        bytes *= (trial.box[i] + trial.strides[i] - 1) / trial.strides[i];
    return bytes;
}

}  // namespace

TensorMaps layout_of_tensor_maps(decltype(&cuTensorMapEncodeTiled) encode) {
    if (encode == nullptr)
        return TensorMaps::otherwise;
    for (const Trial& trial : kTrials) {
        CUtensorMap map{};
        const CUresult result = encoded(encode, trial, &map);
        if (result == CUDA_ERROR_INVALID_CONTEXT || result == CUDA_ERROR_NOT_INITIALIZED)
            return TensorMaps::not_asked;
        if (result != CUDA_SUCCESS || bytes_in(map, trial.dimensions) != bytes_of(trial))
            return TensorMaps::otherwise;
    }
    for (const int type : kNarrowTypes) {
        const Trial trial{static_cast<CUtensorMapDataType>(type), 0, 2, kPlain, {128, 2}, {1, 1}};
        CUtensorMap map{};
        if (encoded(encode, trial, &map) == CUDA_SUCCESS)
            return TensorMaps::otherwise;
    }
    return TensorMaps::as_measured;
}

bool tensor_maps_known() {
    static TensorMaps answer = TensorMaps::not_asked;
    if (answer == TensorMaps::not_asked)
        answer = layout_of_tensor_maps(driver().cuTensorMapEncodeTiled);
    return answer == TensorMaps::as_measured;
}

}  // namespace egpu::agent
