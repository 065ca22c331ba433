// SPDX-License-Identifier: Apache-2.0
#include "host/probesets/load.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"
#include "host/probesets/entries.hpp"
#include "host/probesets/merge.hpp"

namespace egpu::host {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 64;
constexpr std::string_view kSuffix = ".yaml";
constexpr Quantity kLongestWait = 3600e9L;  // the segment keeps milliseconds in 32 bits

/// What a file says itself.
struct OwnPart {
    ProbeSet set;
    std::vector<Text> include;
};

class Loader {
public:
    explicit Loader(const SetFiles& files) : files_(files) {}

    ProbeSet load(const std::string& path, const std::string& text);
    std::vector<Diagnostic>& problems() { return problems_; }

private:
    OwnPart read(const std::string& path, const std::string& text);
    void take(std::string_view key, const TreeNode& value, OwnPart& part);
    void take_run_key(std::string_view key, const TreeNode& value, ProbeSet& set);
    void check_name(const TreeNode& root, const OwnPart& part);
    void read_output(const TreeNode& node, ProbeSet& set);
    std::string find(const Text& what, const std::string& from);
    void include(const Text& what, const std::string& from, ProbeSet& base);

    const SetFiles& files_;
    std::vector<Diagnostic> problems_;
    TreeReader reader_{problems_};
    std::vector<std::string> under_way_;  ///< files, each included by the one before
    std::set<std::string> done_;          ///< files that are laid in: each once, whoever includes it
};

std::string normal(const std::string& path) {
    return fs::path(path).lexically_normal().string();
}

/// A place that YAML itself is wrong at: what else is said of it follows from that.
bool of_yaml(const Diagnostic& problem) {
    return problem.code >= "EGPU-S003" && problem.code <= "EGPU-S005";
}

/// Problems of one file by their place.
void in_order(std::vector<Diagnostic>::iterator first, std::vector<Diagnostic>& problems) {
    const auto place = [](const Diagnostic& problem) { return std::pair(problem.where.line, problem.where.column); };
    std::stable_sort(first, problems.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
    problems.erase(std::unique(first, problems.end(),
                               [&](const auto& a, const auto& b) { return of_yaml(a) && place(a) == place(b); }),
                   problems.end());
}

/// As file names of a run are expanded: %p, %h, %n, %q{VAR}, %%.
bool placeholders_are_known(std::string_view name) {
    for (auto at = name.find('%'); at != std::string_view::npos; at = name.find('%', 1)) {
        name.remove_prefix(at + 1);
        const bool variable = name.starts_with("q{") && name.find('}') != std::string_view::npos;
        if (!variable && (name.empty() || std::string_view("phn%").find(name.front()) == std::string_view::npos))
            return false;
    }
    return true;
}

ProbeSet Loader::load(const std::string& path, const std::string& text) {
    under_way_.push_back(normal(path));
    done_.insert(normal(path));
    OwnPart part = read(path, text);
    ProbeSet whole;
    for (const auto& what : part.include)
        include(what, path, whole);
    lay_over(whole, std::move(part.set), problems_);
    under_way_.pop_back();
    return whole;
}

OwnPart Loader::read(const std::string& path, const std::string& text) {
    OwnPart part;
    part.set.file = path;
    const auto first = static_cast<std::ptrdiff_t>(problems_.size());
    Tree tree = parse_tree(text, path);
    problems_.insert(problems_.end(), tree.problems.begin(), tree.problems.end());
    if (tree.root.kind == TreeNode::Kind::null)
        return part;
    reader_.entries(tree.root, set_keys(),
                    [&](std::string_view key, const TreeNode&, const TreeNode& value) { take(key, value, part); });
    if (tree.root.kind == TreeNode::Kind::map)
        check_name(tree.root, part);
    in_order(problems_.begin() + first, problems_);
    return part;
}

void Loader::check_name(const TreeNode& root, const OwnPart& part) {
    const std::string file = fs::path(part.set.file).filename().string();
    const std::string stem = file.ends_with(kSuffix) ? file.substr(0, file.size() - kSuffix.size()) : file;
    const auto key =
        std::find_if(root.keys.begin(), root.keys.end(), [](const auto& each) { return each.text == "name"; });
    if (key != root.keys.end() && !part.set.name.empty() && part.set.name != stem)
        reader_.report(root.values[static_cast<std::size_t>(key - root.keys.begin())].place, "EGPU-S015",
                       fmt::format("the set is named '{}', its file {}", part.set.name, file),
                       fmt::format("write name: {}, or rename the file to {}.yaml", stem, part.set.name));
    const bool has_probes = std::any_of(root.keys.begin(), root.keys.end(), [](const auto& each) {
        return each.text == "probes" || each.text == "include";
    });
    if (!has_probes)
        reader_.report(root.place, "EGPU-S010", "key 'probes' is missing",
                       "a probe set has probes, or includes a set that has");
}

void Loader::take(std::string_view key, const TreeNode& value, OwnPart& part) {
    ProbeSet& set = part.set;
    if (key == "egpu") {
        if (const auto version = reader_.whole(value, 0, std::numeric_limits<std::uint32_t>::max());
            version && version->value != 1)
            reader_.report(value.place, "EGPU-S014",
                           fmt::format("this egpu reads version 1 of the format, not {}", version->value),
                           "a newer egpu may read it");
    } else if (key == "name") {
        if (auto name = reader_.text(value, "a name"))
            set.name = std::move(name->value);
    } else if (key == "description") {
        if (auto text = reader_.text(value, "a text"))
            set.description = std::move(text->value);
    } else if (key == "include") {
        part.include = reader_.texts(value, "sets").value_or(std::vector<Text>{});
    } else if (key == "probes") {
        if (reader_.is_list(value, "probes"))
            for (const auto& item : value.values) {
                const std::size_t before = problems_.size();
                set.probes.push_back(read_probe(reader_, item));
                set.probes.back().broken = problems_.size() != before;
            }
        if (value.kind == TreeNode::Kind::list && value.values.empty())
            reader_.report(value.place, "EGPU-S010", "the list of probes is empty", "as in: - plugin: bandwidth");
    } else if (key == "maps") {
        reader_.free_entries(value, [&](const Text& name, const TreeNode& map) {
            const std::size_t before = problems_.size();
            set.maps.push_back(read_map(reader_, name, map));
            set.maps.back().broken = problems_.size() != before;
        });
    } else if (key == "expect") {
        if (reader_.is_list(value, "expectations"))
            for (const auto& item : value.values) {
                const std::size_t before = problems_.size();
                set.expectations.push_back(read_expectation(reader_, item));
                set.expectations.back().broken = problems_.size() != before;
                set.expectations.back().set = fs::path(set.file).stem().string();
            }
    } else {
        take_run_key(key, value, set);
    }
}

void Loader::take_run_key(std::string_view key, const TreeNode& value, ProbeSet& set) {
    if (key == "kernels") {
        set.kernels.push_back(read_kernels(reader_, value));
    } else if (key == "processes") {
        reader_.word(value, {"first"}, {"all"});
    } else if (key == "launches") {
        set.launches = read_launches(reader_, value);
    } else if (key == "backend") {
        if (reader_.is_list(value, "backends"))
            for (const auto& item : value.values)
                reader_.word(item, {"ptx"}, {"sass"});
    } else if (key == "wait") {
        if (const auto wait = reader_.quantity(value, Dimension::duration)) {
            set.wait_ns = {static_cast<std::uint64_t>(wait->value), wait->place};
            if (wait->value > kLongestWait)
                reader_.report(wait->place, "EGPU-S014", "a wait of more than an hour", "egpu waits 60 min at most");
        }
    } else if (key == "gpu_memory") {
        if (const auto memory = reader_.quantity(value, Dimension::bytes))
            set.gpu_memory_bytes = {static_cast<std::uint64_t>(memory->value), memory->place};
    } else if (key == "strict") {
        set.strict = reader_.flag(value);
    } else if (key == "output") {
        read_output(value, set);
    }
}

void Loader::read_output(const TreeNode& node, ProbeSet& set) {
    reader_.entries(node, output_keys(), [&](std::string_view key, const TreeNode&, const TreeNode& value) {
        auto name = reader_.text(value, "the name of a file");
        if (name && !placeholders_are_known(name->value))
            reader_.report(value.place, "EGPU-S014", fmt::format("'{}': unknown placeholder", name->value),
                           "known: %p pid, %h host, %n set, %q{VAR} environment, %% a percent sign");
        (key == "summary" ? set.summary : set.record) = std::move(name);
    });
}

/// The file of an included set; "" where there is none, which is said.
std::string Loader::find(const Text& what, const std::string& from) {
    if (names_set_file(what.value))
        return (fs::path(from).parent_path() / what.value).lexically_normal().string();
    if (auto path = files_.find(what.value))
        return *path;
    const auto names = files_.names();
    const std::string near = nearest(what.value, names);
    reader_.report(what.place, "EGPU-S019", fmt::format("no probe set is named '{}'", what.value),
                   fmt::format("{}there are: {}; a file is named with its .yaml",
                               near.empty() ? "" : fmt::format("did you mean '{}'? ", near), fmt::join(names, ", ")));
    return {};
}

void Loader::include(const Text& what, const std::string& from, ProbeSet& base) {
    const std::string path = find(what, from);
    if (path.empty())
        return;
    const auto first = std::find(under_way_.begin(), under_way_.end(), normal(path));
    if (first != under_way_.end()) {
        std::vector<std::string> circle;
        for (auto each = first; each != under_way_.end(); ++each)
            circle.push_back(fs::path(*each).filename().string());
        circle.push_back(fs::path(path).filename().string());
        reader_.report(what.place, "EGPU-S018", "a set that includes itself",
                       fmt::format("the circle: {}", fmt::join(circle, " -> ")));
        return;
    }
    if (done_.contains(normal(path)))
        return;
    if (done_.size() >= kMostFiles) {
        reader_.report(what.place, "EGPU-S018", fmt::format("more than {} sets are included", kMostFiles));
        return;
    }
    const auto text = files_.read(path);
    if (!text) {
        reader_.report(what.place, "EGPU-S019",
                       fmt::format("'{}' can't be included: {}", what.value, text.error().message),
                       text.error().hints.empty() ? "a file is looked for from the folder of the set that includes it"
                                                  : text.error().hints.front());
        return;
    }
    lay_over(base, load(path, *text), problems_);
}

}  // namespace

bool names_set_file(std::string_view word) {
    return word.find('/') != std::string_view::npos || word.ends_with(kSuffix);
}

ReadSet read_probe_set(const std::string& path, const SetFiles& files) {
    const auto text = files.read(path);
    if (!text)
        return {{}, text.errors()};
    Loader loader(files);
    ReadSet read;
    read.set = loader.load(path, *text);
    read.problems = std::move(loader.problems());
    return read;
}

Result<ProbeSet> load_probe_set(const std::string& path, const SetFiles& files) {
    ReadSet read = read_probe_set(path, files);
    if (!read.problems.empty())
        return std::move(read.problems);
    return std::move(read.set);
}

}  // namespace egpu::host
