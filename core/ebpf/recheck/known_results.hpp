// SPDX-License-Identifier: Apache-2.0
// What a helper gives at one site where the verifier, which answers for all sites, leaves it open.
#pragma once

#include <cstdint>
#include <optional>

#include "ebpf/specializer/specializer.hpp"
#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {

/// The key in SpecializedProgram::keys that a call's arguments name: map in r1, bytes behind r2.
std::optional<std::uint32_t> named_key(const Scene& scene, const SpecializedProgram& program);

/// r0 after the call; nothing: what the verifier says. Of a lookup: where the key is one that was asked for.
std::optional<Value> known_result(const Scene& scene, const Helper& called, const SpecializedProgram& program);

}  // namespace egpu::ebpf
