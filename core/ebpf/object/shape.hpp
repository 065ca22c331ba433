// SPDX-License-Identifier: Apache-2.0
// What BTF says of a key or value: its scalars, with names, places and the meaning of their typedefs.
#pragma once

#include "ebpf/object/btf.hpp"
#include "ebpf/object/object.hpp"

namespace egpu::ebpf {

/// A variable of a section.
struct Variable {
    std::string name;
    std::uint32_t type = 0, offset = 0;  ///< BTF id, byte in the section
};

/// EGPU-B024 for what has no description: unions, bit fields, floating point, more than 256 scalars.
Result<TypeShape> describe(const Btf& btf, std::uint32_t type);
/// The same of variables that stand together.
Result<TypeShape> describe(const Btf& btf, std::span<const Variable> variables);

}  // namespace egpu::ebpf
