// SPDX-License-Identifier: Apache-2.0
// What a cubin says of itself: architectures, the tool that made it, its kernels.
#pragma once

#include "base/result.hpp"
#include "ptx/fatbin/bytes.hpp"
#include "ptx/fatbin/image.hpp"

namespace egpu::ptx {

struct Cubin {
    CubinMember member;  ///< without `bytes`
    bool relocatable = false;
};

bool is_cubin(Bytes bytes);
Result<Cubin> read_cubin(Bytes bytes);

}  // namespace egpu::ptx
