// SPDX-License-Identifier: Apache-2.0
// Which kernels are looked at: patterns, each a glob or "regex:...".
#pragma once

#include <string>
#include <vector>

namespace egpu::host {

struct KernelSelection {
    std::vector<std::string> include, exclude;
    /// True where a pattern of `include` matches (or there is none) and none of `exclude` does.
    bool takes(const std::string& mangled) const;
    bool operator==(const KernelSelection&) const = default;
};

/// True where all of them take it: selections narrow each other.
bool all_take(const std::vector<KernelSelection>& selections, const std::string& mangled);

}  // namespace egpu::host
