// SPDX-License-Identifier: Apache-2.0
// What clang says of a program, as diagnostics: each mistake once, with its line, and with what to write instead where
// clang's words are those of another machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.hpp"

namespace egpu::ebpf {

/// EGPU-B061 for each distinct error, at least one; what clang says behind an error that ended it is left out.
std::vector<Diagnostic> clang_errors(const std::string& path, std::string_view output);

/// EGPU-B063 for each warning, but for those of what is unused.
std::vector<Diagnostic> clang_warnings(std::string_view output);

/// "did you mean 'egpu_map_lookup_or_init'?"; "" where no helper of egpu has a name like this one.
std::string meant_helper(std::string_view name);

}  // namespace egpu::ebpf
