// SPDX-License-Identifier: Apache-2.0
// Reads the declarations of a driver header as text: which exported functions take or give functions, or what leads to
// them.
#pragma once

#include <map>
#include <set>
#include <string>

namespace egpu::test {

/// Types by which a function handle can pass between the application and the driver.
bool leads_to_a_function(const std::string& parameters);

/// Names that libcuda.so.1 exports for the declarations in `header` whose parameters lead to a function, versions and
/// stream forms included, each with its parameters.
std::map<std::string, std::string> functions_about_functions(const std::string& header);

/// From cudaTypedefs.h: how many versions it knows of each function (stream forms aside).
std::map<std::string, std::set<int>> versions_in_typedefs(const std::string& header);

/// cuGraphLaunch for cuGraphLaunch_ptsz, cuLinkCreate for cuLinkCreate_v2.
std::string family_of(std::string name);

}  // namespace egpu::test
