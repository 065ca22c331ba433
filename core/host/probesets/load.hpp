// SPDX-License-Identifier: Apache-2.0
// From a file to a ProbeSet: read, checked, laid over what it includes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "host/probesets/probeset.hpp"

namespace egpu::host {

/// How files are found and read: the loader touches no file system itself.
struct SetFiles {
    /// The text of a file; an error says why not.
    std::function<Result<std::string>(const std::string& path)> read;
    /// The file of a set's name; nullopt where none is named so.
    std::function<std::optional<std::string>(const std::string& name)> find;
    /// Names that `find` knows, for "did you mean".
    std::function<std::vector<std::string>()> names;
};

/// What could be read, and all problems of the file and of what it includes: EGPU-S0xx.
struct ReadSet {
    ProbeSet set;
    std::vector<Diagnostic> problems;
};
ReadSet read_probe_set(const std::string& path, const SetFiles& files);

/// The set, where there is no problem.
Result<ProbeSet> load_probe_set(const std::string& path, const SetFiles& files);

/// True where a word names a set's file rather than a set: it has a folder or ends in .yaml.
bool names_set_file(std::string_view word);

}  // namespace egpu::host
