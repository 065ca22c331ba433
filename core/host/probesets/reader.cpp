// SPDX-License-Identifier: Apache-2.0
#include "host/probesets/reader.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"

namespace egpu::host {
namespace {

std::string_view kind_name(const TreeNode& node) {
    switch (node.kind) {
        case TreeNode::Kind::null:
            return "nothing";
        case TreeNode::Kind::list:
            return "a list";
        case TreeNode::Kind::map:
            return "a map";
        case TreeNode::Kind::scalar:
            break;
    }
    return "a text";
}

/// Errors quote a value; a whole page of code is none.
std::string shortened(const std::string& text) {
    constexpr std::size_t kMost = 60;
    const auto end = std::min(text.find('\n'), kMost);
    return text.size() <= end ? text : text.substr(0, end) + "...";
}

}  // namespace

void TreeReader::report(const Place& place, std::string_view code, std::string message, std::string hint) {
    problems_.push_back(problem_at(place, code, std::move(message), std::move(hint)));
}

void TreeReader::wrong_type(const TreeNode& node, std::string_view wanted, std::string hint) {
    report(node.place, "EGPU-S011", fmt::format("{} is needed here, this is {}", wanted, kind_name(node)),
           std::move(hint));
}

void TreeReader::entries(const TreeNode& node, const KeyGroup& group,
                         const std::function<void(std::string_view, const TreeNode&, const TreeNode&)>& take) {
    if (node.kind != TreeNode::Kind::map) {
        wrong_type(node, "a map", fmt::format("{} has: {}", group.what, fmt::join(group.names(), ", ")));
        return;
    }
    for (std::size_t i = 0; i < node.keys.size(); ++i) {
        const TreeNode& key_node = node.keys[i];
        const Key* key = group.find(key_node.text);
        if (key == nullptr) {
            const auto names = group.names();
            const std::string near = nearest(key_node.text, names);
            report(key_node.place, "EGPU-S012", fmt::format("unknown key '{}'", shortened(key_node.text)),
                   fmt::format("{}{} has: {}.", near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                               group.what, fmt::join(names, ", ")));
        } else if (!key->missing.empty()) {
            report(key_node.place, "EGPU-S017", fmt::format("key '{}' is not in this version", key->name),
                   fmt::format("leave it out: {}", key->missing));
        } else {
            take(key->name, key_node, node.values[i]);
        }
    }
    for (const auto required : group.required)
        if (std::none_of(node.keys.begin(), node.keys.end(), [&](const auto& key) { return key.text == required; }))
            report(node.place, "EGPU-S010", fmt::format("key '{}' is missing", required),
                   fmt::format("{} needs it: {}", group.what, group.find(required)->help));
}

void TreeReader::free_entries(const TreeNode& node, const std::function<void(const Text&, const TreeNode&)>& take) {
    if (node.kind != TreeNode::Kind::map) {
        wrong_type(node, "a map");
        return;
    }
    for (std::size_t i = 0; i < node.keys.size(); ++i)
        take(Text{node.keys[i].text, node.keys[i].place}, node.values[i]);
}

std::optional<Text> TreeReader::text(const TreeNode& node, std::string_view what) {
    if (node.kind != TreeNode::Kind::scalar) {
        wrong_type(node, what);
        return std::nullopt;
    }
    if (node.text.empty()) {
        report(node.place, "EGPU-S014", fmt::format("{} is needed here, this is empty", what));
        return std::nullopt;
    }
    return Text{node.text, node.place};
}

bool TreeReader::is_list(const TreeNode& node, std::string_view of_what) {
    if (node.kind == TreeNode::Kind::list)
        return true;
    const bool one = node.kind == TreeNode::Kind::scalar && node.text.size() < 40;
    wrong_type(node, fmt::format("a list of {}", of_what), one ? fmt::format("write [\"{}\"]", node.text) : "");
    return false;
}

std::optional<std::vector<Text>> TreeReader::texts(const TreeNode& node, std::string_view what) {
    if (!is_list(node, what))
        return std::nullopt;
    std::vector<Text> all;
    for (const auto& item : node.values)
        if (auto one = text(item, "a text"))
            all.push_back(std::move(*one));
    return all;
}

std::optional<Placed<bool>> TreeReader::flag(const TreeNode& node) {
    if (node.kind == TreeNode::Kind::scalar && node.plain && (node.text == "true" || node.text == "false"))
        return Placed<bool>{node.text == "true", node.place};
    report(node.place, "EGPU-S011", "true or false is needed here");
    return std::nullopt;
}

std::optional<Placed<std::uint64_t>> TreeReader::whole(const TreeNode& node, std::uint64_t least, std::uint64_t most) {
    if (node.kind != TreeNode::Kind::scalar) {
        wrong_type(node, "a whole number");
        return std::nullopt;
    }
    const auto value = parse_whole(node.text);
    if (!value) {
        report(node.place, "EGPU-S011", fmt::format("'{}' {}", shortened(node.text), value.error().message),
               value.error().hints.front());
        return std::nullopt;
    }
    if (*value < least || *value > most) {
        report(node.place, "EGPU-S014", fmt::format("{} is outside {} to {}", *value, least, most));
        return std::nullopt;
    }
    return Placed<std::uint64_t>{*value, node.place};
}

std::optional<Placed<std::uint32_t>> TreeReader::share(const TreeNode& node) {
    const auto value =
        node.kind == TreeNode::Kind::scalar ? parse_share(node.text) : Result<std::uint32_t>(error("", "is not '1/N'"));
    if (value)
        return Placed<std::uint32_t>{*value, node.place};
    report(node.place, "EGPU-S013", fmt::format("'{}' {}", shortened(node.text), value.error().message),
           "write it as 1/64: one in 64");
    return std::nullopt;
}

std::optional<Placed<Quantity>> TreeReader::quantity(const TreeNode& node, Dimension dimension) {
    if (node.kind != TreeNode::Kind::scalar) {
        wrong_type(node, "a quantity with its unit");
        return std::nullopt;
    }
    const auto value = parse_quantity(node.text, dimension);
    if (value)
        return Placed<Quantity>{*value, node.place};
    report(node.place, "EGPU-S013", fmt::format("'{}': {}", shortened(node.text), value.error().message),
           value.error().hints.front());
    return std::nullopt;
}

std::optional<Text> TreeReader::word(const TreeNode& node, const std::vector<std::string>& known,
                                     const std::vector<std::string>& later) {
    auto value = text(node, fmt::format("{}", fmt::join(known, " or ")));
    if (!value || std::find(known.begin(), known.end(), value->value) != known.end())
        return value;
    if (std::find(later.begin(), later.end(), value->value) != later.end()) {
        report(node.place, "EGPU-S017", fmt::format("'{}' is not in this version", value->value),
               fmt::format("it has: {}", fmt::join(known, ", ")));
        return std::nullopt;
    }
    const std::string near = nearest(value->value, known);
    report(node.place, "EGPU-S014", fmt::format("'{}' is no value of this key", shortened(value->value)),
           fmt::format("{}it takes: {}", near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                       fmt::join(known, ", ")));
    return std::nullopt;
}

}  // namespace egpu::host
