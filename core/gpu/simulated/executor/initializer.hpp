// SPDX-License-Identifier: Apache-2.0
// Initial values of module variables (PTX ISA 9.0, section 5.4.4).
#pragma once

#include <cstddef>
#include <span>

#include "base/result.hpp"
#include "gpu/simulated/executor/decoder/decode.hpp"

namespace egpu::simulated {

/// Bytes that an initialiser gives to an array whose size is not written.
std::uint64_t initializer_bytes(const ptx::Variable& variable);

/// Writes the variable's bytes, which are zero before: numbers, addresses of variables and functions (which are then
/// noted as address_taken), `generic(name)`, and byte masks `0xff(name)` of addresses. More values than bytes are an
/// error.
Status initial_bytes(const ptx::Variable& variable, ModuleSymbols& symbols, std::span<std::byte> bytes);

}  // namespace egpu::simulated
