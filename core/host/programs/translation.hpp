// SPDX-License-Identifier: Apache-2.0
// A program that the verifier accepts, translated for a kernel that nobody has: what it asks for and no kernel can give
// in this version is said before one is launched.
#pragma once

#include <vector>

#include "base/diagnostic.hpp"
#include "ebpf/object/object.hpp"

namespace egpu::host {

/// Why the program would be refused at every place; empty: it is translated at a plain one. Errors EGPU-V05x of the
/// specialiser and EGPU-P22x of the code generator, with the program's line.
std::vector<Diagnostic> refused_in_every_kernel(const ebpf::Object& object, const ebpf::Program& program);

}  // namespace egpu::host
