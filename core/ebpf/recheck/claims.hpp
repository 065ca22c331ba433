// SPDX-License-Identifier: Apache-2.0
// Whether what the specialiser says of a value holds of the one that a walk comes with.
#pragma once

#include <cstdint>
#include <optional>

#include "ebpf/specializer/specializer.hpp"
#include "ebpf/verifier/domain/value.hpp"

namespace egpu::ebpf {

/// The index in SpecializedProgram::keys of the element that a pointer of a walk points into; nothing: known only at
/// run time.
std::optional<std::uint32_t> key_of(const Value& pointer);
/// Names an element so that key_of() finds it.
std::uint32_t identity_of_key(std::uint32_t key);

bool holds(const specializer::Value& claimed, const Value& seen, const SpecializedProgram& program);

/// The pointer, moved by `offset`, is this address.
bool points_to(const StaticElement& claimed, const Value& pointer, std::int64_t offset,
               const SpecializedProgram& program);

}  // namespace egpu::ebpf
