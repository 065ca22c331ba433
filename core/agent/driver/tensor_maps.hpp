// SPDX-License-Identifier: Apache-2.0
// Whether this driver lays tensor maps out as copies read them (base/tensor_map.hpp).
#pragma once

#include "gpu/device/driver.h"

namespace egpu::agent {

enum class TensorMaps : unsigned char {
    not_asked,    ///< the driver couldn't say: no context is current
    as_measured,  ///< maps hold what they are expected to hold
    otherwise,    ///< another layout, or none
};

/// Encodes maps that differ in everything that decides on the bytes of a box, and reads each back. `encode` may be
/// null. It is a calculation on the host: nothing is done on the device, the address in the maps is nobody's.
TensorMaps layout_of_tensor_maps(decltype(&cuTensorMapEncodeTiled) encode);

/// The same of the driver, asked until it has answered. True only for `as_measured`. Under the load lock.
bool tensor_maps_known();

}  // namespace egpu::agent
