// SPDX-License-Identifier: Apache-2.0
// The runtime's description of channels and the driver's format and number of them.
#pragma once

#include "gpu/simulated/libcudart/runtime_types.h"

namespace egpu::simulated::runtime {

/// False where there is no such format.
bool driver_format(const cudaChannelFormatDesc& channels, CUarray_format& format, unsigned& count);
cudaChannelFormatDesc channels_of(CUarray_format format, unsigned count);
int bits_of_format(CUarray_format format);

}  // namespace egpu::simulated::runtime
