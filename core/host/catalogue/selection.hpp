// SPDX-License-Identifier: Apache-2.0
// Which kernels are looked at: patterns, each a glob or "regex:...".
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.hpp"

namespace egpu::host {

struct KernelSelection {
    std::vector<std::string> include, exclude;
    /// Of the first of `include` in a probe set; no file of others. Only this process knows it: it is in no catalogue's
    /// JSON.
    Location where = {};
    /// True where a pattern of `include` matches (or there is none) and none of `exclude` does.
    bool takes(const std::string& mangled) const;
    /// What it takes, wherever it stands.
    bool operator==(const KernelSelection& other) const { return include == other.include && exclude == other.exclude; }
};

/// True where all of them take it: selections narrow each other.
bool all_take(const std::vector<KernelSelection>& selections, const std::string& mangled);

}  // namespace egpu::host
