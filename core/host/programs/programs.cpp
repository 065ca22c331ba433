// SPDX-License-Identifier: Apache-2.0
#include "host/programs/programs.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/names.hpp"

namespace egpu::host {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kObjectSuffix = ".bpf.o";
constexpr std::string_view kSourceSuffix = ".bpf.c";

bool looks_like_file(const std::string& what) {
    return what.find('/') != std::string::npos || what.ends_with(kSourceSuffix) || what.ends_with(kObjectSuffix) ||
           what.ends_with(".yaml") || what.ends_with(".so") || what.ends_with(".c") || what.ends_with(".o");
}

std::string bare_name(const std::string& path) {
    std::string name = fs::path(path).filename().string();
    for (const auto suffix : {kObjectSuffix, kSourceSuffix})
        if (name.ends_with(suffix))
            name.resize(name.size() - suffix.size());
    return name;
}

/// Notes of the verifier on what no site can make possible: safe programs that this version can't translate.
std::vector<Diagnostic> refused_everywhere(const ebpf::Verification& verification) {
    std::vector<Diagnostic> refusals;
    for (const auto& note : verification.notes)
        if (note.code == "EGPU-V050" || note.code == "EGPU-V051" || note.code == "EGPU-V055") {
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
        const auto at = lines[i].find("SEC(\"gpu");
        if (at == std::string_view::npos)
            continue;
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
        if (problem.code >= "EGPU-B010" && problem.code <= "EGPU-B015")
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

Diagnostic unknown_kind(const std::string& what) {
    if (what.ends_with(".yaml") || what.ends_with(".so"))
        return error("EGPU-X022",
                     fmt::format("{}: probe sets and plugin libraries are not available in this version", what),
                     "give a program's name, a .bpf.c or a .bpf.o file");
    return error("EGPU-X022", fmt::format("{} is neither a .bpf.c nor a .bpf.o file", what));
}

/// The file behind a name or path.
Result<std::string> locate(const std::string& what) {
    std::error_code ignored;
    if (looks_like_file(what)) {
        if (!fs::exists(what, ignored))
            return no_such_file(what);
        if (!what.ends_with(kSourceSuffix) && !what.ends_with(kObjectSuffix))
            return unknown_kind(what);
        return what;
    }
    const fs::path installed = fs::path(install_folders().library) / "programs" / (what + std::string(kObjectSuffix));
    if (fs::exists(installed, ignored))
        return installed.string();
    const auto names = installed_programs();
    auto unknown = error("EGPU-X021", fmt::format("no program is named '{}'", what));
    if (const auto near = nearest(what, names); !near.empty())
        unknown.hints.push_back(fmt::format("did you mean '{}'?", near));
    unknown.hints.push_back(fmt::format("installed: {}; a file ends in .bpf.c or .bpf.o", fmt::join(names, ", ")));
    return unknown;
}

}  // namespace

InstallFolders install_folders() {
    std::error_code ignored;
    const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
    const fs::path prefix = program.parent_path().parent_path();
    InstallFolders folders{(prefix / EGPU_LIBDIR / "egpu").string(), (prefix / EGPU_DATADIR / "egpu").string(),
                           (prefix / "include").string()};
    if (!fs::exists(folders.library, ignored))
        folders.library = (prefix / "lib" / "egpu").string();
    return folders;
}

std::vector<std::string> installed_programs() {
    std::vector<std::string> names;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(fs::path(install_folders().library) / "programs", failed))
        if (entry.path().string().ends_with(kObjectSuffix))
            names.push_back(bare_name(entry.path().string()));
    std::sort(names.begin(), names.end());
    return names;
}

Result<std::shared_ptr<const ebpf::Object>> load_object(const std::string& what) {
    const auto path = locate(what);
    if (!path)
        return path.errors();
    auto bytes = path->ends_with(kSourceSuffix) ? ebpf::compile_source(*path, install_folders().include)
                                                : read_file(*path, std::size_t{64} << 20);
    if (!bytes)
        return bytes.errors();
    auto object = ebpf::read_object(*bytes, *path);
    if (!object)
        return improved(object.errors());
    shorten_file_names(*object);
    return std::shared_ptr<const ebpf::Object>(std::make_shared<ebpf::Object>(std::move(*object)));
}

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
}

Result<LoadedProbe> load_probe(const std::string& what, const ebpf::VerifierOptions& options) {
    auto object = load_object(what);
    if (!object)
        return object.errors();
    LoadedProbe probe;
    probe.name = bare_name(what);
    probe.path = (*object)->path;
    probe.object = *object;
    check_programs(probe, options);
    if (probe.programs.empty())
        return error("EGPU-B020", fmt::format("{} holds no program for the GPU", what),
                     "a program stands in a section such as SEC(\"gpu/load.global\")");
    return probe;
}

}  // namespace egpu::host
