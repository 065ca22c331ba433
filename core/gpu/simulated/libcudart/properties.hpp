// SPDX-License-Identifier: Apache-2.0
// cudaDeviceProp from the driver's attributes.
#pragma once

#include "gpu/simulated/libcudart/driver_calls.hpp"

namespace egpu::simulated::runtime {

CUresult read_properties(const DriverCalls& driver, int ordinal, cudaDeviceProp& properties);

}  // namespace egpu::simulated::runtime
