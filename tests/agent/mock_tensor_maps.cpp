// SPDX-License-Identifier: Apache-2.0
#include "mock_tensor_maps.hpp"

#include <cstdint>
#include <cstring>

namespace mock {

TensorMapLayout tensor_map_layout;

namespace {

void put(CUtensorMap* map, unsigned at, unsigned bits, std::uint64_t value) {
    for (unsigned bit = 0; bit < bits; ++bit)
        if ((value >> bit & 1) != 0)
            map->opaque[(at + bit) / 64] |= std::uint64_t{1} << (at + bit) % 64;
}

// CUtensorMapDataType to the number in a map: FLOAT32_FTZ, TFLOAT32 and TFLOAT32_FTZ share others'.
constexpr unsigned kNumbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 7, 8};

}  // namespace

CUresult encode_tensor_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void*, const cuuint64_t*,
                           const cuuint64_t*, const cuuint32_t* box, const cuuint32_t* strides,
                           CUtensorMapInterleave interleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                           CUtensorMapFloatOOBfill) {
    const TensorMapLayout& layout = tensor_map_layout;
    const auto number = static_cast<unsigned>(type);
    if (layout.result != CUDA_SUCCESS)
        return layout.result;
    if (number >= sizeof(kNumbers) / sizeof(kNumbers[0]))
        return layout.takes_narrow_types ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    std::memset(map, 0, sizeof(*map));
    put(map, layout.type_at, 4, kNumbers[number] + layout.first_type);
    put(map, layout.interleave_at, 2, static_cast<unsigned>(interleave));
    for (unsigned i = 0; i < rank; ++i) {
        put(map, layout.strides_at + layout.bits_of_stride * i, layout.bits_of_stride, strides[i] - 1);
        put(map, layout.box_at + 8 * i, 8, box[i] - layout.box_less);
    }
    return CUDA_SUCCESS;
}

}  // namespace mock
