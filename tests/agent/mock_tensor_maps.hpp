// SPDX-License-Identifier: Apache-2.0
// An encoder of tensor maps whose layout can be set.
#pragma once

#include "gpu/device/driver.h"

namespace mock {

/// Bits at which fields begin; the default is what was measured on an H200.
struct TensorMapLayout {
    CUresult result = CUDA_SUCCESS;  ///< of every call
    unsigned type_at = 71, interleave_at = 75, strides_at = 416, box_at = 440;
    unsigned bits_of_stride = 3;
    unsigned box_less = 1;    ///< a box of 1 is stored as 1 less this
    unsigned first_type = 0;  ///< the number of u8
    bool takes_narrow_types = false;
};
extern TensorMapLayout tensor_map_layout;

CUresult encode_tensor_map(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                           const cuuint64_t* size, const cuuint64_t* rows, const cuuint32_t* box,
                           const cuuint32_t* strides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                           CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);

}  // namespace mock
