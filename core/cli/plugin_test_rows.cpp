// SPDX-License-Identifier: Apache-2.0
#include "cli/plugin_test_rows.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"

namespace egpu::cli {
namespace {

using Strings = std::vector<std::string>;

Diagnostic wrong_row(const std::string& path, const YAML::Node& node, std::string message, std::string hint = {}) {
    auto problem = error("EGPU-T007", std::move(message), std::move(hint));
    problem.where = location_of(path, node);
    return problem;
}

/// A scalar as the file may have it: quoted where YAML would read something else.
std::string yaml_scalar(const std::string& text) {
    const bool plain = !text.empty() && text.find_first_of(" :#{}[],&*!|>'\"%@`") == std::string::npos;
    return plain ? text : '"' + text + '"';
}

std::string flow(const YAML::Node& node) {
    if (node.IsScalar())
        return yaml_scalar(node.Scalar());
    Strings parts;
    if (node.IsSequence()) {
        for (const auto& each : node)
            parts.push_back(flow(each));
        return fmt::format("[{}]", fmt::join(parts, ", "));
    }
    for (const auto& each : node)
        parts.push_back(flow(each.first) + ": " + flow(each.second));
    return node.IsMap() ? fmt::format("{{ {} }}", fmt::join(parts, ", ")) : "null";
}

/// As a test names it: by its text, or its number where a made-up context named a kernel or place that is none.
std::string key_cell_flow(const host::KeyCell& cell, const host::Catalogue& catalogue) {
    const bool unknown = (cell.field->role == ebpf::Role::kernel_id && catalogue.kernel(cell.raw) == nullptr) ||
                         (cell.field->role == ebpf::Role::site_id && catalogue.site(cell.raw) == nullptr);
    return unknown ? std::to_string(cell.raw) : yaml_scalar(cell.text);
}

std::string key_flow(const host::Row& row, const host::Catalogue& catalogue) {
    if (row.key.size() == 1 && row.key[0].field->name.empty())
        return key_cell_flow(row.key[0], catalogue);
    Strings parts;
    for (const auto& cell : row.key)
        parts.push_back(fmt::format("{}: {}", host::column_name(*cell.field), key_cell_flow(cell, catalogue)));
    return fmt::format("{{ {} }}", fmt::join(parts, ", "));
}

std::string number_text(const host::ValueCell& cell, std::uint64_t value) {
    return cell.field->is_signed ? std::to_string(static_cast<std::int64_t>(value)) : std::to_string(value);
}

std::string cell_flow(const host::ValueCell& cell) {
    if (cell.elements.size() == 1)
        return number_text(cell, cell.elements[0]);
    Strings parts;
    for (std::size_t i = 0; i < cell.elements.size(); ++i)
        if (cell.field->histogram.empty())
            parts.push_back(number_text(cell, cell.elements[i]));
        else if (cell.elements[i] != 0)
            parts.push_back(fmt::format("{}: {}", i, cell.elements[i]));
    return cell.field->histogram.empty() ? fmt::format("[{}]", fmt::join(parts, ", "))
                                         : fmt::format("{{ {} }}", fmt::join(parts, ", "));
}

/// A value that is one cell without a name stands by itself: `value: 32`, or a histogram's slots.
bool is_bare(const host::Row& row) {
    return row.values.size() == 1 && (row.values[0].field->name.empty() || !row.values[0].field->histogram.empty());
}

std::string value_flow(const host::Row& row) {
    if (is_bare(row))
        return cell_flow(row.values[0]);
    Strings parts;
    for (const auto& cell : row.values)
        parts.push_back(fmt::format("{}: {}", cell.field->name, cell_flow(cell)));
    return fmt::format("{{ {} }}", fmt::join(parts, ", "));
}

std::string row_flow(const host::Row& row, const host::Catalogue& catalogue) {
    return fmt::format("{{ key: {}, value: {} }}", key_flow(row, catalogue), value_flow(row));
}

/// A key's cell is named by its text, its number or, a site, by its place: "gather.cu:14".
bool cell_matches(const YAML::Node& wanted, const host::KeyCell& cell, const host::Catalogue& catalogue) {
    if (!wanted.IsScalar())
        return false;
    if (wanted.Scalar() == cell.text)
        return true;
    if (const auto number = whole_number(wanted))
        return *number == cell.raw;
    const host::Site* site = cell.field->role == ebpf::Role::site_id ? catalogue.site(cell.raw) : nullptr;
    return site != nullptr && site->place() == wanted.Scalar();
}

bool key_matches(const YAML::Node& wanted, const host::Row& row, const host::Catalogue& catalogue) {
    if (wanted.IsScalar())
        return row.key.size() == 1 && cell_matches(wanted, row.key[0], catalogue);
    return std::all_of(row.key.begin(), row.key.end(), [&](const host::KeyCell& cell) {
        const auto field = wanted[host::column_name(*cell.field)];
        return field && cell_matches(field, cell, catalogue);
    });
}

bool elements_match(const YAML::Node& wanted, const host::ValueCell& cell) {
    if (cell.elements.size() == 1)
        return whole_number(wanted) == cell.elements[0];
    std::vector<std::uint64_t> elements(cell.elements.size(), 0);
    if (wanted.IsSequence() && wanted.size() != elements.size())
        return false;
    for (std::size_t i = 0; wanted.IsSequence() && i < elements.size(); ++i)
        elements[i] = whole_number(wanted[i]).value_or(~std::uint64_t{0});
    if (wanted.IsMap())
        for (const auto& each : wanted) {
            const auto slot = whole_number(each.first);
            if (!slot || *slot >= elements.size())
                return false;
            elements[*slot] = whole_number(each.second).value_or(~std::uint64_t{0});
        }
    return !wanted.IsScalar() && elements == cell.elements;
}

bool value_matches(const YAML::Node& wanted, const host::Row& row) {
    if (is_bare(row))
        return elements_match(wanted, row.values[0]);
    return wanted.IsMap() && std::all_of(wanted.begin(), wanted.end(), [&](const auto& each) {
               const auto found = std::find_if(row.values.begin(), row.values.end(), [&](const host::ValueCell& cell) {
                   return cell.field->name == each.first.Scalar();
               });
               return found != row.values.end() && elements_match(each.second, *found);
           });
}

Strings column_names(const ebpf::TypeShape& shape) {
    Strings names;
    for (const auto& field : shape.fields)
        names.push_back(host::column_name(field));
    return names;
}

std::optional<Diagnostic> check_fields(const std::string& path, const YAML::Node& node, const ebpf::TypeShape& shape,
                                       const char* what, bool all) {
    if (!node.IsMap())
        return std::nullopt;
    const Strings names = column_names(shape);
    for (const auto& each : node) {
        const std::string name = each.first.IsScalar() ? each.first.Scalar() : "";
        if (std::find(names.begin(), names.end(), name) != names.end())
            continue;
        const auto near = nearest(name, names);
        return wrong_row(
            path, each.first, fmt::format("the {} has no field '{}'", what, name),
            near.empty() ? fmt::format("it has: {}", fmt::join(names, ", ")) : fmt::format("did you mean '{}'?", near));
    }
    for (const auto& name : names)
        if (all && !node[name])
            return wrong_row(path, node, fmt::format("the {} has a field '{}', which is missing here", what, name));
    return std::nullopt;
}

/// Of a mapping with a key that is none of `known`, what is wrong.
std::optional<Diagnostic> check_keys(const std::string& path, const YAML::Node& node, const char* what,
                                     const Strings& known, const char* form) {
    for (const auto& each : node) {
        const std::string name = each.first.IsScalar() ? each.first.Scalar() : "";
        if (std::ranges::find(known, name) != known.end())
            continue;
        const auto near = nearest(name, known);
        return wrong_row(path, each.first, fmt::format("{} has no key '{}'", what, name),
                         near.empty() ? fmt::format("{} is {}", what, form) : fmt::format("did you mean '{}'?", near));
    }
    return std::nullopt;
}

/// What is wrong with an expected row whatever the map holds.
std::optional<Diagnostic> check_row(const std::string& path, const YAML::Node& wanted, const host::Map& map) {
    if (wanted.IsMap())
        if (auto problem = check_keys(path, wanted, "a row", {"key", "value"}, "{ key: ..., value: ... }"))
            return problem;
    if (!wanted.IsMap() || !wanted["key"] || !wanted["value"])
        return wrong_row(path, wanted, "a row is { key: ..., value: ... }");
    const auto& definition = map.definition;
    const bool histogram = definition.value.fields.size() == 1 && !definition.value.fields[0].histogram.empty();
    if (auto problem = check_fields(path, wanted["key"], definition.key, "key", true))
        return problem;
    return histogram ? std::nullopt : check_fields(path, wanted["value"], definition.value, "value", false);
}

/// A place's file and line may be those of several rows, each of which is a row of its own.
std::string several_note(const YAML::Node& wanted, const std::vector<host::Row>& rows,
                         const host::Catalogue& catalogue) {
    const auto count = std::count_if(rows.begin(), rows.end(),
                                     [&](const host::Row& row) { return key_matches(wanted, row, catalogue); });
    return count < 2 ? "" : fmt::format("    # {} rows have this key: name each by its whole text", count);
}

}  // namespace

Result<Strings> compare_rows(const std::string& path, const PluginExpectation& expectation, const host::Map& map,
                             const std::vector<host::Row>& rows, const host::Catalogue& catalogue) {
    Strings lines;
    std::vector<bool> met(rows.size(), false);
    for (const auto& wanted : expectation.rows) {
        if (auto problem = check_row(path, wanted, map))
            return std::move(*problem);
        bool good = false;
        for (std::size_t i = 0; i < rows.size() && !good; ++i) {
            if (met[i] || !key_matches(wanted["key"], rows[i], catalogue))
                continue;
            met[i] = good = value_matches(wanted["value"], rows[i]);
        }
        if (!good)
            lines.push_back("- " + flow(wanted) + several_note(wanted["key"], rows, catalogue));
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        // Beside rows that were missed, all that is there: in `has` too, to see what it is instead.
        if (!met[i] && (expectation.all || !lines.empty()))
            lines.push_back("+ " + row_flow(rows[i], catalogue));
    }
    return lines;
}

Result<Strings> compare_findings(const std::string& path, const PluginExpectation& expectation,
                                 const host::Catalogue& catalogue) {
    Strings lines;
    const auto& got = catalogue.findings;
    std::vector<bool> met(got.size(), false);
    const auto kernel_name = [&](const host::ReportedFinding& finding) {
        const host::Kernel* kernel = catalogue.kernel(finding.kernel_id);
        return kernel != nullptr ? kernel->name : std::string();
    };
    for (const auto& wanted : expectation.rows) {
        if (wanted.IsMap())
            if (auto problem = check_keys(path, wanted, "a finding", {"id", "kernel"}, "{ id: ..., kernel: ... }"))
                return std::move(*problem);
        if (!wanted.IsMap() || !wanted["id"])
            return wrong_row(path, wanted, "a finding is { id: ..., kernel: ... }, the kernel may be left out");
        bool good = false;
        for (std::size_t i = 0; i < got.size() && !good; ++i) {
            const bool kernel = !wanted["kernel"] || wanted["kernel"].Scalar() == kernel_name(got[i]);
            if (!met[i] && kernel && wanted["id"].Scalar() == got[i].id)
                met[i] = good = true;
        }
        if (!good)
            lines.push_back("- " + flow(wanted));
    }
    for (std::size_t i = 0; i < got.size(); ++i)
        if (!met[i])
            lines.push_back(fmt::format("+ {{ id: {}, kernel: {} }}", got[i].id, yaml_scalar(kernel_name(got[i]))));
    return lines;
}

}  // namespace egpu::cli
