// SPDX-License-Identifier: Apache-2.0
// YAML text as a tree in which every value knows its place. Less than YAML: no tags, no anchors and aliases, no second
// document, no key twice, little nesting (TARGETS E5). What is refused is said, all of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.hpp"
#include "host/probesets/place.hpp"

namespace egpu::host {

inline constexpr std::size_t kLargestSet = std::size_t{1} << 20;  ///< bytes of a file
inline constexpr std::size_t kDeepestNesting = 16;

struct TreeNode {
    enum class Kind { null, scalar, list, map } kind = Kind::null;
    std::string text;    ///< of a scalar
    bool plain = false;  ///< a scalar without quotes
    Place place;
    std::vector<TreeNode> keys;    ///< of a map: scalars
    std::vector<TreeNode> values;  ///< of a list, or beside `keys`
};

struct Tree {
    std::shared_ptr<const SourceText> source;
    TreeNode root;
    std::vector<Diagnostic> problems;
};

/// `file` names the text in errors: EGPU-S001 (too large, not UTF-8), S002 (not YAML), S003 to S009.
Tree parse_tree(std::string_view text, const std::string& file);

}  // namespace egpu::host
