// SPDX-License-Identifier: Apache-2.0
// A refusal that names the source line of an instruction (TARGETS E6.6).
#pragma once

#include <string>
#include <string_view>

#include "base/diagnostic.hpp"
#include "ebpf/object/object.hpp"

namespace egpu::ebpf::specializer {

/// `instruction` counts in Program::instructions.
Diagnostic problem_at(const Program& program, std::uint32_t instruction, std::string_view code, std::string message,
                      std::string why, std::string fix);

}  // namespace egpu::ebpf::specializer
