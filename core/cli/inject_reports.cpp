// SPDX-License-Identifier: Apache-2.0
#include "cli/inject_reports.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include <fmt/format.h>

#include "cli/inject/all_sites.hpp"
#include "cli/inject/identity.hpp"
#include "cli/inject/measure.hpp"
#include "cli/inject/site_table.hpp"
#include "cli/terminal.hpp"
#include "inject/compile/compile.hpp"

namespace egpu::cli {
namespace {

/// Each module of each file; the worse of the exit codes.
template <typename Visit>
int for_each_module(const std::vector<std::string>& files, const Visit& visit) {
    int result = kYes;
    for (const auto& file : files) {
        const auto modules = read_modules(file);
        if (!modules) {
            print_errors(modules.errors());
            const bool refused = modules.error().code.starts_with("EGPU-P0");  // read, and no PTX that egpu takes
            result = !refused ? static_cast<int>(kEnvironment) : result == kYes ? static_cast<int>(kNo) : result;
            continue;
        }
        for (const auto& module : *modules) {
            const int answer = visit(module);
            std::fflush(stdout);
            if (result != kEnvironment && answer != kYes)
                result = answer;
        }
    }
    return result;
}

void print_no_ptxas(std::string_view what) {
    print_errors(
        {error("EGPU-X053", fmt::format("{} needs ptxas", what), "install a CUDA Toolkit, or set EGPU_PTXAS")});
}

int print_identity(const NamedModule& module, const Identity& identity) {
    if (identity.refusal) {
        fmt::print("{}: not shown: {}{}\n", module.name, identity.refused_both ? "" : "of what egpu prints, ",
                   identity.refusal->message);
        if (!identity.refusal->detail.empty())
            fmt::print("{}\n", identity.refusal->detail);
    }
    for (const auto& difference : identity.differences)
        fmt::print("{}: differs: {}{}{}: {}\n", module.name, difference.function,
                   difference.function.empty() ? "" : ", ", difference.where, difference.what);
    if (identity.refusal || !identity.differences.empty())
        return kNo;
    fmt::print("{}: {}: {}, {}, {}\n", module.name, identity.sections == 0 ? "the same tokens" : "identical",
               counted(identity.functions, "function"), counted(identity.instructions, "instruction"),
               counted(identity.sections, "section"));
    return kYes;
}

int print_all_sites(const NamedModule& module, const AllSites& found) {
    fmt::print("{}: {}, {} (different texts: {}), {} refused, {} failed\n", module.name,
               counted(found.kernels, "kernel"), found.copies == 1 ? "1 copy" : fmt::format("{} copies", found.copies),
               found.texts, found.refused.size(), found.failed.size());
    for (const auto& [kind, sites] : found.sites)
        if (sites > 0)
            fmt::print("  {}: {}\n", kind, counted(sites, "site"));
    for (const auto& [which, count] : found.skipped)
        fmt::print("  {}: left out {}x: {}\n", which.first, count, which.second);
    for (const auto& [reason, kinds] : found.not_counted)
        fmt::print("  {}: {}\n", counted(kinds.size(), "kind"), reason);
    for (const auto& [kernel, reason] : found.refused)
        fmt::print("  {}: refused: {}  [{}]\n", kernel, reason.message, reason.code);
    for (const auto& [what, problem] : found.failed)
        fmt::print("  {}: FAILED: {}  [{}]\n{}{}", what, problem.message, problem.code, problem.detail,
                   problem.detail.empty() ? "" : "\n");
    return found.failed.empty() ? kYes : kNo;
}

double milliseconds_of(std::chrono::nanoseconds time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

Result<Trial> counting_trial(const KindPrograms& programs) {
    Trial trial;
    for (std::size_t at = 0; at < programs.object.programs.size(); ++at)
        trial.add(programs.object, at);
    return trial;
}

/// A row a kernel, and one for all of them.
void print_kernel_figures(const NamedModule& module, const Trial& trial) {
    TextTable table;
    table.column("KERNEL", Align::left);
    for (const char* header : {"SITES", "IN REGISTERS", "ADDED", "BYTES", "PLAN ms", "INJECT ms"})
        table.column(header);
    KernelFigures total;
    const auto row = [&table](const std::string& name, const KernelFigures& one) {
        table.row({name, fmt::format("{}", one.sites), fmt::format("{}", one.accumulators),
                   fmt::format("{}", one.instructions_added), fmt::format("{}", one.bytes),
                   fmt::format("{:.2f}", milliseconds_of(one.planning)),
                   fmt::format("{:.2f}", milliseconds_of(one.injecting))});
    };
    for (const auto* kernel : kernels_of(module.module)) {
        const auto one = measure_kernel(module, std::string(kernel->name), trial);
        if (!one.problem.empty()) {
            fmt::print("  {}: refused: {}  [{}]\n", one.kernel, one.problem.front().message, one.problem.front().code);
            continue;
        }
        total.sites += one.sites;
        total.accumulators += one.accumulators;
        total.instructions_added += one.instructions_added;
        total.bytes += one.bytes;
        total.planning += one.planning;
        total.injecting += one.injecting;
        row(one.kernel, one);
    }
    row("all", total);
    fmt::print("{}", table.text());
}

}  // namespace

int report_identity(const std::vector<std::string>& files, const std::string& architecture) {
    const auto ptxas = inject::find_ptxas();
    std::size_t modules = 0, same = 0;
    const int result = for_each_module(files, [&](const NamedModule& module) {
        const int answer = print_identity(module, check_identity(module, ptxas, architecture));
        ++modules;
        same += answer == kYes ? 1U : 0U;
        return answer;
    });
    fmt::print("{} of {} the same\n", same, counted(modules, "module"));
    if (ptxas)
        return result;
    print_no_ptxas("--identity");
    return result == kYes ? static_cast<int>(kEnvironment) : result;
}

int report_all_sites(const std::vector<std::string>& files, const std::string& kind, const std::string& architecture,
                     const Sampling& sampling) {
    auto kinds = kind.empty() ? Result<std::vector<Kind>>(offered_kinds()) : kinds_named(kind);
    if (!kinds) {
        print_errors(kinds.errors());
        return kUsage;
    }
    const auto check = AllSitesCheck::make(std::move(*kinds), sampling);
    if (!check) {
        print_errors(check.errors());
        return kBug;
    }
    const auto ptxas = inject::find_ptxas();
    if (!ptxas) {
        print_no_ptxas("--all-sites");
        return kEnvironment;
    }
    host::Assembler assembler;
    const auto& compiler = assembler.compiler(0);
    if (!compiler) {
        print_errors(compiler.errors());
        return kEnvironment;
    }
    return for_each_module(files, [&](const NamedModule& module) {
        return print_all_sites(module, check->run(module, assembler, *compiler, architecture));
    });
}

int report_sites(const std::vector<std::string>& files, const std::vector<ebpf::InjectionPoint>& points) {
    TextTable table;
    for (const char* column : SiteTable::kColumns)
        table.column(column, Align::left);
    std::vector<std::string> notes;
    const int result = for_each_module(files, [&](const NamedModule& module) {
        SiteTable found = site_table(module, points);
        for (const auto& row : found.rows)
            table.row({row.begin(), row.end()});
        std::move(found.notes.begin(), found.notes.end(), std::back_inserter(notes));
        return kYes;
    });
    fmt::print("{}", table.text());
    for (const auto& note : notes)
        fmt::print(stderr, "{}\n", note);
    return result == kYes && table.rows() == 0 ? static_cast<int>(kNo) : result;
}

int report_figures(const std::vector<std::string>& files, const std::vector<ebpf::InjectionPoint>& points) {
    std::vector<Kind> kinds;
    for (const auto& point : points)
        kinds.push_back({ebpf::to_section(point), {point}});
    const auto programs = programs_that_count(kinds);
    if (!programs) {
        print_errors(programs.errors());
        return kNo;
    }
    const auto trial = counting_trial(*programs);
    return for_each_module(files, [&](const NamedModule& module) {
        const ModuleFigures figures = measure_module(module);
        const double seconds = std::chrono::duration<double>(figures.parsing).count();
        fmt::print("{}: {}, {}, {}, {}, {}; parse {:.2f} ms, {:.0f} MB/s\n", module.name,
                   counted(figures.bytes, "byte"), counted(figures.lines, "line"),
                   counted(figures.functions, "function"), counted(figures.instructions, "instruction"),
                   counted(figures.variables, "variable"), seconds * 1e3,
                   seconds > 0 ? static_cast<double>(figures.bytes) / 1e6 / seconds : 0.0);
        print_kernel_figures(module, *trial);
        return kYes;
    });
}

}  // namespace egpu::cli
