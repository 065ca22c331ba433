// SPDX-License-Identifier: Apache-2.0
// egpu run [-p WHAT]... -- PROGRAM [ARGS]: start a program and observe it (TARGETS E6.0 to E6.4).
#include "cli/run.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "base/files.hpp"
#include "cli/commands.hpp"
#include "cli/file_names.hpp"
#include "cli/quantities.hpp"
#include "cli/run_report.hpp"
#include "cli/run_watchers.hpp"
#include "cli/terminal.hpp"
#include "host/session/session.hpp"

namespace egpu::cli {
namespace {

/// A summary is for comparing: it waits for figures that nobody else does. They are kept for the next time.
constexpr std::uint32_t kSummaryInsightsMs = 10'000;

RunOutcome failed(int exit_code) {
    RunOutcome outcome;
    outcome.exit_code = exit_code;
    return outcome;
}

/// True where the stand-ins are to be used; says which device is used.
bool choose_device(const RunOptions& options) {
    const bool driver = host::driver_present();
    const char* overhead = options.overhead ? " --overhead measures nothing on it." : "";
    if (!options.quiet && options.simulated && driver)
        say(fmt::format("using the simulated GPU, as asked. Its counts are exact; it knows no time.{}", overhead));
    if (!options.quiet && !driver)
        say(fmt::format("no NVIDIA driver: using the simulated GPU. Its counts are exact; it knows no time.{}",
                        overhead));
    return options.simulated || !driver;
}

/// A probe of which no program was accepted observes nothing: better to stop before the program starts.
bool all_usable(const std::vector<host::LoadedProbe>& probes, bool quiet) {
    bool usable = true;
    for (const auto& probe : probes) {
        bool any = false;
        for (const auto& checked : probe.programs) {
            any = any || checked.verification.has_value();
            for (const auto& refusal : checked.refusal)
                if (!checked.verification)
                    say(refusal);
        }
        if (!any) {
            say(error("EGPU-A001", fmt::format("probe {} was refused: the program was not started", probe.name),
                      "egpu check -v FILE shows the verifier's whole walk"));
            usable = false;
        }
    }
    static_cast<void>(quiet);
    return usable;
}

Result<std::string> summary_name(const RunOptions& options, int pid) {
    return expand_file_name(options.summary,
                            {.pid = pid, .set = fmt::format("{}", fmt::join(options.probes.what, "+"))});
}

/// What would keep the summary from being written when a long run has ended.
Status summary_can_be_written(const RunOptions& options) {
    const auto name = summary_name(options, 0);
    if (!name)
        return name.errors();
    if (options.summary.empty())
        return ok();
    std::error_code failed;
    const std::filesystem::path path(*name);
    if (std::filesystem::is_directory(path, failed))
        return error("EGPU-A032", fmt::format("--summary {} is a folder", *name), "name a file in it");
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    // A folder named after the process is not there before the process.
    const auto other = summary_name(options, 1);
    if (!other || std::filesystem::path(*other).parent_path() != path.parent_path())
        return ok();
    if (!std::filesystem::is_directory(folder, failed))
        return error("EGPU-A032", fmt::format("--summary {}: there is no folder {}", *name, folder.string()),
                     "make it first");
    if (::access(folder.c_str(), W_OK | X_OK) != 0 && ::access(name->c_str(), W_OK) != 0)
        return error("EGPU-A032", fmt::format("--summary {}: {}", *name, std::strerror(errno)));
    return ok();
}

bool write_summary(const RunOptions& options, const RunOutcome& outcome) {
    if (options.summary.empty())
        return true;
    const auto name = summary_name(options, outcome.facts.application_pid);
    if (!name) {
        say(name.error());
        return false;
    }
    const auto written = write_file(*name, host::summary_json(*outcome.view, outcome.facts));
    if (!written)
        say(written.error());
    return written.has_value();
}

/// True where launches ran the original that were to run a copy: none of kernels that nobody asked for, or sampled out.
bool misses_launches(const host::SessionView& view) {
    bool misses = view.unknown_launches != 0 || view.unasked_launches != 0;
    for (std::size_t i = 0; i < view.counts.size(); ++i) {
        const auto& counts = view.counts[i];
        misses = misses || (view.catalogue.kernels[i].state != host::KernelState::not_matched &&
                            counts.launches != counts.instrumented + counts.left_out);
    }
    return misses;
}

/// Prints the end of a run and gives egpu's own verdict: false where --strict or --summary failed.
bool report_end(const RunOptions& options, RunOutcome& outcome) {
    const auto& view = *outcome.view;
    auto warnings = nowhere_warnings(view, options.probes.kernels);
    const bool nowhere = !warnings.empty();
    const auto mistyped = mistyped_kernel_warnings(view, options.probes.kernels);
    const auto incomplete = completeness_warnings(view);
    const bool partial = misses_launches(view);
    for (const auto* more : {&mistyped, &incomplete})
        warnings.insert(warnings.end(), more->begin(), more->end());
    for (const auto& warning : warnings)
        outcome.facts.diagnostics.push_back(to_text(warning));
    if (!options.quiet && options.report) {
        for (const auto& text : view.catalogue.diagnostics)
            say(text);
        std::string report;
        for (const auto& line : run_report(view, outcome.facts))
            report += line + "\n";
        say(report);
        for (const auto& warning : warnings)
            say(warning);
    }
    bool good = write_summary(options, outcome);
    if (options.strict && !options.probes.what.empty() && (nowhere || partial || warnings.size() != 0)) {
        say(error("EGPU-A030", nowhere             ? "--strict: a probe ran nowhere"
                               : partial           ? "--strict: not every launch was instrumented"
                               : !mistyped.empty() ? "--strict: a kernel that -k names was not launched"
                                                   : "--strict: the totals are not whole"));
        good = false;
    }
    return good;
}

/// Ctrl-C reaches the application by itself; the second one ends egpu. What was sent to egpu alone is passed on.
std::function<bool(int, bool)> signal_handler(host::Session& session, const RunOptions& options) {
    auto interrupts = std::make_shared<int>(0);
    return [&session, &options, interrupts](int signal, bool from_terminal) {
        if (signal == SIGUSR1) {
            session.drain(500);
            if (auto view = session.view()) {
                host::RunFacts facts;
                facts.elapsed_s = session.elapsed_seconds();
                std::string text = fmt::format("after {:.1f} s, so far:\n", facts.elapsed_s);
                for (const auto& line : run_report(*view, facts))
                    text += line + "\n";
                say(text);
            }
            return true;
        }
        if (signal == SIGINT && ++*interrupts > 1) {
            if (!options.quiet)
                say("interrupted twice: egpu ends now, the application goes on with its original kernels");
            return false;
        }
        if (!from_terminal)
            ::kill(session.application(), signal);
        return true;
    };
}

}  // namespace

RunOutcome run_program(const RunOptions& options) {
    const auto wait_ns = parse_duration_ns(options.wait, "--wait");
    const auto memory = parse_memory(options.gpu_memory, "--gpu-memory");
    const auto reserve = parse_memory(options.reserve, "--reserve");
    for (const auto* quantity : {&wait_ns, &memory, &reserve})
        if (!*quantity) {
            say(quantity->error());
            return failed(host::kCannot);
        }
    const auto sample = parse_sample(options.sample, "--sample");
    if (!sample) {
        say(sample.error());
        return failed(kUsage);
    }
    if (options.overhead && *sample > 1) {
        say(error("EGPU-X055",
                  "--overhead and --sample can't be had at once: both decide which launches run the probes",
                  "measure the overhead in a run of its own"));
        return failed(kUsage);
    }
    if (const auto writable = summary_can_be_written(options); !writable) {
        say(writable.error());
        return failed(host::kCannot);
    }
    if (const auto possible = RunWatchers::check(options); !possible) {
        say(possible.error());
        return failed(host::kCannot);
    }
    auto probes = load_probes(options.probes);
    if (!probes || !all_usable(*probes, options.quiet))
        return failed(host::kCannot);
    host::SessionOptions session_options;
    session_options.command = options.command;
    session_options.probes = std::move(*probes);
    session_options.kernels = options.probes.kernels;
    session_options.simulated = choose_device(options);
    session_options.wait_ms = static_cast<std::uint32_t>(*wait_ns / 1'000'000);
    session_options.gpu_memory_bytes = *memory;
    session_options.sample_launches = *sample;
    session_options.measure_overhead = options.overhead;
    session_options.reserve_bytes = *reserve;
    session_options.insights_wait_ms =
        std::max(options.insights_wait_ms, options.summary.empty() ? 0 : kSummaryInsightsMs);
    if (options.before_start)
        options.before_start();
    RunWatchers watchers(options);
    int failure_code = host::kCannot;
    auto session = host::Session::start(std::move(session_options), &failure_code);
    if (!session) {
        watchers.stop_table();
        for (const auto& problem : session.errors())
            say(problem);
        return failed(failure_code);
    }
    watchers.watch(**session);
    const auto ending = (*session)->wait(signal_handler(**session, options));
    watchers.stop_table();
    if (!ending)
        return failed(128 + SIGINT);
    RunOutcome outcome;
    outcome.facts.ending = *ending;
    outcome.facts.elapsed_s = (*session)->elapsed_seconds();
    outcome.facts.application_pid = (*session)->application();
    outcome.exit_code = ending->as_exit_code();
    if (const auto report = (*session)->compile_report(); options.verbose && !report.empty())
        say(report);
    auto view = (*session)->view();
    if (!view) {
        say(view.error());
        return outcome;
    }
    outcome.view = std::move(*view);
    const bool good = report_end(options, outcome);
    const bool recorded = watchers.finish(*outcome.view, outcome.facts) || !options.strict;
    if (!options.quiet && !watchers.recorded().empty())
        say(fmt::format("recorded: {}   (egpu ui {})", watchers.recorded(), watchers.recorded()));
    if ((!good || !recorded) && outcome.exit_code == 0)
        outcome.exit_code = host::kCannot;
    return outcome;
}

void add_run(CLI::App& app, const std::vector<std::string>& program, int* exit_code) {
    auto options = std::make_shared<RunOptions>();
    auto* command =
        app.add_subcommand("run", "Start a program and observe it: egpu run [-p WHAT]... [OPTIONS] -- PROGRAM [ARGS]");
    add_probe_options(*command, options->probes);
    command->add_flag("-q,--quiet", options->quiet, "Print nothing but errors");
    command->add_flag("-v,--verbose", options->verbose, "Say how copies were compiled, too");
    command->add_flag("--simulated", options->simulated, "Use the simulated GPU although a driver is present");
    command->add_flag(
        "--strict", options->strict,
        "Exit with 125 where a probe ran nowhere or missed a launch that it was to see (if the program returned 0)");
    command
        ->add_option("--summary", options->summary,
                     "Write a JSON summary; %p pid, %h host, %n probes, %q{VAR} environment")
        ->check([](const std::string& name) { return name.empty() ? "the name of a file is empty" : ""; });
    command
        ->add_option("--record", options->record,
                     "Write the session into a file that egpu ui and egpu session info open; placeholders as --summary")
        ->check([](const std::string& name) { return name.empty() ? "the name of a file is empty" : ""; });
    command->add_option("--record-interval", options->record_interval, "Time between two samples of a recording")
        ->capture_default_str();
    command->add_flag("--live", options->live,
                      "Keep a table of the kernels below the program's lines; only on a terminal, and not for programs "
                      "that use the whole screen");
    command->add_option("--wait", options->wait, "The longest that a module load waits for its instrumented copies")
        ->capture_default_str();
    command->add_option("--gpu-memory", options->gpu_memory, "What egpu may allocate on the device")
        ->capture_default_str();
    command
        ->add_option("--sample", options->sample,
                     "Which launches run the probes: launches=1/N (of each kernel the first and every N-th after "
                     "it) or launches=all")
        ->capture_default_str();
    command->add_flag("--overhead", options->overhead,
                      "Measure what the probes cost each kernel: of launches of one shape every second one runs the "
                      "original, and both are timed; figures are then of the others");
    command
        ->add_option("--reserve", options->reserve,
                     "Shared memory kept for the maps of probes that are added while the program runs")
        ->capture_default_str();
    command->footer(
        "The program's own stdout and exit code are passed through; egpu writes to stderr, behind \"egpu: \".");
    command->callback([options, &program, exit_code] {
        if (program.empty())
            throw CLI::RequiredError("a program behind --: egpu run -p WHAT -- PROGRAM [ARGS]");
        options->command = program;
        *exit_code = run_program(*options).exit_code;
    });
}

}  // namespace egpu::cli
