// SPDX-License-Identifier: Apache-2.0
// What an ELF file tells of a program before it starts: whether our libraries can be preloaded into it.
#pragma once

#include <string>

#include "base/result.hpp"

namespace egpu::host {

/// The file that execvp would run for a command; "" where there is none.
std::string program_path(const std::string& command);

/// A warning or error to give before the program starts:
/// - EGPU-X040 (error, simulated only): it holds the CUDA runtime itself and can't run on the simulated GPU;
/// - EGPU-X041 (error): of another architecture than our libraries; EGPU-X042 (error): statically linked, or set-uid.
/// Files that aren't ELF (scripts) pass.
Status check_program(const std::string& path, bool simulated);

}  // namespace egpu::host
