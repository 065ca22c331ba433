// SPDX-License-Identifier: Apache-2.0
// egpu run [-p WHAT]... -- PROGRAM [ARGS]: start a program and observe it (TARGETS E6.0 to E6.4).
#include "cli/run.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/files.hpp"
#include "cli/commands.hpp"
#include "cli/expectations_report.hpp"
#include "cli/file_names.hpp"
#include "cli/quantities.hpp"
#include "cli/run_report.hpp"
#include "cli/run_streams.hpp"
#include "cli/run_watchers.hpp"
#include "cli/signal_echoes.hpp"
#include "cli/supervisor.hpp"
#include "cli/terminal.hpp"
#include "host/programs/memory.hpp"
#include "host/session/session.hpp"

namespace egpu::cli {
namespace {

/// A summary is for comparing: it waits for figures that nobody else does. They are kept for the next time.
constexpr std::uint32_t kSummaryInsightsMs = 10'000;
/// TARGETS E6.0: the application returned 0, and what a set expects did not come about.
constexpr int kExpectationFailed = 3;
/// A long compilation, a slow disk: what the end of a session may take without a plugin's calls.
constexpr std::chrono::milliseconds kEndOfSession{60'000};
/// A plugin's last on_snapshot and its stop, 2 s each.
constexpr std::chrono::milliseconds kEndOfPlugin{4000};

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

/// A probe of which no program was accepted observes nothing, with --strict one that lacks a program does not observe
/// what was asked for: better to stop before the program starts. What is said of refused programs goes to `said`.
bool all_usable(const std::vector<host::LoadedProbe>& probes, bool strict, std::vector<std::string>& said) {
    bool usable = true;
    for (const auto& probe : probes) {
        std::size_t accepted = 0;
        for (const auto& checked : probe.programs) {
            accepted += checked.verification.has_value() ? 1 : 0;
            for (const auto& refusal : checked.refusal)
                if (!checked.verification) {
                    say(refusal);
                    said.push_back(to_text(refusal));
                }
        }
        if (accepted == probe.programs.size() || (accepted != 0 && !strict))
            continue;
        const std::string what = accepted == 0
                                     ? fmt::format("probe {} was refused", probe.name)
                                     : fmt::format("--strict: {} of {} programs of probe {} were refused",
                                                   probe.programs.size() - accepted, probe.programs.size(), probe.name);
        say(error("EGPU-A001", what + ": the program was not started",
                  "egpu check -v FILE shows the verifier's whole walk"));
        usable = false;
    }
    return usable;
}

/// Programs for the Linux kernel in the same objects observe nothing yet: that is said, not left to be noticed.
void name_linux_programs(const std::vector<host::LoadedProbe>& probes, std::vector<std::string>& said) {
    for (const auto& probe : probes) {
        const auto& names = probe.object->linux_programs;
        if (names.empty())
            continue;
        Diagnostic left =
            error("EGPU-A048", fmt::format("probe {}: {} {} for the Linux kernel, and not loaded by this "
                                           "version of egpu",
                                           probe.name, fmt::join(names, ", "), names.size() == 1 ? "is" : "are"));
        left.severity = Severity::warning;
        say(left);
        said.push_back(to_text(left));
    }
}

/// Before the program starts: kernels whose maps find no room run their originals.
void warn_of_large_maps(const std::vector<host::LoadedProbe>& probes, std::uint64_t limit,
                        std::vector<std::string>& said) {
    for (const auto& probe : probes)
        if (const auto warning = host::too_large_maps(*probe.object, limit)) {
            say(*warning);
            said.push_back(to_text(*warning));
        }
}

/// What a run is made with, once everything that it names is loaded.
struct RunPlan {
    const RunOptions& options;
    Settled settled;
    std::vector<std::string> names;               ///< of sets and probes asked for
    std::vector<host::Expectation> expectations;  ///< of all sets
    std::vector<std::string> said;                ///< before the program started, as text: not to be said again
};

Result<std::string> summary_name(const RunPlan& plan, int pid) {
    return expand_file_name(plan.settled.summary, {.pid = pid, .set = fmt::format("{}", fmt::join(plan.names, "+"))});
}

/// What would keep the summary from being written when a long run has ended.
Status summary_can_be_written(const RunPlan& plan) {
    const auto name = summary_name(plan, 0);
    if (!name)
        return name.errors();
    if (plan.settled.summary.empty())
        return ok();
    std::error_code failed;
    const std::filesystem::path path(*name);
    if (std::filesystem::is_directory(path, failed))
        return error("EGPU-A032", fmt::format("--summary {} is a folder", *name), "name a file in it");
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    // A folder named after the process is not there before the process.
    const auto other = summary_name(plan, 1);
    if (!other || std::filesystem::path(*other).parent_path() != path.parent_path())
        return ok();
    if (!std::filesystem::is_directory(folder, failed))
        return error("EGPU-A032", fmt::format("--summary {}: there is no folder {}", *name, folder.string()),
                     "make it first");
    if (::access(folder.c_str(), W_OK | X_OK) != 0 && ::access(name->c_str(), W_OK) != 0)
        return error("EGPU-A032", fmt::format("--summary {}: {}", *name, std::strerror(errno)));
    return ok();
}

bool write_summary(const RunPlan& plan, const RunOutcome& outcome) {
    if (plan.settled.summary.empty())
        return true;
    const auto name = summary_name(plan, outcome.facts.application_pid);
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

/// egpu's own verdict on a run.
enum class Verdict { good, expectation_failed, cannot };

/// Prints the end of a run: cannot where --strict or --summary failed.
Verdict report_end(const RunPlan& plan, RunOutcome& outcome) {
    const RunOptions& options = plan.options;
    const auto& view = *outcome.view;
    auto warnings = nowhere_warnings(view, options.probes.kernels);
    const bool nowhere = !warnings.empty();
    const auto mistyped = mistyped_kernel_warnings(view, options.probes.kernels);
    const auto refused = refused_warnings(view);
    const auto incomplete = completeness_warnings(view);
    const bool partial = misses_launches(view);
    for (const auto* more : {&mistyped, &refused, &incomplete})
        warnings.insert(warnings.end(), more->begin(), more->end());
    for (const auto& warning : warnings)
        outcome.facts.diagnostics.push_back(to_text(warning));
    if (!options.settings.no_expect)
        outcome.facts.expectations = host::evaluate(plan.expectations, view, outcome.facts.elapsed_s);
    if (!options.quiet && options.report) {
        for (const auto& text : view.catalogue.diagnostics)
            if (std::find(plan.said.begin(), plan.said.end(), text) == plan.said.end())
                say(text);
        std::string report;
        for (const auto& line : run_report(view, outcome.facts))
            report += line + "\n";
        say(report);
        for (const auto& warning : warnings)
            say(warning);
    }
    const bool met = say_expectations(outcome.facts.expectations, options.quiet || !options.report);
    bool good = write_summary(plan, outcome);
    if (plan.settled.strict && !options.probes.what.empty() && (nowhere || partial || warnings.size() != 0)) {
        say(error("EGPU-A030", nowhere             ? "--strict: a probe ran nowhere"
                               : partial           ? "--strict: not every launch was instrumented"
                               : !mistyped.empty() ? "--strict: a kernel that -k names was not launched"
                                                   : "--strict: the totals are not whole"));
        good = false;
    }
    return !good ? Verdict::cannot : met ? Verdict::good : Verdict::expectation_failed;
}

/// Ctrl-C reaches the application by itself; the second one ends egpu. What was sent to egpu alone is passed on.
std::function<bool(const host::ReceivedSignal&)> signal_handler(host::Session& session, const RunOptions& options) {
    auto interrupts = std::make_shared<int>(0);
    auto echoes = std::make_shared<SignalEchoes>();
    return [&session, &options, interrupts, echoes](const host::ReceivedSignal& received) {
        const int signal = received.number;
        const bool from_terminal = received.from_terminal;
        if (is_supervised() && !from_terminal &&
            !echoes->is_new(signal, received.sender == ::getppid(), SignalEchoes::Clock::now()))
            return true;
        if (signal == SIGUSR1) {
            session.drain(500);
            if (auto view = session.view()) {
                host::RunFacts facts;
                facts.elapsed_s = session.elapsed_seconds();
                facts.ended = false;
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

/// Where a plugin's code will run, goes on in a child of this process.
Status supervise_plugins(const RunOptions& options, const std::vector<host::LoadedProbe>& probes,
                         std::uint32_t insights_wait_ms) {
    Supervision supervision;
    supervision.patience = kEndOfSession + std::chrono::milliseconds(insights_wait_ms);
    supervision.table = options.live;
    for (const auto& probe : probes)
        if (probe.has_code) {
            supervision.plugins.push_back(probe.name);
            supervision.files.push_back(probe.path);
            supervision.patience += kEndOfPlugin;
        }
    return options.supervised && !supervision.plugins.empty() ? supervise(supervision) : ok();
}

}  // namespace

RunOutcome run_program(const RunOptions& options) {
    const RunStreams streams;
    const auto given = parse_settings(options.settings);
    if (!given) {
        for (const auto& problem : given.errors())
            say(problem);
        return failed(kUsage);
    }
    if (!kernel_patterns_are_fine(options.probes))
        return failed(kUsage);
    auto asked = load_probes(options.probes, given->decided(options.settings));
    if (!asked)
        return failed(host::kCannot);
    // Who only lists kernels asked for no files of the set's.
    RunPlan plan{options,
                 settle(options.settings, *given, options.report ? asked->settings : host::RunSettings{}),
                 std::move(asked->names),
                 std::move(asked->expectations),
                 {}};
    const Settled& settled = plan.settled;
    name_linux_programs(asked->probes, plan.said);
    if (!all_usable(asked->probes, settled.strict, plan.said))
        return failed(host::kCannot);
    warn_of_large_maps(asked->probes, settled.gpu_memory_bytes, plan.said);
    if (options.overhead && (settled.sample_launches > 1 || settled.launches != host::LaunchWindow{})) {
        say(error("EGPU-X055",
                  fmt::format("--overhead and {} can't be had at once: both decide which launches run the probes",
                              settled.sample_launches > 1 ? "--sample" : "--launch-skip or --launch-count"),
                  "measure the overhead in a run of its own"));
        return failed(kUsage);
    }
    if (const auto writable = summary_can_be_written(plan); !writable) {
        say(writable.error());
        return failed(writable.error().code == "EGPU-X051" ? static_cast<int>(kUsage) : host::kCannot);
    }
    if (!settled.record.empty() && settled.record == settled.summary) {
        say(error("EGPU-X049", fmt::format("--record and --summary both name {}", settled.record),
                  "a recording holds the summary, too"));
        return failed(kUsage);
    }
    const Watching watching{.live = options.live,
                            .strict = settled.strict,
                            .record = settled.record,
                            .record_interval = options.record_interval,
                            .standard_output = streams.inheritance().standard_output,
                            .set = fmt::format("{}", fmt::join(plan.names, "+"))};
    if (const auto possible = RunWatchers::check(watching); !possible) {
        say(possible.error());
        return failed(possible.error().code == "EGPU-X050" ? static_cast<int>(kUsage) : host::kCannot);
    }
    const auto insights_wait_ms = std::max(options.insights_wait_ms, settled.summary.empty() ? 0 : kSummaryInsightsMs);
    if (const auto watched = supervise_plugins(options, asked->probes, insights_wait_ms); !watched) {
        say(watched.error());
        return failed(host::kCannot);
    }
    host::SessionOptions session_options;
    session_options.command = options.command;
    session_options.inheritance = streams.inheritance();
    session_options.probes = std::move(asked->probes);
    session_options.probe_sets = plan.names;
    session_options.kernels = options.probes.kernels;
    session_options.simulated = choose_device(options);
    session_options.wait_ms = settled.wait_ms;
    session_options.gpu_memory_bytes = settled.gpu_memory_bytes;
    session_options.sample_launches = settled.sample_launches;
    session_options.sampling = settled.sampling;
    session_options.launch_skip = settled.launches.skip;
    session_options.launch_count = settled.launches.count.value_or(0);
    session_options.measure_overhead = options.overhead;
    session_options.reserve_bytes = settled.reserve_bytes;
    session_options.insights_wait_ms = insights_wait_ms;
    session_options.on_printed = [](const std::string& line) { say(line); };
    session_options.on_started = tell_application_started;
    session_options.on_ended = [](const host::Ending& ending) { tell_application_ended(ending.as_exit_code()); };
    if (options.before_start)
        options.before_start();
    RunWatchers watchers(watching);
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
    const Verdict verdict = report_end(plan, outcome);
    const bool recorded = watchers.finish(*outcome.view, outcome.facts) || !settled.strict;
    if (!options.quiet && !watchers.recorded().empty())
        say(fmt::format("recorded: {}   (egpu ui {})", watchers.recorded(), watchers.recorded()));
    if (outcome.exit_code == 0 && (verdict == Verdict::cannot || !recorded))
        outcome.exit_code = host::kCannot;
    else if (outcome.exit_code == 0 && verdict != Verdict::good)
        outcome.exit_code = kExpectationFailed;
    return outcome;
}

void add_run(CLI::App& app, const std::vector<std::string>& program, int* exit_code) {
    auto options = std::make_shared<RunOptions>();
    auto* command =
        app.add_subcommand("run", "Start a program and observe it: egpu run [-p WHAT]... [OPTIONS] -- PROGRAM [ARGS]");
    add_probe_options(*command, options->probes);
    command->add_flag("-q,--quiet", options->quiet, "Print nothing but errors and the lines of bpf_printk");
    command->add_flag("-v,--verbose", options->verbose, "Say how copies were compiled, too");
    command->add_flag("--simulated", options->simulated, "Use the simulated GPU although a driver is present");
    add_run_settings(*command, options->settings);
    command
        ->add_option("--record-interval", options->record_interval,
                     "Time between two samples of a recording, 10 ms to 1 hour")
        ->capture_default_str();
    command->add_flag("--live", options->live,
                      "Keep a table of the kernels below the program's lines; only on a terminal, and not for programs "
                      "that use the whole screen");
    command->add_flag("--overhead", options->overhead,
                      "Measure what the probes cost each kernel: of launches of one shape every second one runs the "
                      "original, and both are timed; figures are then of the others");
    command->footer(
        "The program's own stdout and exit code are passed through; egpu writes to stderr, behind \"egpu: \".");
    command->callback([options, &program, exit_code] {
        if (program.empty())
            throw CLI::RequiredError("a program behind --: egpu run -p WHAT -- PROGRAM [ARGS]");
        options->command = program;
        options->supervised = true;
        *exit_code = run_program(*options).exit_code;
    });
}

}  // namespace egpu::cli
