// SPDX-License-Identifier: Apache-2.0
// Reading values out of a tree: each function gives the value, or says what is wrong and gives nullopt. Nothing stops
// at the first problem.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantities.hpp"
#include "host/probesets/keys.hpp"
#include "host/probesets/tree.hpp"

namespace egpu::host {

class TreeReader {
public:
    explicit TreeReader(std::vector<Diagnostic>& problems) : problems_(problems) {}

    void report(const Place& place, std::string_view code, std::string message, std::string hint = {});

    /// Calls `take` with each entry of a map whose key is known and works: EGPU-S011 (no map), S012 (unknown key),
    /// S017 (not in this version), S010 (a required key is missing).
    void entries(
        const TreeNode& node, const KeyGroup& group,
        const std::function<void(std::string_view key, const TreeNode& key_node, const TreeNode& value)>& take);
    /// The same where every key is the user's own word.
    void free_entries(const TreeNode& node, const std::function<void(const Text& key, const TreeNode& value)>& take);

    std::optional<Text> text(const TreeNode& node, std::string_view what);
    std::optional<std::vector<Text>> texts(const TreeNode& node, std::string_view what);
    std::optional<Placed<bool>> flag(const TreeNode& node);
    std::optional<Placed<std::uint64_t>> whole(const TreeNode& node, std::uint64_t least, std::uint64_t most);
    std::optional<Placed<std::uint32_t>> share(const TreeNode& node);
    std::optional<Placed<Quantity>> quantity(const TreeNode& node, Dimension dimension);
    /// One of a few words; EGPU-S014 for any other, S017 for those that a later version has.
    std::optional<Text> word(const TreeNode& node, const std::vector<std::string>& known,
                             const std::vector<std::string>& later);
    /// Items of a list, EGPU-S011 where it is none.
    bool is_list(const TreeNode& node, std::string_view of_what);

private:
    void wrong_type(const TreeNode& node, std::string_view wanted, std::string hint = {});
    std::vector<Diagnostic>& problems_;
};

}  // namespace egpu::host
