// SPDX-License-Identifier: Apache-2.0
// egpu plugin test: the cases of a plugin's test file, on the simulated GPU and in the interpreter (TARGETS E4).
#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.hpp"
#include "base/names.hpp"
#include "cli/plugin.hpp"
#include "cli/plugin_test_file.hpp"
#include "cli/plugin_test_process.hpp"
#include "cli/plugin_test_rows.hpp"
#include "cli/run.hpp"
#include "cli/run_report.hpp"
#include "cli/terminal.hpp"
#include "ebpf/events/known.hpp"
#include "ebpf/interpreter/interpreter.hpp"
#include "host/plugins/discovery.hpp"
#include "host/programs/programs.hpp"

namespace egpu::cli {
namespace {

struct PluginTestOptions {
    std::string file, plugin, only;
    unsigned limit_s = 60;
};

Diagnostic at(const Location& where, const char* code, std::string message, std::string hint = {}) {
    auto problem = error(code, std::move(message), std::move(hint));
    problem.where = where;
    return problem;
}

Diagnostic differs(const PluginTestCase& one, const PluginExpectation& expectation, const std::string& what,
                   const std::vector<std::string>& lines) {
    auto problem = at(expectation.where, "EGPU-T010",
                      fmt::format("case '{}': {} not as expected (- expected, + got)", one.name, what));
    problem.detail = fmt::format("  {}", fmt::join(lines, "\n  "));
    return problem;
}

Diagnostic no_such_map(const PluginTestFile& file, const PluginExpectation& expectation, const ebpf::Object& object) {
    std::vector<std::string> names;
    for (const auto& map : object.maps)
        names.push_back(map.name);
    const auto near = nearest(expectation.map, names);
    return at(
        expectation.where, "EGPU-T008", fmt::format("plugin {} has no map '{}'", file.plugin, expectation.map),
        near.empty() ? fmt::format("it has: {}", fmt::join(names, ", ")) : fmt::format("did you mean '{}'?", near));
}

using Problems = std::vector<Diagnostic>;

/// All expectations against a session's, or the interpreter's, maps.
Problems check_expectations(const PluginTestFile& file, const PluginTestCase& one, const ebpf::Object& object,
                            const host::SessionView& view) {
    Problems problems;
    for (const auto& expectation : one.expect) {
        const auto* data = expectation.map.empty() ? nullptr : view.map_named(file.plugin + "/" + expectation.map);
        if (!expectation.map.empty() && data == nullptr) {
            problems.push_back(no_such_map(file, expectation, object));
            continue;
        }
        if (data != nullptr && data->map->definition.is_ring()) {
            problems.push_back(at(expectation.where, "EGPU-T018",
                                  fmt::format("map '{}' is a ring buffer: its records are no entries", expectation.map),
                                  "count what is sent in a map beside it, and expect that"));
            continue;
        }
        const auto lines = data == nullptr ? compare_findings(file.path, expectation, view.catalogue)
                                           : compare_rows(file.path, expectation, *data->map,
                                                          host::read_rows(*data, view.catalogue), view.catalogue);
        const std::string what = data == nullptr ? "findings are" : fmt::format("map '{}' is", expectation.map);
        if (!lines)
            problems.push_back(lines.error());
        else if (!lines->empty())
            problems.push_back(differs(one, expectation, what, *lines));
    }
    return problems;
}

std::string workload_path() {
    std::error_code ignored;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
    return (self.parent_path() / "egpu-workload").string();
}

Diagnostic no_such_program(const PluginTestFile& file, const Location& where, const std::string& name,
                           const ebpf::Object& object) {
    std::vector<std::string> names;
    for (const auto& each : object.programs)
        names.push_back(each.name);
    const auto near = nearest(name, names);
    return at(
        where, "EGPU-T008", fmt::format("plugin {} has no program '{}'", file.plugin, name),
        near.empty() ? fmt::format("it has: {}", fmt::join(names, ", ")) : fmt::format("did you mean '{}'?", near));
}

/// True where a copy that holds the program was launched.
bool launched_with(const host::SessionView& view, std::size_t index) {
    for (std::size_t i = 0; i < view.copies.size() && i < view.catalogue.copies.size(); ++i) {
        const auto& held = view.catalogue.copies[i].probes;
        if (view.copies[i].launches != 0 && std::find(held.begin(), held.end(), index) != held.end())
            return true;
    }
    return false;
}

/// Expectations of empty maps and of no findings hold for programs that ran nowhere, too.
Problems check_that_programs_ran(const PluginTestFile& file, const PluginTestCase& one, const ebpf::Object& object,
                                 const host::SessionView& view) {
    Problems problems;
    for (const auto& each : one.not_run)
        if (std::none_of(object.programs.begin(), object.programs.end(),
                         [&](const ebpf::Program& program) { return program.name == each.name; }))
            problems.push_back(no_such_program(file, each.where, each.name, object));
    for (std::size_t i = 0; i < view.catalogue.probes.size(); ++i) {
        const auto& probe = view.catalogue.probes[i];
        if (probe.probe != file.plugin)
            continue;
        const auto named = std::find_if(one.not_run.begin(), one.not_run.end(),
                                        [&](const auto& each) { return each.name == probe.program; });
        const bool ran_here = launched_with(view, i);
        if (ran_here && named != one.not_run.end())
            problems.push_back(
                at(named->where, "EGPU-T015",
                   fmt::format("case '{}': program {} ran, which not_run names", one.name, probe.program)));
        if (ran_here || named != one.not_run.end())
            continue;
        const bool said = probe.state == host::ProbeState::refused || probe.state == host::ProbeState::failed;
        problems.push_back(
            at(one.where, "EGPU-T015",
               fmt::format("case '{}': {}", one.name,
                           said ? fmt::format("probe {}/{} ran nowhere: {}", probe.probe, probe.program, probe.reason)
                                : nowhere_warning(view, probe).message),
               fmt::format("where that is as it should be, the case says so: not_run: [{}]", probe.program)));
    }
    return problems;
}

/// In a process of its own.
Problems run_session_case(const PluginTestFile& file, const PluginTestCase& one, const host::LoadedProbe& probe) {
    RunOptions run;
    run.probes.what = {probe.path};
    run.simulated = run.quiet = true;
    run.report = false;
    run.command = {workload_path()};
    run.command.insert(run.command.end(), one.run.begin(), one.run.end());
    const auto outcome = run_program(run);
    if (outcome.exit_code != 0 || !outcome.view) {
        auto problem = at(one.where, "EGPU-T011",
                          fmt::format("case '{}': egpu-workload {} ended with {}", one.name, fmt::join(one.run, " "),
                                      outcome.exit_code),
                          "egpu-workload --list shows what run can name");
        problem.detail = printed_in_case();
        return {problem};
    }
    Problems problems = check_that_programs_ran(file, one, *probe.object, *outcome.view);
    const auto differences = check_expectations(file, one, *probe.object, *outcome.view);
    problems.insert(problems.end(), differences.begin(), differences.end());
    // What the plugin's code did wrong is no difference in a map.
    for (const auto& text : outcome.view->catalogue.diagnostics)
        if (text.find(fmt::format("plugin {}: ", file.plugin)) != std::string::npos) {
            problems.push_back(
                at(one.where, "EGPU-T012", fmt::format("case '{}': the plugin's code failed", one.name)));
            problems.back().detail = text;
        }
    return problems;
}

std::string report_of(const Problems& problems) {
    std::string text;
    for (const auto& problem : problems)
        text += to_text(problem);
    return text;
}

/// What a case in a process of its own came to: "" where it passed.
std::string judge_session_case(const PluginTestFile& file, const PluginTestCase& one, const host::LoadedProbe& probe,
                               std::chrono::seconds limit) {
    const auto end = run_case_apart([&] { return report_of(run_session_case(file, one, probe)); }, limit);
    if (!end)
        return report_of(end.errors());
    if (end->lost.empty())
        return end->report;
    auto problem = at(one.where, "EGPU-T016",
                      fmt::format("case '{}': {}: {}", one.name,
                                  probe.has_code ? fmt::format("its process was ended by the code of plugin {} ({})",
                                                               file.plugin, probe.path)
                                                 : "its process ended before its time",
                                  end->lost),
                      fmt::format("the same outside of the test: egpu run -p {} -- egpu-workload {}", probe.path,
                                  fmt::join(one.run, " ")));
    if (!end->printed.empty())
        problem.detail = "printed until then:\n" + end->printed;
    return report_of({problem});
}

/// The interpreter's maps as a session has them.
host::SessionView view_of(const std::string& plugin, const ebpf::Object& object,
                          const std::vector<ebpf::ReferenceMap>& maps) {
    host::SessionView view;
    for (const auto& definition : object.maps)
        view.catalogue.maps.push_back({plugin + "/" + definition.name, definition});
    for (std::size_t i = 0; i < object.maps.size(); ++i) {
        const auto& definition = object.maps[i];
        host::MapData data;
        data.map = &view.catalogue.maps[i];
        data.layout = maps::make_layout(definition.value_bytes, definition.max_entries, false, 1);
        if (definition.is_array())
            data.values.resize(std::size_t{data.layout.stride} * definition.max_entries);
        for (const auto& [key, value] : maps[i]) {
            std::size_t slot = data.slots;
            if (definition.is_array()) {
                std::uint32_t index = 0;
                std::memcpy(&index, key.data(), std::min(key.size(), sizeof index));
                slot = index;
            } else {
                data.keys.insert(data.keys.end(), key.begin(), key.end());
                data.values.resize(data.values.size() + data.layout.stride);
            }
            if ((slot + 1) * data.layout.stride <= data.values.size())
                std::memcpy(data.values.data() + slot * data.layout.stride, value.data(), value.size());
            ++data.slots;
        }
        if (definition.is_array())
            data.slots = definition.max_entries;
        data.age_ns = 0;
        view.maps.push_back(std::move(data));
    }
    return view;
}

const char* where_known(const ebpf::ContextField& field) {
    switch (field.when) {
        case ebpf::ContextField::When::return_events:
            return "programs at gpu/load_return and gpu/atomic_return have it";
        case ebpf::ContextField::When::grid_exit:
            return "programs at gpu.grid/kernel_exit have it";
        case ebpf::ContextField::When::always:
            break;
    }
    return "it is of a warp's whole access: programs at gpu.warp/ have it";
}

Result<std::vector<std::byte>> context_bytes_of(const PluginTestCase& one, const ebpf::Program& program) {
    const auto kind = ebpf::context_of(program.point.event);
    std::vector<std::byte> bytes(ebpf::context_bytes(kind));
    for (const auto& given : one.context) {
        const auto* field = ebpf::field_named(kind, given.name);
        if (field == nullptr) {
            std::vector<std::string> names;
            for (const auto& each : ebpf::context_fields())
                if (kind == ebpf::ContextKind::mem ? each.in_mem_context : each.in_kernel_context)
                    names.emplace_back(each.name);
            const auto near = nearest(given.name, names);
            return at(given.where, "EGPU-T009",
                      fmt::format("the context of {} has no field '{}'", program.section, given.name),
                      near.empty() ? fmt::format("it has: {}", fmt::join(names, ", "))
                                   : fmt::format("did you mean '{}'?", near));
        }
        if (!ebpf::is_known_at(*field, program.point))
            return at(given.where, "EGPU-T009",
                      fmt::format("field '{}' is not known at {}", given.name, program.section), where_known(*field));
        if (field->bytes < 8 && given.value >> (field->bytes * 8) != 0)
            return at(given.where, "EGPU-T009",
                      fmt::format("{} does not fit the {} bytes of field '{}'", given.value, field->bytes, given.name));
        std::memcpy(bytes.data() + field->offset, &given.value, field->bytes);
    }
    return bytes;
}

Problems run_program_case(const PluginTestFile& file, const PluginTestCase& one, const host::LoadedProbe& probe) {
    ebpf::Object object = *probe.object;
    for (const auto& [option, value] : one.options)
        if (const auto set = ebpf::set_option(object, option.name, value); !set) {
            auto problem = set.error();
            problem.where = option.where;
            return {problem};
        }
    const auto program = std::find_if(object.programs.begin(), object.programs.end(),
                                      [&](const ebpf::Program& each) { return each.name == one.program; });
    if (program == object.programs.end())
        return {no_such_program(file, one.program_where, one.program, object)};
    const auto context = context_bytes_of(one, *program);
    if (!context)
        return context.errors();
    std::vector<ebpf::ReferenceMap> maps(object.maps.size());
    for (std::uint64_t i = 0; i < one.times; ++i) {
        ebpf::Execution execution;
        execution.context = *context;
        execution.maps = &maps;
        execution.clock = one.clock;
        execution.time_ns = one.time_ns;
        execution.arguments = one.arguments;
        if (const auto result = ebpf::interpret(object, program->instructions, execution); !result) {
            auto problem = at(one.program_where, "EGPU-T013",
                              fmt::format("case '{}': {} stopped: {}", one.name, one.program, result.error().message));
            return {problem};
        }
    }
    return check_expectations(file, one, object, view_of(file.plugin, object, maps));
}

Result<host::LoadedProbe> load_tested(const PluginTestFile& file, const PluginTestOptions& options) {
    auto probe = host::load_probe(options.plugin.empty() ? file.plugin : options.plugin);
    if (!probe) {
        auto problems = probe.errors();
        if (options.plugin.empty())
            problems.front().hints.emplace_back("name the file that was built: --plugin NAME.so");
        return problems;
    }
    if (probe->name != file.plugin)
        return at(
            file.plugin_where, "EGPU-T008",
            fmt::format("the cases are of plugin '{}', but {} is '{}'", file.plugin, options.plugin, probe->name));
    for (const auto& checked : probe->programs)
        if (!checked.verification)
            return checked.refusal;
    return probe;
}

int test_plugin(const PluginTestOptions& options) {
    const auto file = read_plugin_test(options.file);
    if (!file) {
        print_errors(file.errors());
        return kUsage;
    }
    const auto probe = load_tested(*file, options);
    if (!probe) {
        print_errors(probe.errors());
        return kNo;
    }
    unsigned passed = 0, failed = 0;
    for (const auto& one : file->cases) {
        if (!options.only.empty() && !glob_matches(options.only, one.name))
            continue;
        const std::string problems = one.program.empty()
                                         ? judge_session_case(*file, one, *probe, std::chrono::seconds(options.limit_s))
                                         : report_of(run_program_case(*file, one, *probe));
        ++(problems.empty() ? passed : failed);
        fmt::print("{}  {}\n", problems.empty() ? "ok    " : "FAILED", printable(one.name));
        std::fflush(stdout);
        std::fwrite(problems.data(), 1, problems.size(), stderr);
    }
    fmt::print("{} passed, {} failed\n", passed, failed);
    if (passed + failed == 0) {
        print_errors({error("EGPU-T014", fmt::format("no case's name matches '{}'", options.only))});
        return kUsage;
    }
    return failed == 0 ? kYes : kNo;
}

}  // namespace

void add_plugin_test(CLI::App& plugin, int* exit_code) {
    auto options = std::make_shared<PluginTestOptions>();
    auto* command =
        plugin.add_subcommand("test", "Run a plugin's test cases: on the simulated GPU, in the interpreter");
    command->add_option("FILE", options->file, "A NAME.test.yaml")->required();
    command->add_option("--plugin", options->plugin, "The plugin's file; left out: found by the name in FILE");
    command->add_option("--case", options->only, "Only cases whose name matches this glob");
    command->add_option("--limit", options->limit_s, "Seconds that a case with run: may take")
        ->check(CLI::Range(1U, 3600U))
        ->capture_default_str();
    add_plugin_path_option(*command);
    command->footer("Exit code: 0 all cases passed, 1 some failed, 2 FILE can't be read.");
    command->callback([options, exit_code] { *exit_code = test_plugin(*options); });
}

}  // namespace egpu::cli
