// SPDX-License-Identifier: Apache-2.0
#include "host/probesets/entries.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/patterns.hpp"
#include "host/probesets/version_range.hpp"

namespace egpu::host {
namespace {

constexpr std::uint64_t kMostLaunches = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kLongestName = 40;

std::vector<Text> read_patterns(TreeReader& reader, const TreeNode& node) {
    auto patterns = reader.texts(node, "patterns").value_or(std::vector<Text>{});
    for (const auto& pattern : patterns)
        if (const auto fine = check_kernel_pattern(pattern.value); !fine)
            reader.report(pattern.place, "EGPU-S026",
                          fmt::format("pattern '{}' {}", pattern.value, fine.error().message),
                          fine.error().hints.front());
    return patterns;
}

/// Letters, digits and . _ -: a name that stands in file names, metrics and map names.
bool is_probe_name(const std::string& name) {
    const auto fine = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    };
    return !name.empty() && name.size() <= kLongestName && std::all_of(name.begin(), name.end(), fine);
}

void read_options(TreeReader& reader, const TreeNode& node, ProbeEntry& probe) {
    reader.free_entries(node, [&](const Text& key, const TreeNode& value) {
        if (auto text = reader.text(value, "a number, true or false"))
            probe.options.emplace_back(key, std::move(*text));
    });
}

void read_sample(TreeReader& reader, const TreeNode& node, ProbeEntry& probe) {
    reader.entries(node, sample_keys(), [&](std::string_view key, const TreeNode& key_node, const TreeNode& value) {
        const auto share = reader.share(value);
        if (key == "launches")
            probe.sample_launches = share;
        else if (probe.sampling)
            reader.report(key_node.place, "EGPU-S014",
                          fmt::format("a sample is of blocks or of warps; '{}' is one too many", key),
                          "sample warps: one in N of all that run");
        else if (share)
            probe.sampling = {{key == "blocks" ? Sampling::Unit::blocks : Sampling::Unit::warps, share->value},
                              share->place};
    });
}

void take_source(TreeReader& reader, std::string_view key, const TreeNode& key_node, const TreeNode& value,
                 ProbeEntry& probe, int& sources) {
    using Kind = ProbeEntry::Kind;
    auto text = reader.text(value, key == "code" ? "the text of a program" : "a name");
    if (++sources > 1)
        reader.report(key_node.place, "EGPU-S014",
                      fmt::format("a probe has one of plugin, object, source and code; '{}' is one too many", key),
                      "make it an entry of its own in the list");
    if (!text || sources > 1)
        return;
    probe.kind = key == "plugin"   ? Kind::plugin
                 : key == "object" ? Kind::object
                 : key == "source" ? Kind::source
                                   : Kind::code;
    const std::string_view ending = key == "object" ? ".bpf.o" : key == "source" ? ".bpf.c" : "";
    if (!text->value.ends_with(ending))
        reader.report(value.place, "EGPU-S014", fmt::format("'{}' does not end in {}", text->value, ending),
                      key == "object" ? "source: takes a .bpf.c file, plugin: a name"
                                      : "object: takes a .bpf.o file, plugin: a name");
    if (key == "plugin" && text->value.find('/') != std::string::npos)
        reader.report(value.place, "EGPU-S014",
                      fmt::format("'{}' is a file's name: plugin: takes a plugin's", text->value),
                      "source: takes a .bpf.c file, object: a .bpf.o file");
    probe.what = std::move(*text);
}

void take_probe_key(TreeReader& reader, std::string_view key, const TreeNode& value, ProbeEntry& probe) {
    if (key == "name") {
        probe.name = reader.text(value, "a name");
        if (probe.name && !is_probe_name(probe.name->value))
            reader.report(value.place, "EGPU-S014", fmt::format("'{}' can't be a probe's name", probe.name->value),
                          fmt::format("letters, digits, '-' and '_', at most {}", kLongestName));
    } else if (key == "version") {
        probe.version = reader.text(value, "a range of versions");
        if (!probe.version)
            return;
        if (const auto range = parse_version_range(probe.version->value); !range)
            reader.report(value.place, "EGPU-S016", range.error().message, range.error().hints.front());
    } else if (key == "programs") {
        probe.programs = reader.texts(value, "programs");
        if (probe.programs && value.values.empty())
            reader.report(value.place, "EGPU-S014", "no program is named", "leave 'programs' out for all of them");
    } else if (key == "options") {
        read_options(reader, value, probe);
    } else if (key == "kernels") {
        probe.kernels = read_kernels(reader, value);
    } else if (key == "sample") {
        read_sample(reader, value, probe);
    }
}

Diagnostic without_bound(const TreeNode& node, int bounds) {
    return problem_at(node.place, "EGPU-S030",
                      bounds == 0 ? "an expectation needs one of at_least, at_most and equals"
                                  : "an expectation has one of at_least, at_most and equals, this has several",
                      bounds == 0 ? "as in: at_least: 1.2 TB/s" : "write one expectation for each");
}

/// The number and its unit; which unit is right the metric says.
void read_bound(TreeReader& reader, std::string_view key, const TreeNode& value, Expectation& expectation) {
    expectation.bound = key == "at_least" ? Bound::at_least : key == "at_most" ? Bound::at_most : Bound::equals;
    const auto text = reader.text(value, "a number with its unit");
    if (!text)
        return;
    const auto dimension = dimension_of(text->value);
    if (!dimension) {
        reader.report(value.place, "EGPU-S013", fmt::format("'{}': {}", text->value, dimension.error().message),
                      dimension.error().hints.front());
        return;
    }
    expectation.dimension = *dimension;
    if (auto quantity = reader.quantity(value, *dimension))
        expectation.value = std::move(*quantity);
}

}  // namespace

const char* to_name(Bound bound) {
    return bound == Bound::at_least ? "at_least" : bound == Bound::at_most ? "at_most" : "equals";
}

const char* to_words(Bound bound) {
    return bound == Bound::at_least ? "at least" : bound == Bound::at_most ? "at most" : "exactly";
}

KernelPatterns read_kernels(TreeReader& reader, const TreeNode& node) {
    KernelPatterns kernels;
    if (node.kind == TreeNode::Kind::list || node.kind == TreeNode::Kind::scalar) {
        kernels.include = read_patterns(reader, node);
        return kernels;
    }
    reader.entries(node, kernels_keys(), [&](std::string_view key, const TreeNode&, const TreeNode& value) {
        (key == "include" ? kernels.include : kernels.exclude) = read_patterns(reader, value);
    });
    return kernels;
}

Placed<LaunchWindow> read_launches(TreeReader& reader, const TreeNode& node) {
    Placed<LaunchWindow> launches{{}, node.place};
    reader.entries(node, launches_keys(), [&](std::string_view key, const TreeNode&, const TreeNode& value) {
        const auto number = reader.whole(value, key == "count" ? 1 : 0, kMostLaunches);
        if (!number)
            return;
        if (key == "skip")
            launches.value.skip = number->value;
        else
            launches.value.count = number->value;
    });
    return launches;
}

ProbeEntry read_probe(TreeReader& reader, const TreeNode& node) {
    ProbeEntry probe;
    probe.place = node.place;
    int sources = 0;
    reader.entries(node, probe_keys(), [&](std::string_view key, const TreeNode& key_node, const TreeNode& value) {
        if (key == "plugin" || key == "object" || key == "source" || key == "code")
            take_source(reader, key, key_node, value, probe, sources);
        else
            take_probe_key(reader, key, value, probe);
    });
    if (node.kind != TreeNode::Kind::map)
        return probe;
    if (sources == 0)
        reader.report(node.place, "EGPU-S010", "a probe needs one of plugin, object, source and code",
                      "as in: - plugin: bandwidth");
    if (probe.kind == ProbeEntry::Kind::code && sources != 0 && !probe.name)
        reader.report(node.place, "EGPU-S010", "a probe with code needs a name", "as in: name: partial-warps");
    if (probe.version && probe.kind != ProbeEntry::Kind::plugin)
        reader.report(probe.version->place, "EGPU-S014", "only a plugin has a version", "leave 'version' out");
    return probe;
}

MapEntry read_map(TreeReader& reader, const Text& name, const TreeNode& node) {
    MapEntry map;
    map.name = name;
    const auto slash = name.value.find('/');
    if (slash == std::string::npos || slash == 0 || slash + 1 == name.value.size())
        reader.report(name.place, "EGPU-S014", fmt::format("'{}' is no name of a map", name.value),
                      "write PROBE/MAP, as in bandwidth/traffic");
    reader.entries(node, map_keys(), [&](std::string_view key, const TreeNode&, const TreeNode& value) {
        if (key == "placement") {
            reader.word(value, {"device"}, {"mapped", "linux"});
            return;
        }
        if (const auto number = reader.whole(value, 1, std::numeric_limits<std::uint32_t>::max()))
            map.max_entries = Placed<std::uint32_t>{static_cast<std::uint32_t>(number->value), number->place};
    });
    return map;
}

Expectation read_expectation(TreeReader& reader, const TreeNode& node) {
    Expectation expectation;
    int bounds = 0;
    reader.entries(node, expectation_keys(), [&](std::string_view key, const TreeNode&, const TreeNode& value) {
        if (key == "metric") {
            if (auto metric = reader.text(value, "a metric's name"))
                expectation.metric = std::move(*metric);
        } else if (key == "where") {
            reader.free_entries(value, [&](const Text& label, const TreeNode& wanted) {
                if (auto text = reader.text(wanted, "a label's value"))
                    expectation.where.emplace_back(label, std::move(*text));
            });
        } else {
            ++bounds;
            read_bound(reader, key, value, expectation);
        }
    });
    if (node.kind == TreeNode::Kind::map && bounds != 1) {
        const auto problem = without_bound(node, bounds);
        reader.report(node.place, problem.code, problem.message, problem.hints.front());
    }
    return expectation;
}

}  // namespace egpu::host
