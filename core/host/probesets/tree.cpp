// SPDX-License-Identifier: Apache-2.0
#include "host/probesets/tree.hpp"

#include <algorithm>
#include <cctype>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

namespace egpu::host {
namespace {

/// A file whose every line is an unquoted pattern has enough of them named.
constexpr int kMostRepairs = 20;

struct TooDeep {};

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const auto end = text.find('\n');
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        lines.emplace_back(line);
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return lines;
}

/// The first byte that belongs to no UTF-8 sequence; npos where there is none. Overlong forms and surrogates count.
std::size_t not_utf8(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const auto first = static_cast<unsigned char>(text[at]);
        const std::size_t more = first < 0x80             ? 0
                                 : (first & 0xe0) == 0xc0 ? 1
                                 : (first & 0xf0) == 0xe0 ? 2
                                 : (first & 0xf8) == 0xf0 ? 3
                                                          : 4;
        if (more == 4 || at + more >= text.size() + (more == 0 ? 1 : 0))
            return at;
        char32_t value = more == 0 ? first : first & (0x3fU >> more);
        for (std::size_t i = 1; i <= more; ++i) {
            const auto next = static_cast<unsigned char>(text[at + i]);
            if ((next & 0xc0) != 0x80)
                return at;
            value = value << 6 | (next & 0x3fU);
        }
        constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
        if (value < kLeast[more] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
            return at;
        at += more + 1;
    }
    return std::string_view::npos;
}

/// Where a YAML mark points, in characters.
Place place_of(const std::shared_ptr<const SourceText>& source, const YAML::Mark& mark, std::uint32_t length = 1) {
    Place place{source, static_cast<std::uint32_t>(std::max(mark.line, 0)) + 1,
                static_cast<std::uint32_t>(std::max(mark.column, 0)) + 1, length};
    const auto& lines = source->lines;
    // The end of a file stands behind its last line.
    if (place.line > lines.size()) {
        place.line = static_cast<std::uint32_t>(std::max<std::size_t>(lines.size(), 1));
        place.column = lines.empty() ? 1 : characters(lines.back()) + 1;
        return place;
    }
    place.column = source->characters_before(place.line - 1, place.column - 1) + 1;
    return place;
}

std::string_view rest_at(const std::shared_ptr<const SourceText>& source, const YAML::Mark& mark) {
    const auto line = static_cast<std::size_t>(std::max(mark.line, 0));
    if (line >= source->lines.size())
        return {};
    const std::string_view text = source->lines[line];
    return text.substr(std::min<std::size_t>(text.size(), static_cast<std::size_t>(std::max(mark.column, 0))));
}

/// How much of a line a scalar takes that begins there.
std::uint32_t scalar_length(std::string_view rest, std::string_view value, bool plain) {
    if (plain)
        return std::max(characters(value.substr(0, std::min(value.size(), rest.size()))), 1U);
    const char quote = rest.empty() ? ' ' : rest.front();
    if (quote != '"' && quote != '\'')
        return 1;  // a block: its header
    for (std::size_t at = 1; at < rest.size(); ++at) {
        if (quote == '"' && rest[at] == '\\')
            ++at;
        else if (rest[at] == quote)
            return characters(rest.substr(0, at + 1));
    }
    return characters(rest);
}

class Builder : public YAML::EventHandler {
public:
    explicit Builder(Tree& tree) : tree_(tree) {}

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (documents_++ == 1)
            report(mark, 1, "EGPU-S008", "a second document begins here: a file holds one probe set",
                   "put it in a file of its own");
    }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
        check_properties(mark, "");
        TreeNode node;
        node.place = place_of(tree_.source, mark);
        add(std::move(node));
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        report(mark, word_length(mark), "EGPU-S004", "a probe set takes no references to anchors",
               "write the value out; a pattern that starts with '*' is quoted");
        OnNull(mark, 0);
    }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& value) override {
        check_properties(mark, tag);
        TreeNode node;
        node.kind = TreeNode::Kind::scalar;
        node.text = value;
        node.plain = tag == "?";
        node.place = place_of(tree_.source, mark);
        node.place.length = scalar_length(rest_at(tree_.source, mark), value, node.plain);
        add(std::move(node));
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                         YAML::EmitterStyle::value) override {
        begin(mark, tag, TreeNode::Kind::list);
    }
    void OnSequenceEnd() override { end(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                    YAML::EmitterStyle::value) override {
        begin(mark, tag, TreeNode::Kind::map);
    }
    void OnMapEnd() override { end(); }

private:
    struct Open {
        TreeNode node;
        std::optional<TreeNode> key;  ///< of a map: whose value comes next
        std::map<std::string, std::uint32_t> lines;
    };

    void report(const YAML::Mark& mark, std::uint32_t length, const char* code, std::string message, std::string hint) {
        const Place place = place_of(tree_.source, mark, length);
        if (reported_.emplace(code, place.line, place.column).second)
            tree_.problems.push_back(problem_at(place, code, std::move(message), std::move(hint)));
    }

    std::uint32_t word_length(const YAML::Mark& mark) const {
        const std::string_view rest = rest_at(tree_.source, mark);
        return std::max(characters(rest.substr(0, rest.find_first_of(" \t,]}"))), 1U);
    }

    void check_properties(const YAML::Mark& mark, const std::string& tag) {
        const std::string_view rest = rest_at(tree_.source, mark);
        if (rest.starts_with('&'))
            report(mark, word_length(mark), "EGPU-S004", "a probe set takes no anchors",
                   "write the value where it is needed; text that starts with '&' is quoted");
        else if (rest.starts_with('!') || (!tag.empty() && tag != "?" && tag != "!"))
            report(mark, word_length(mark), "EGPU-S005", "a probe set takes no YAML tags",
                   "leave it out; text that starts with '!' is quoted");
    }

    void begin(const YAML::Mark& mark, const std::string& tag, TreeNode::Kind kind) {
        if (open_.size() >= kDeepestNesting) {
            report(mark, 1, "EGPU-S007", fmt::format("nested more than {} deep", kDeepestNesting),
                   "the deepest key of a probe set lies 5 deep");
            throw TooDeep{};
        }
        check_properties(mark, tag);
        Open open;
        open.node.kind = kind;
        open.node.place = place_of(tree_.source, mark);
        open_.push_back(std::move(open));
    }

    void end() {
        TreeNode node = std::move(open_.back().node);
        open_.pop_back();
        // A block has no mark of its own but its first key's.
        if (node.kind == TreeNode::Kind::map && !node.keys.empty() && node.keys[0].place.line == node.place.line &&
            node.keys[0].place.column == node.place.column)
            node.place.length = node.keys[0].place.length;
        add(std::move(node));
    }

    void add(TreeNode node) {
        if (open_.empty()) {
            if (documents_ <= 1)
                tree_.root = std::move(node);
            return;
        }
        Open& parent = open_.back();
        if (parent.node.kind == TreeNode::Kind::list) {
            parent.node.values.push_back(std::move(node));
        } else if (!parent.key) {
            parent.key = std::move(node);
        } else {
            add_entry(parent, std::move(*parent.key), std::move(node));
            parent.key.reset();
        }
    }

    void add_entry(Open& parent, TreeNode key, TreeNode value) {
        if (key.kind != TreeNode::Kind::scalar) {
            tree_.problems.push_back(problem_at(key.place, "EGPU-S011", "a key is a word, not a list or a map"));
            return;
        }
        const auto [first, is_new] = parent.lines.emplace(key.text, key.place.line);
        if (!is_new) {
            tree_.problems.push_back(problem_at(key.place, "EGPU-S006", fmt::format("'{}' stands here twice", key.text),
                                                fmt::format("it stands in line {} already", first->second)));
            return;
        }
        parent.node.keys.push_back(std::move(key));
        parent.node.values.push_back(std::move(value));
    }

    Tree& tree_;
    std::vector<Open> open_;
    std::set<std::tuple<std::string_view, std::uint32_t, std::uint32_t>> reported_;  // code, line, column
    int documents_ = 0;
};

/// A place at which YAML sees a reference where a person meant a pattern; nullopt where it is something else.
std::optional<YAML::Mark> bare_star(const Tree& tree, YAML::Mark mark) {
    const std::string_view at = rest_at(tree.source, mark);
    if (!at.starts_with('*')) {
        // Behind the star: "* " and the like.
        if (mark.column == 0)
            return std::nullopt;
        --mark.column;
        --mark.pos;
        if (!rest_at(tree.source, mark).starts_with('*'))
            return std::nullopt;
    }
    const std::string_view line = tree.source->lines[static_cast<std::size_t>(mark.line)];
    const std::size_t column = static_cast<std::size_t>(mark.column);
    if (column != 0 && std::string_view(" \t[,{").find(line[column - 1]) == std::string_view::npos)
        return std::nullopt;
    return mark;
}

Diagnostic unquoted_pattern(const Tree& tree, const YAML::Mark& mark) {
    const std::string_view rest = rest_at(tree.source, mark);
    const std::string_view pattern = rest.substr(0, rest.find_first_of(" \t,]}"));
    std::string_view before = std::string_view(tree.source->lines[static_cast<std::size_t>(mark.line)])
                                  .substr(0, static_cast<std::size_t>(mark.column));
    while (!before.empty() && std::isspace(static_cast<unsigned char>(before.back())) != 0)
        before.remove_suffix(1);
    // "kernels: *gemm*" is written as a list.
    std::string key;
    if (before.ends_with(':')) {
        before.remove_suffix(1);
        key = std::string(before.substr(before.find_last_of(" \t{,-") + 1));
    }
    const bool takes_list = key == "kernels" || key == "include" || key == "exclude" || key == "programs";
    const std::string fixed = takes_list ? fmt::format("{}: [\"{}\"]", key, pattern) : fmt::format("\"{}\"", pattern);
    return problem_at(place_of(tree.source, mark, characters(pattern)), "EGPU-S003",
                      "a pattern that starts with '*' must be quoted",
                      fmt::format("write {}; to YAML a bare * is a reference to an anchor.", fixed));
}

Diagnostic not_yaml(const Tree& tree, const YAML::ParserException& failure) {
    const Place place = place_of(tree.source, failure.mark);
    const std::string_view line =
        place.line <= tree.source->lines.size() ? std::string_view(tree.source->lines[place.line - 1]) : "";
    const auto indent = line.substr(0, line.find_first_not_of(" \t"));
    std::string hint = "text with a colon, a '#', a bracket or a quote in it is put in quotes";
    if (indent.find('\t') != std::string_view::npos)
        hint = "YAML is indented with blanks, never with tabs";
    return problem_at(place, "EGPU-S002", fmt::format("not YAML: {}", failure.msg), hint);
}

/// One pass. A bare pattern stops yaml-cpp: it is named, written over with as many letters in `text`, and true is
/// returned, so that a next pass finds what lies behind it.
bool parse_pass(std::string& text, Tree& tree, std::vector<Diagnostic>& patterns) {
    tree.root = {};
    tree.problems.clear();
    try {
        std::istringstream stream(text);
        YAML::Parser parser(stream);
        Builder builder(tree);
        while (parser.HandleNextDocument(builder)) {
        }
    } catch (const YAML::ParserException& failure) {
        const auto star = bare_star(tree, failure.mark);
        if (star && static_cast<int>(patterns.size()) < kMostRepairs) {
            const auto at = static_cast<std::size_t>(star->pos);
            patterns.push_back(unquoted_pattern(tree, *star));
            if (at < text.size() && text[at] == '*') {
                text[at] = 'x';
                return true;
            }
        } else {
            tree.problems.push_back(not_yaml(tree, failure));
        }
    } catch (const TooDeep&) {
        tree.root = {};
    }
    return false;
}

}  // namespace

Tree parse_tree(std::string_view text, const std::string& file) {
    Tree tree;
    auto source = std::make_shared<SourceText>();
    source->file = file;
    tree.source = source;
    if (text.size() > kLargestSet) {
        tree.problems.push_back(
            problem_at({source, 0, 0, 0}, "EGPU-S001",
                       fmt::format("has {} bytes, more than the 1 MiB that a probe set may have", text.size())));
        return tree;
    }
    if (text.starts_with("\xef\xbb\xbf"))
        text.remove_prefix(3);
    const std::size_t stray = std::min(not_utf8(text), text.find('\0'));
    if (stray != std::string_view::npos) {
        const auto line = static_cast<std::uint32_t>(
                              std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(stray), '\n')) +
                          1;
        tree.problems.push_back(problem_at({source, line, 0, 0}, "EGPU-S001", "is not UTF-8 text",
                                           "save it as UTF-8; a probe set is YAML text"));
        return tree;
    }
    source->lines = lines_of(text);
    source->index_long_lines();
    std::string repaired(text);
    std::vector<Diagnostic> patterns;
    try {
        while (parse_pass(repaired, tree, patterns)) {
        }
    } catch (const std::exception& failure) {
        tree.problems.push_back(
            problem_at({source, 0, 0, 0}, "EGPU-S002", fmt::format("not YAML: {}", failure.what())));
    }
    const bool whole = tree.problems.empty() && patterns.empty();
    tree.problems.insert(tree.problems.end(), patterns.begin(), patterns.end());
    if (whole && tree.root.kind == TreeNode::Kind::null)
        tree.problems.push_back(problem_at({source, 0, 0, 0}, "EGPU-S009", "holds no probe set",
                                           "the smallest one: egpu: 1, name: NAME, probes: [{plugin: bandwidth}]"));
    return tree;
}

}  // namespace egpu::host
