// SPDX-License-Identifier: Apache-2.0
// What a map holds against what a test expects of it.
#pragma once

#include <string>
#include <vector>

#include "cli/plugin_test_file.hpp"
#include "host/findings/findings.hpp"
#include "host/view/rows.hpp"

namespace egpu::cli {

/// Differences as lines "- expected" and "+ got", in the form of the test file; empty where all is as expected. An
/// error where an expected row can't be of this map.
Result<std::vector<std::string>> compare_rows(const std::string& path, const PluginExpectation& expectation,
                                              const host::Map& map, const std::vector<host::Row>& rows,
                                              const host::Catalogue& catalogue);

/// The same for findings of a plugin: { id, kernel }, the kernel left out where it does not matter.
Result<std::vector<std::string>> compare_findings(const std::string& path, const PluginExpectation& expectation,
                                                  const host::Catalogue& catalogue);

}  // namespace egpu::cli
