// SPDX-License-Identifier: Apache-2.0
// Is this PTX the source of that code? The same compiler, given the same options, says (DESIGN 6, rule 1).
#pragma once

#include <map>
#include <span>
#include <string>

#include "base/hash.hpp"

namespace egpu::host {

/// Kernel by its mangled name to the hash of its machine code. Empty where the bytes are no cubin.
std::map<std::string, ContentHash> code_of_kernels(std::span<const std::byte> cubin);

}  // namespace egpu::host
