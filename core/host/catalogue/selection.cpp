// SPDX-License-Identifier: Apache-2.0
#include "host/catalogue/selection.hpp"

#include <algorithm>

#include "base/patterns.hpp"

namespace egpu::host {
namespace {

bool any_matches(const std::vector<std::string>& patterns, const std::string& mangled) {
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return kernel_pattern_matches(pattern, mangled); });
}

}  // namespace

bool KernelSelection::takes(const std::string& mangled) const {
    return (include.empty() || any_matches(include, mangled)) && !any_matches(exclude, mangled);
}

bool all_take(const std::vector<KernelSelection>& selections, const std::string& mangled) {
    return std::all_of(selections.begin(), selections.end(),
                       [&](const KernelSelection& selection) { return selection.takes(mangled); });
}

}  // namespace egpu::host
