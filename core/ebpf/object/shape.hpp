// SPDX-License-Identifier: Apache-2.0
// What BTF says of a key or value: its scalars, with names, places and the meaning of their typedefs.
#pragma once

#include "ebpf/object/btf.hpp"
#include "ebpf/object/object.hpp"

namespace egpu::ebpf {

/// EGPU-B024 for what has no description: unions, bit fields, floating point, more than 256 scalars.
Result<TypeShape> describe(const Btf& btf, std::uint32_t type);

}  // namespace egpu::ebpf
