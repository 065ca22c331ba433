// SPDX-License-Identifier: Apache-2.0
// What BTF says of a key or value: its scalars, with names, places and the meaning of their typedefs.
#pragma once

#include "ebpf/object/btf.hpp"
#include "ebpf/object/object.hpp"

namespace egpu::ebpf {

/// A variable of a section.
struct Variable {
    std::string name;
    std::uint32_t id = 0, type = 0;      ///< BTF ids of the variable and of its type
    std::uint32_t offset = 0, held = 0;  ///< byte in the section; bytes that the compiler gave it
};

/// EGPU-B024 for what has no description: unions, bit fields, floating point, more than 256 scalars.
Result<TypeShape> describe(const Btf& btf, std::uint32_t type);
/// The same of variables that stand together.
Result<TypeShape> describe(const Btf& btf, std::span<const Variable> variables);

}  // namespace egpu::ebpf
