// SPDX-License-Identifier: Apache-2.0
// What `egpu check` prints of a program that was accepted (TARGETS E6.6).
#pragma once

#include <string>

#include "ebpf/object/object.hpp"
#include "ebpf/verifier/verifier.hpp"

namespace egpu::ebpf {

/// "count_traffic  gpu/mem  accepted" and what the program costs and reads; several lines, each ended.
std::string check_report(const Object& object, const Program& program, const Verification& verification);

}  // namespace egpu::ebpf
