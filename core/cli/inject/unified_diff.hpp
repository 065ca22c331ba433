// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace egpu::cli {

/// The difference of two texts as `diff -u` has it, with `context` lines around each change; "" where there is none.
/// Shortest, by E. Myers, "An O(ND) difference algorithm" (1986), in its form that needs memory in proportion to the
/// lines only.
std::string unified_diff(std::string_view first, std::string_view second, std::string_view first_name,
                         std::string_view second_name, std::size_t context = 3);

}  // namespace egpu::cli
