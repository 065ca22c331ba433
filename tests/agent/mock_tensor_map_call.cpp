// SPDX-License-Identifier: Apache-2.0
// The mock driver's encoder of tensor maps. As on a real one, a context has to be current.
#include "mock_tensor_maps.hpp"

extern "C" __attribute__((visibility("default"))) CUresult cuTensorMapEncodeTiled(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address, const cuuint64_t* size,
    const cuuint64_t* rows, const cuuint32_t* box, const cuuint32_t* strides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    CUdevice device = 0;
    if (cuCtxGetDevice(&device) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_CONTEXT;
    return mock::encode_tensor_map(map, type, rank, address, size, rows, box, strides, interleave, swizzle, promotion,
                                   fill);
}
