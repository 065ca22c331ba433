// SPDX-License-Identifier: Apache-2.0
#include "host/probesets/probe_entry.hpp"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.hpp"
#include "base/names.hpp"
#include "host/probesets/version_range.hpp"
#include "host/programs/lookup.hpp"

namespace egpu::host {
namespace {

namespace fs = std::filesystem;
using Kind = ProbeEntry::Kind;

constexpr std::uint32_t kMostEntries = 1U << 26;  // as the object reader takes them

/// The name that is meant: the nearest, else the only one that begins so.
std::string meant_one(const std::string& typed, const std::vector<std::string>& names) {
    const std::string near = nearest(typed, names);
    const auto begins_so = [&](const std::string& name) { return typed.size() > 2 && name.starts_with(typed); };
    if (!near.empty() || std::count_if(names.begin(), names.end(), begins_so) != 1)
        return near;
    return *std::find_if(names.begin(), names.end(), begins_so);
}

/// "did you mean 'x'? It has: x, y", or "it has: x, y".
std::string choices(const std::string& typed, const std::vector<std::string>& names, std::string_view none) {
    if (names.empty())
        return std::string(none);
    const std::string near = meant_one(typed, names);
    return near.empty() ? fmt::format("it has: {}", fmt::join(names, ", "))
                        : fmt::format("did you mean '{}'? It has: {}", near, fmt::join(names, ", "));
}

/// "plugin 'latency'", "probe 'partial-warps'".
std::string called(const ProbeEntry& entry) {
    return fmt::format("{} '{}'", entry.kind == Kind::plugin ? "plugin" : "probe",
                       entry.kind == Kind::plugin ? entry.what.value : entry_name(entry));
}

/// A file of the set's is looked for from the folder of the set on.
std::string path_of(const ProbeEntry& entry) {
    const fs::path folder =
        entry.what.place.source ? fs::path(entry.what.place.source->file).parent_path() : fs::path();
    std::string path = (folder / entry.what.value).lexically_normal().string();
    // A bare name is not to be taken for that of an installed program.
    return path.find('/') == std::string::npos ? "./" + path : path;
}

/// A folder for the text of one program, removed with it.
class CodeFile {
public:
    CodeFile(const std::string& name, const std::string& text) {
        std::error_code failed;
        std::string pattern = (fs::temp_directory_path(failed) / "egpu-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr)
            return;
        folder_ = pattern;
        path_ = fmt::format("{}/{}.bpf.c", folder_, name);
        written_ = write_file(path_, text).has_value();
    }
    ~CodeFile() {
        std::error_code failed;
        if (!folder_.empty())
            fs::remove_all(folder_, failed);
    }
    CodeFile(const CodeFile&) = delete;
    CodeFile& operator=(const CodeFile&) = delete;
    bool written() const { return written_; }
    const std::string& path() const { return path_; }

private:
    std::string folder_, path_;
    bool written_ = false;
};

char first_character(const Place& place) {
    const std::string& line = place.source->lines[place.line - 1];
    return place.column - 1 < line.size() ? line[place.column - 1] : '\0';
}

std::size_t blanks_at(std::string_view line) {
    return std::min(line.find_first_not_of(' '), line.size());
}

/// By how much YAML's block of `code`, whose '|' stands at `place`, is set in.
std::size_t blanks_before(const Place& place, std::string_view code) {
    for (std::size_t line = place.line; line < place.source->lines.size(); ++line) {
        const std::string& text = place.source->lines[line];
        const auto end = std::min(code.find('\n'), code.size());
        if (blanks_at(text) != text.size())
            return blanks_at(text) - std::min(blanks_at(text), blanks_at(code.substr(0, end)));
        code.remove_prefix(std::min(end + 1, code.size()));
    }
    return 0;
}

/// Lines as they stand in the set's file: so columns of messages, and of line information, are those of the file.
std::string set_in(std::string_view code, std::size_t blanks) {
    std::string text;
    while (!code.empty()) {
        const auto end = std::min(code.find('\n'), code.size());
        if (end != 0)
            text.append(blanks, ' ').append(code.substr(0, end));
        text += '\n';
        code.remove_prefix(std::min(end + 1, code.size()));
    }
    return text;
}

/// The text that is compiled: with egpu's header and a license where it has none, and with the lines of the set's file.
std::string whole_program(const ProbeEntry& entry) {
    const std::string& code = entry.what.value;
    const Place& place = entry.what.place;
    std::string text;
    if (code.find("<egpu/bpf/egpu.bpf.h>") == std::string::npos)
        text += "#include <egpu/bpf/egpu.bpf.h>\n";
    if (code.find("SEC(\"license\")") == std::string::npos)
        text += "char LICENSE[] SEC(\"license\") = \"Dual BSD/GPL\";\n";
    if (place.source) {
        const char first = first_character(place);
        const bool is_block = first == '|' || first == '>';
        std::string file;
        for (const char c : place.source->file)
            file += c == '\\' || c == '"' ? std::string("\\") + c : std::string(1, c);
        text += fmt::format("#line {} \"{}\"\n", place.line + (is_block ? 1 : 0), file);
        return text + (first == '|' ? set_in(code, blanks_before(place, code)) : code) + "\n";
    }
    return text + code + "\n";
}

Result<LoadedProbe> load_code(const ProbeEntry& entry, const ebpf::VerifierOptions& options) {
    const CodeFile file(entry_name(entry), whole_program(entry));
    if (!file.written())
        return error("EGPU-X001", "no temporary file can be written", "TMPDIR names another folder");
    auto probe = load_probe(file.path(), options);
    if (probe && entry.what.place.source)
        probe->path = entry.what.place.source->file;
    return probe;
}

Result<LoadedProbe> load_what(const ProbeEntry& entry, const ebpf::VerifierOptions& options) {
    switch (entry.kind) {
        case Kind::code:
            return load_code(entry, options);
        case Kind::object:
        case Kind::source:
            return load_probe(path_of(entry), options);
        case Kind::plugin:
            break;
    }
    return load_probe(entry.what.value, options);
}

/// What load_probe said, at the entry's place; what the compiler and the verifier say has places of its own.
std::vector<Diagnostic> at_entry(const ProbeEntry& entry, const std::vector<Diagnostic>& problems) {
    const Diagnostic& first = problems.front();
    if (first.code == "EGPU-X021") {
        const auto names = probe_names();
        const std::string near = meant_one(entry.what.value, names);
        const std::string hint =
            fmt::format("{}: {}", near.empty() ? "there are" : fmt::format("did you mean '{}'? There are", near),
                        fmt::join(names, ", "));
        return {
            problem_at(entry.what.place, "EGPU-S020", fmt::format("no plugin is named '{}'", entry.what.value), hint)};
    }
    std::vector<Diagnostic> all;
    const char* what = entry.kind == Kind::code ? "this code" : "it";
    std::string message = fmt::format("{} can't be used: {} can't be loaded", called(entry), what);
    if (first.where.file.empty())
        message = fmt::format("{} can't be used: {}", called(entry), first.message);
    Place place = entry.what.place;
    if (entry.kind == Kind::code)
        place.length = 1;
    all.push_back(problem_at(place, "EGPU-S024", std::move(message),
                             first.hints.empty() || !first.where.file.empty() ? "" : first.hints.front()));
    for (const auto& problem : problems)
        if (!problem.where.file.empty() || &problem != &first)
            all.push_back(problem);
    return all;
}

class EntrySettings {
public:
    EntrySettings(const ProbeEntry& entry, const LoadedProbe& probe) : entry_(entry), object_(*probe.object) {}

    void set_options();
    void set_map_sizes(const ProbeSet& set);
    std::vector<std::string> programs();
    bool changed() const { return changed_; }
    std::shared_ptr<const ebpf::Object> object() const { return std::make_shared<ebpf::Object>(object_); }
    std::vector<Diagnostic>& problems() { return problems_; }

private:
    const ProbeEntry& entry_;
    ebpf::Object object_;
    bool changed_ = false;
    std::vector<Diagnostic> problems_;
};

void EntrySettings::set_options() {
    std::vector<std::string> names;
    for (const auto& option : object_.options)
        names.push_back(option.name);
    for (const auto& [name, value] : entry_.options) {
        const auto done = ebpf::set_option(object_, name.value, value.value);
        changed_ = true;
        if (done)
            continue;
        const Diagnostic& wrong = done.error();
        if (wrong.code == "EGPU-B030")
            problems_.push_back(problem_at(name.place, "EGPU-S022",
                                           fmt::format("{} has no option '{}'", called(entry_), name.value),
                                           choices(name.value, names, "it has no options")));
        else
            problems_.push_back(
                problem_at(value.place, "EGPU-S023", wrong.message, wrong.hints.empty() ? "" : wrong.hints.front()));
    }
}

void EntrySettings::set_map_sizes(const ProbeSet& set) {
    const std::string prefix = entry_name(entry_) + "/";
    for (const auto& wanted : set.maps) {
        if (wanted.broken || !wanted.name.value.starts_with(prefix))
            continue;
        const std::string name = wanted.name.value.substr(prefix.size());
        const auto map =
            std::find_if(object_.maps.begin(), object_.maps.end(), [&](const auto& each) { return each.name == name; });
        if (map == object_.maps.end()) {
            std::vector<std::string> names;
            for (const auto& each : object_.maps)
                names.push_back(each.name);
            problems_.push_back(problem_at(wanted.name.place, "EGPU-S028",
                                           fmt::format("{} has no map '{}'", called(entry_), name),
                                           choices(name, names, "it has no maps")));
        } else if (wanted.max_entries) {
            if (map->is_ring() && !ebpf::is_ring_size(wanted.max_entries->value))
                problems_.push_back(
                    problem_at(wanted.max_entries->place, "EGPU-S014",
                               fmt::format("{} is a ring buffer, and has no {} bytes", wanted.name.value,
                                           wanted.max_entries->value),
                               fmt::format("a ring buffer's max_entries is a power of two, {} to {}: its bytes",
                                           ebpf::kSmallestRing, ebpf::kLargestRing)));
            else if (!map->is_ring() && wanted.max_entries->value > kMostEntries)
                problems_.push_back(
                    problem_at(wanted.max_entries->place, "EGPU-S014",
                               fmt::format("{} entries are more than a map may have", wanted.max_entries->value),
                               fmt::format("max_entries is at most {}", kMostEntries)));
            else
                map->max_entries = wanted.max_entries->value;
            changed_ = true;
        }
    }
}

std::vector<std::string> EntrySettings::programs() {
    std::vector<std::string> wanted, names;
    if (!entry_.programs)
        return wanted;
    for (const auto& program : object_.programs)
        names.push_back(program.name);
    for (const auto& program : *entry_.programs) {
        if (std::find(names.begin(), names.end(), program.value) != names.end()) {
            wanted.push_back(program.value);
            continue;
        }
        std::string hint = choices(program.value, names, "it has none");
        hint += entry_.kind == Kind::plugin ? fmt::format(" (egpu plugin info {}).", entry_.what.value) : ".";
        problems_.push_back(problem_at(program.place, "EGPU-S021",
                                       fmt::format("{} has no program '{}'", called(entry_), program.value), hint));
    }
    changed_ = true;
    return wanted;
}

KernelSelection selection_of(const KernelPatterns& patterns) {
    KernelSelection selection;
    for (const auto& pattern : patterns.include)
        selection.include.push_back(pattern.value);
    if (!patterns.include.empty() && patterns.include.front().place.source) {
        const Place& place = patterns.include.front().place;
        selection.where = {place.source->file, place.line, place.column, 0};
    }
    for (const auto& pattern : patterns.exclude)
        selection.exclude.push_back(pattern.value);
    return selection;
}

/// The set's own selections and the entry's; those that take every kernel are left out.
std::vector<KernelSelection> selections(const ProbeEntry& entry, const ProbeSet& set) {
    std::vector<KernelSelection> all;
    for (const auto& patterns : set.kernels)
        all.push_back(selection_of(patterns));
    all.push_back(selection_of(entry.kernels));
    std::erase(all, KernelSelection{});
    return all;
}

/// EGPU-S025 where the plugin is not of the versions that the entry asks for.
std::optional<Diagnostic> wrong_version(const ProbeEntry& entry, const LoadedProbe& probe) {
    if (!entry.version)
        return std::nullopt;
    const Place& place = entry.version->place;
    if (probe.version.empty())
        return problem_at(place, "EGPU-S025",
                          fmt::format("'{}' is an installed program, which has no version", entry.what.value),
                          "leave 'version' out");
    const auto range = parse_version_range(entry.version->value);
    if (range && in_range(*range, probe.version))
        return std::nullopt;
    return problem_at(
        place, "EGPU-S025",
        fmt::format("plugin '{}' is version {}, not {}", entry.what.value, probe.version, entry.version->value),
        fmt::format("it is {}", probe.path));
}

}  // namespace

std::string entry_name(const ProbeEntry& entry) {
    if (entry.name)
        return entry.name->value;
    std::string name = fs::path(entry.what.value).filename().string();
    for (const std::string_view suffix : {".bpf.o", ".bpf.c"})
        if (name.ends_with(suffix))
            name = name.substr(0, name.size() - suffix.size());
    return name;
}

Result<LoadedProbe> load_entry(const ProbeEntry& entry, const ProbeSet& set, const ebpf::VerifierOptions& options) {
    auto probe = load_what(entry, options);
    if (!probe)
        return at_entry(entry, probe.errors());
    if (auto wrong = wrong_version(entry, *probe))
        return std::move(*wrong);
    probe->name = entry_name(entry);
    probe->kernels = selections(entry, set);
    EntrySettings settings(entry, *probe);
    settings.set_options();
    settings.set_map_sizes(set);
    const auto programs = settings.programs();
    if (!settings.problems().empty())
        return std::move(settings.problems());
    if (settings.changed()) {
        probe->object = settings.object();
        check_programs(*probe, options, programs);
    }
    return probe;
}

std::vector<Diagnostic> misplaced_maps(const ProbeSet& set, const std::vector<std::string>& probes) {
    std::vector<Diagnostic> problems;
    for (const auto& map : set.maps) {
        const std::string probe = map.name.value.substr(0, map.name.value.find('/'));
        if (!map.broken && std::find(probes.begin(), probes.end(), probe) == probes.end())
            problems.push_back(problem_at(map.name.place, "EGPU-S028", fmt::format("the set has no probe '{}'", probe),
                                          choices(probe, probes, "it has none")));
    }
    return problems;
}

}  // namespace egpu::host
