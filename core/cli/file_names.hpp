// SPDX-License-Identifier: Apache-2.0
// Placeholders in the names of files that a run writes.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace egpu::cli {

struct FileNameParts {
    std::int32_t pid = 0;  ///< %p: the application's
    std::string set;       ///< %n: the probes' names
};

/// %p pid, %h host, %n probes, %q{VAR} environment, %% a percent sign. EGPU-X051 for any other,
/// EGPU-X059 where the environment has no such variable.
Result<std::string> expand_file_name(const std::string& pattern, const FileNameParts& parts);

}  // namespace egpu::cli
