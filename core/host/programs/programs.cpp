// SPDX-License-Identifier: Apache-2.0
#include "host/programs/programs.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "base/files.hpp"
#include "host/plugins/trial.hpp"
#include "host/programs/lookup.hpp"
#include "host/programs/translation.hpp"

namespace egpu::host {
namespace {

namespace fs = std::filesystem;

/// Notes of the verifier on what no site can make possible: safe programs that this version can't translate.
std::vector<Diagnostic> refused_everywhere(const ebpf::Verification& verification) {
    std::vector<Diagnostic> refusals;
    for (const auto& note : verification.notes)
        if (note.code >= "EGPU-V050" && note.code <= "EGPU-V059") {
            refusals.push_back(note);
            refusals.back().severity = Severity::error;
        }
    return refusals;
}

std::string shortened(const std::string& file) {
    std::error_code failed;
    const std::string here = fs::current_path(failed).string() + "/";
    return !failed && file.starts_with(here) ? file.substr(here.size()) : file;
}

/// Line information begins at a function's first statement; what is wrong with its section stands above, at SEC(...).
void point_at_section(Diagnostic& problem) {
    const auto text = problem.where.line != 0 ? read_text(problem.where.file, std::size_t{1} << 20)
                                              : Result<std::string>(Diagnostic{});
    if (!text)
        return;
    std::vector<std::string_view> lines;
    for (std::string_view rest = *text; !rest.empty() && lines.size() < problem.where.line;) {
        const auto end = rest.find('\n');
        lines.push_back(rest.substr(0, end));
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    for (std::size_t i = lines.size(); i-- > 0;) {
        const auto at = lines[i].find("SEC(\"");
        if (at == std::string_view::npos || lines[i].substr(at).starts_with("SEC(\"."))
            continue;  // SEC(".maps") is no program's
        const auto line = static_cast<std::uint32_t>(i + 1);
        const auto column = static_cast<std::uint32_t>(at + 1);
        const auto close = lines[i].find(')', at);
        const auto length = static_cast<std::uint32_t>(close == std::string_view::npos ? 3 : close + 1 - at);
        problem.where.line = line;
        problem.where.column = column;
        problem.quoted = {{line, std::string(lines[i]), column, length}};
        return;
    }
}

/// An error of the object reader as a person wants it.
std::vector<Diagnostic> improved(std::vector<Diagnostic> problems) {
    for (auto& problem : problems) {
        if (problem.code == "EGPU-B004" || (problem.code >= "EGPU-B010" && problem.code <= "EGPU-B016"))
            point_at_section(problem);
        problem.where.file = shortened(problem.where.file);
    }
    return problems;
}

/// Debug information names files absolutely; people know them from where they stand.
void shorten_file_names(ebpf::Object& object) {
    for (auto& program : object.programs)
        for (auto& line : program.lines)
            line.file = shortened(line.file);
}

}  // namespace

namespace {

Result<std::vector<std::byte>> bytes_of(const Located& located, std::vector<Diagnostic>& warnings) {
    switch (located.kind) {
        case WhatKind::source:
            return ebpf::compile_source(located.path, install_folders().include, &warnings);
        case WhatKind::object:
            return read_file(located.path, std::size_t{64} << 20);
        case WhatKind::plugin:
            return located.plugin->about->object;
    }
    return error("EGPU-X022", "unknown kind of probe");
}

Result<std::shared_ptr<const ebpf::Object>> object_of(const Located& located) {
    std::vector<Diagnostic> warnings;
    auto bytes = bytes_of(located, warnings);
    if (!bytes)
        return bytes.errors();
    auto object = ebpf::read_object(*bytes, located.path);
    if (!object) {
        auto problems = improved(object.errors());
        // Of a function that is not there, the error says it.
        if (problems.front().code == "EGPU-B051")
            std::erase_if(warnings, [](const auto& each) { return each.message.starts_with("implicit declaration"); });
        std::ranges::move(warnings, std::back_inserter(problems));
        return problems;
    }
    shorten_file_names(*object);
    object->warnings = std::move(warnings);
    return std::shared_ptr<const ebpf::Object>(std::make_shared<ebpf::Object>(std::move(*object)));
}

}  // namespace

Result<std::shared_ptr<const ebpf::Object>> load_object(const std::string& what) {
    const auto located = locate(what);
    if (!located)
        return located.errors();
    return object_of(*located);
}

namespace {

/// What programs print, for whoever reads their records.
void add_formats(LoadedProbe& probe) {
    if (!probe.object->print_map)
        return;
    auto object = std::make_shared<ebpf::Object>(*probe.object);
    for (const auto& checked : probe.programs)
        for (const std::uint32_t place :
             checked.verification ? checked.verification->formats : std::set<std::uint32_t>())
            object->maps[*object->print_map].formats.emplace(place, ebpf::text_at(*object, place));
    probe.object = std::move(object);
}

/// Programs that look keys up at run time say so of the maps, for all programs of the object.
void mark_searched(LoadedProbe& probe) {
    std::set<std::uint32_t> searched;
    for (const auto& checked : probe.programs)
        if (checked.verification)
            searched.insert(checked.verification->searched_maps.begin(), checked.verification->searched_maps.end());
    if (std::ranges::all_of(searched, [&](std::uint32_t map) { return probe.object->maps[map].keys_at_run_time; }))
        return;
    auto object = std::make_shared<ebpf::Object>(*probe.object);
    for (const std::uint32_t map : searched)
        object->maps[map].keys_at_run_time = true;
    probe.object = std::move(object);
}

}  // namespace

void check_programs(LoadedProbe& probe, const ebpf::VerifierOptions& options, const std::vector<std::string>& only) {
    probe.programs.clear();
    for (std::uint32_t i = 0; i < probe.object->programs.size(); ++i) {
        const auto& program = probe.object->programs[i];
        if (!only.empty() && std::find(only.begin(), only.end(), program.name) == only.end())
            continue;
        CheckedProgram checked;
        checked.index = i;
        auto verification = ebpf::verify(*probe.object, program, options);
        if (!verification)
            checked.refusal = verification.errors();
        else if (auto refusals = refused_everywhere(*verification); !refusals.empty())
            checked.refusal = std::move(refusals);
        else
            checked.verification = std::move(*verification);
        probe.programs.push_back(std::move(checked));
    }
    mark_searched(probe);
    add_formats(probe);
    for (auto& checked : probe.programs) {
        if (!checked.verification)
            continue;
        auto everywhere = refused_in_every_kernel(*probe.object, probe.object->programs[checked.index]);
        if (everywhere.empty())
            continue;
        checked.refusal = std::move(everywhere);
        checked.verification.reset();
    }
}

Status check_sampling(const LoadedProbe& probe) {
    if (probe.sampling.is_all())
        return ok();
    for (const auto& checked : probe.programs) {
        const auto& program = probe.object->programs[checked.index];
        if (checked.verification && program.point.granularity == ebpf::Granularity::grid)
            return error("EGPU-S035",
                         fmt::format("program '{}' of probe '{}' runs once a grid: {} can't be chosen for it",
                                     program.name, probe.name, to_name(probe.sampling.unit)),
                         "leave it unsampled: a probe set says 'sample' by probe");
    }
    return ok();
}

Result<LoadedProbe> load_probe(const std::string& what, const ebpf::VerifierOptions& options) {
    auto located = locate(what);
    if (!located)
        return located.errors();
    if (located->plugin)
        // What it does when it is loaded is seen in another process first.
        if (const PluginFile plugin = tried(*located->plugin); !plugin.ok())
            return to_diagnostic(plugin);
    auto object = object_of(*located);
    if (!object)
        return object.errors();
    LoadedProbe probe;
    probe.name = located->name;
    probe.path = located->path;
    probe.version = located->plugin ? located->plugin->about->version : std::string();
    probe.has_code = located->plugin && located->plugin->about->has_code;
    probe.object = *object;
    check_programs(probe, options);
    if (probe.programs.empty())
        return error("EGPU-B020", fmt::format("{} holds no program for the GPU", what),
                     "a program stands in a section such as SEC(\"gpu/load.global\")");
    return probe;
}

}  // namespace egpu::host
