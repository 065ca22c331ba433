// SPDX-License-Identifier: Apache-2.0
// A plugin's test file (NAME.test.yaml), read and checked before anything runs.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace egpu::cli {

/// Rows that a map must hold, or findings that the plugin must report.
struct PluginExpectation {
    Location where;
    std::string map;  ///< "" where it is about findings
    YAML::Node rows;  ///< a sequence of { key, value }, or of { id, kernel }
    bool all = true;  ///< `is`: these and no others; `has`: these at least
};

struct PluginTestCase {
    Location where;
    std::string name;
    /// One of the two: a bundled workload with its options, run as a session on the simulated GPU ...
    std::vector<std::string> run;
    /// ... or a program, run so many times by the interpreter with a context made of these fields.
    std::string program;
    Location program_where;
    struct Number {
        std::string name;
        std::uint64_t value = 0;
        Location where;
    };
    std::vector<Number> not_run;  ///< programs that this session must not run; all others must run in it
    std::vector<Number> context;
    std::vector<std::pair<Number, std::string>> options;  ///< name and place, value as text
    std::vector<std::uint64_t> arguments;                 ///< what egpu_arg gives
    std::uint64_t times = 1, clock = 0, time_ns = 0;
    std::vector<PluginExpectation> expect;
};

struct PluginTestFile {
    std::string path;
    std::string plugin;
    Location plugin_where;
    std::vector<PluginTestCase> cases;
};

/// EGPU-T0xx with file, line and column; all that is wrong with the file's form, not only the first.
Result<PluginTestFile> read_plugin_test(const std::string& path);

/// Where a node stands in its file.
Location location_of(const std::string& path, const YAML::Node& node);

/// A whole number as YAML has it: 12, 0x10, -3 (as two's complement); nullopt for anything else.
std::optional<std::uint64_t> whole_number(const YAML::Node& node);

}  // namespace egpu::cli
