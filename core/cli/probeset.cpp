// SPDX-License-Identifier: Apache-2.0
// egpu probeset list, info: which probe sets there are, and what one says.
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/plugin.hpp"
#include "cli/probeset.hpp"
#include "cli/terminal.hpp"
#include "host/probesets/search.hpp"

namespace egpu::cli {
namespace {

using nlohmann::ordered_json;

struct SetOptions {
    std::string set;
    bool json = false;
};

std::string first_words(const Diagnostic& problem) {
    std::string text = problem.message;
    if (problem.where.line != 0)
        text = fmt::format("line {}: {}", problem.where.line, text);
    return text;
}

int list_sets(bool json) {
    const auto files = host::system_set_files();
    auto list = ordered_json::array();
    TextTable table;
    for (const char* header : {"NAME", "DESCRIPTION", "FILE"})
        table.column(header, Align::left);
    for (const auto& found : host::find_probe_sets()) {
        const auto set = host::load_probe_set(found.path, files);
        const std::string text = set ? set->description : "can't be used: " + first_words(set.error());
        table.row({found.name, text, found.path});
        list.push_back({{"name", found.name},
                        {"description", set ? ordered_json(set->description) : ordered_json(nullptr)},
                        {"file", found.path},
                        {"usable", set.has_value()},
                        {"reason", set ? ordered_json(nullptr) : ordered_json(first_words(set.error()))}});
    }
    if (json)
        fmt::print("{}\n", list.dump(2, ' ', false, ordered_json::error_handler_t::replace));
    else if (table.rows() == 0)
        fmt::print(stderr, "no probe set; looked in: {}\n", fmt::join(host::probe_set_folders(), ", "));
    else
        fmt::print("{}", table.text());
    return kYes;
}

std::string joined(const std::vector<host::Text>& texts) {
    std::string all;
    for (const auto& text : texts)
        all += (all.empty() ? "" : ", ") + text.value;
    return all;
}

std::string kernels_text(const host::KernelPatterns& kernels) {
    std::string text = kernels.include.empty() ? "all" : joined(kernels.include);
    if (!kernels.exclude.empty())
        text += " without " + joined(kernels.exclude);
    return text;
}

const char* source_kind(host::ProbeEntry::Kind kind) {
    using Kind = host::ProbeEntry::Kind;
    return kind == Kind::plugin ? "plugin" : kind == Kind::object ? "object" : kind == Kind::source ? "source" : "code";
}

/// Settings as rows of name and value, those that the set gives.
std::vector<std::pair<std::string, std::string>> set_settings(const host::ProbeSet& set) {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const auto& kernels : set.kernels)
        rows.emplace_back("kernels", kernels_text(kernels));
    if (set.launches)
        rows.emplace_back("launches", launches_text(set.launches->value));
    if (set.wait_ns)
        rows.emplace_back("wait", format_duration_ns(static_cast<double>(set.wait_ns->value)));
    if (set.gpu_memory_bytes)
        rows.emplace_back("gpu_memory", format_memory(set.gpu_memory_bytes->value));
    if (set.strict)
        rows.emplace_back("strict", set.strict->value ? "true" : "false");
    if (set.summary)
        rows.emplace_back("summary", set.summary->value);
    if (set.record)
        rows.emplace_back("record", set.record->value);
    return rows;
}

std::string expectation_text(const host::Expectation& expectation) {
    std::string text = expectation.metric.value;
    for (const auto& [label, value] : expectation.where)
        text += fmt::format(" {}={}", label.value, value.value);
    return fmt::format("{} {} {}", text, host::to_words(expectation.bound),
                       format_quantity(expectation.value.value, expectation.dimension));
}

void print_set_probes(const host::ProbeSet& set, const host::Asked& asked) {
    for (std::size_t i = 0; i < asked.probes.size(); ++i) {
        const auto& probe = asked.probes[i];
        const auto& entry = set.probes[i];
        fmt::print("probe {} ({}{})\n", probe.name, source_kind(entry.kind),
                   entry.kind == host::ProbeEntry::Kind::code ? "" : " " + printable(entry.what.value));
        for (const auto& checked : probe.programs) {
            const auto& program = probe.object->programs[checked.index];
            fmt::print("  program {}  {}  {}\n", program.name, program.section,
                       checked.verification ? "accepted" : "refused: " + checked.refusal.front().message);
        }
        for (const auto& map : probe.object->maps)
            fmt::print("  map {}/{}  {} entries\n", probe.name, map.name, format_count(map.max_entries));
        for (const auto& [name, value] : entry.options)
            fmt::print("  option {} = {}\n", printable(name.value), printable(value.value));
        if (entry.sample_launches)
            fmt::print("  sample 1 launch in {}\n", entry.sample_launches->value);
        if (entry.sampling && !entry.sampling->value.is_all())
            fmt::print("  sample {}\n", to_words(entry.sampling->value));
        if (!entry.kernels.include.empty() || !entry.kernels.exclude.empty())
            fmt::print("  kernels {}\n", printable(kernels_text(entry.kernels)));
    }
}

ordered_json set_json(const host::ProbeSet& set, const host::Asked& asked) {
    ordered_json whole = {{"name", set.name}, {"description", set.description}, {"file", set.file}};
    for (const auto& [name, value] : set_settings(set)) {
        if (name == "kernels")
            whole["kernels"].push_back(value);
        else
            whole[name] = value;
    }
    whole["probes"] = ordered_json::array();
    for (const auto& probe : asked.probes) {
        ordered_json programs = ordered_json::array(), maps = ordered_json::array();
        for (const auto& checked : probe.programs) {
            const auto& program = probe.object->programs[checked.index];
            programs.push_back({{"program", program.name},
                                {"section", program.section},
                                {"accepted", checked.verification.has_value()}});
        }
        for (const auto& map : probe.object->maps)
            maps.push_back({{"name", map.name}, {"max_entries", map.max_entries}});
        whole["probes"].push_back({{"probe", probe.name}, {"programs", programs}, {"maps", maps}});
    }
    whole["expect"] = ordered_json::array();
    for (const auto& expectation : set.expectations)
        whole["expect"].push_back(expectation_text(expectation));
    return whole;
}

int print_set(const SetOptions& options) {
    const auto loaded = load_set(options.set);
    if (!loaded) {
        print_errors(loaded.errors());
        return kNo;
    }
    const auto& [set, asked] = *loaded;
    if (options.json) {
        fmt::print("{}\n", set_json(set, asked).dump(2, ' ', false, ordered_json::error_handler_t::replace));
        return kYes;
    }
    fmt::print("{}{}{}\n{}\n", set.name, set.description.empty() ? "" : ": ", printable(set.description), set.file);
    for (const auto& [name, value] : set_settings(set))
        fmt::print("{} {}\n", name, printable(value));
    print_set_probes(set, asked);
    for (const auto& expectation : set.expectations)
        fmt::print("expect {}\n", printable(expectation_text(expectation)));
    return kYes;
}

}  // namespace

Result<LoadedSet> load_set(const std::string& name) {
    std::string path = name;
    if (!host::names_set_file(name)) {
        const auto files = host::system_set_files();
        const auto found = files.find(name);
        if (!found)
            return unknown_set(name, files.names());
        path = *found;
    }
    auto read = host::read_probe_set(path, host::system_set_files());
    auto asked = host::ask_for(read);
    if (!asked)
        return asked.errors();
    return LoadedSet{std::move(read.set), std::move(*asked)};
}

std::string launches_text(const host::LaunchWindow& launches) {
    std::string text =
        launches.skip == 0 ? "from the first on" : fmt::format("not the first {}", format_count(launches.skip));
    if (launches.count)
        text += fmt::format("{} {} of each kernel", launches.skip == 0 ? "," : ", then", format_count(*launches.count));
    return text;
}

void add_probeset(CLI::App& app, int* exit_code) {
    auto* command = app.add_subcommand("probeset", "Probe sets: questions kept as YAML");
    command->require_subcommand(1);
    auto list_json = std::make_shared<bool>(false);
    auto* list = command->add_subcommand("list", "The probe sets that -p NAME finds");
    list->add_flag("-j,--json", *list_json, "Print JSON");
    add_plugin_path_option(*list);
    list->callback([list_json, exit_code] { *exit_code = list_sets(*list_json); });
    auto options = std::make_shared<SetOptions>();
    auto* info = command->add_subcommand("info", "What a probe set says, with what it includes laid over");
    info->add_option("SET", options->set, "A probe set's name, or a .yaml file")->required();
    info->add_flag("-j,--json", options->json, "Print JSON");
    add_plugin_path_option(*info);
    info->callback([options, exit_code] { *exit_code = print_set(*options); });
    add_probeset_explain(*command, exit_code);
}

}  // namespace egpu::cli
