// SPDX-License-Identifier: Apache-2.0
// What ptxas prints.
#pragma once

#include <string>
#include <string_view>

#include "inject/compile/compile.hpp"

namespace egpu::inject {

/// Registers, spills, stack and shared memory of one entry, from the output of -v; left as they are where absent.
void read_figures(std::string_view output, std::string_view entry, Compiled& compiled);
/// The first lines with an error, for a diagnostic.
std::string first_errors(std::string_view output);
/// "13.0" of "... release 13.0, V13.0.88".
std::string release_in(std::string_view output);

}  // namespace egpu::inject
