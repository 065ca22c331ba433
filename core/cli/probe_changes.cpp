// SPDX-License-Identifier: Apache-2.0
// egpu probe add, remove, replace: asked of the egpu process that owns the session, over its control socket.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/sessions.hpp"
#include "cli/terminal.hpp"
#include "host/session/control.hpp"
#include "host/session/control_socket.hpp"
#include "host/sessions/open_session.hpp"

namespace egpu::cli {
namespace {

/// Compiling a program, building the copies of all kernels, and the agent's answer.
constexpr std::uint32_t kAnswerTimeoutMs = 120'000;
constexpr std::size_t kMostRows = 20;

struct ChangeOptions {
    host::ProbeRequest request;
    std::string session;
    bool json = false;
};

/// The egpu process may have another working folder: a file is named by its whole path.
std::string whole_path(const std::string& what) {
    if (what.find('/') == std::string::npos && what.find('.') == std::string::npos)
        return what;
    std::error_code failed;
    const auto path = std::filesystem::absolute(what, failed);
    return failed ? what : path.string();
}

std::string plural(std::uint64_t count, const char* word) {
    return fmt::format("{} {}{}", format_count(count), word, count == 1 ? "" : "s");
}

/// Where a probe is that was added or put in another's place: a kernel that refused it did match.
std::string whereabouts(const host::ProbeAnswer& answer) {
    if (answer.kernels != 0)
        return fmt::format("{} in {}", plural(answer.sites, "site"), plural(answer.kernels, "kernel"));
    const auto without = std::count_if(answer.outcomes.begin(), answer.outcomes.end(), [](const auto& outcome) {
        return outcome.state == "refused" || outcome.state == "failed";
    });
    if (without != 0)
        return fmt::format("runs nowhere: {} can't take it", plural(static_cast<std::uint64_t>(without), "kernel"));
    return "matches no kernel that the application has loaded so far";
}

std::string headline(const host::ProbeRequest& request, const host::ProbeAnswer& answer) {
    if (request.action == host::ProbeAction::remove)
        return fmt::format("probe {}: detached; what it counted stays", answer.probe);
    std::string text = fmt::format("probe {}: {}", answer.probe, whereabouts(answer));
    if (answer.maps == "kept")
        text += "; its maps go on with what they hold";
    else if (answer.maps == "fresh" && answer.graphs_hold_former)
        text += "; its maps start anew: CUDA graphs may go on counting into those of the program before";
    else if (answer.maps == "fresh" && request.action == host::ProbeAction::replace)
        text += "; its maps have another shape and start anew";
    return text;
}

/// What CUDA graphs still hold, or launched before they followed; "" where that is nothing.
std::string graph_words(const host::KernelOutcome& outcome) {
    std::string text;
    if (outcome.graph_nodes != 0)
        text = fmt::format("; {} of CUDA graphs still {} what ran before", plural(outcome.graph_nodes, "node"),
                           outcome.graph_nodes == 1 ? "holds" : "hold");
    if (outcome.graph_launches != 0)
        text += fmt::format("; {} launches by graphs went on with it since", format_count(outcome.graph_launches));
    return text;
}

std::string words(const host::KernelOutcome& outcome) {
    if (outcome.state == "waiting")
        return "waiting for a quiet moment";
    if (outcome.state == "original")
        return "original code runs";
    if (outcome.state == "attached")
        return fmt::format("instrumented, {}", plural(outcome.sites, "site"));
    return outcome.reason.empty() ? outcome.state : outcome.state + ": " + outcome.reason;
}

void print_answer(const host::ProbeRequest& request, const host::ProbeAnswer& answer) {
    fmt::print("{}\n", headline(request, answer));
    TextTable table;
    table.column("", Align::left);
    table.column("", Align::left);
    bool waits = false, behind = false;
    for (const auto& outcome : answer.outcomes) {
        waits = waits || outcome.state == "waiting";
        behind = behind || outcome.graph_nodes != 0;
        if (table.rows() < kMostRows)
            table.row({"  " + outcome.kernel, words(outcome) + graph_words(outcome)});
    }
    const auto lines = table.lines();
    for (std::size_t i = 1; i < lines.size(); ++i)  // without the row of headers
        fmt::print("{}\n", lines[i]);
    if (answer.outcomes.size() > kMostRows)
        fmt::print("  ({} more: egpu kernels)\n", answer.outcomes.size() - kMostRows);
    if (waits)
        fmt::print(
            "A copy is loaded when the application's context is idle (after cuCtxSynchronize, in a module load): "
            "until\n"
            "then what ran before goes on. egpu kernels says when it is there.\n");
    if (behind)
        fmt::print(
            "A CUDA graph follows before a launch at which its last one is over, unless the application changed its\n"
            "nodes; until then its launches count under the probes that it holds. egpu kernels says how many are "
            "left.\n");
}

int change_probes(const ChangeOptions& options) {
    const auto mapping = host::open_session(options.session);
    if (!mapping) {
        print_errors(mapping.errors());
        return kEnvironment;
    }
    host::ProbeRequest request = options.request;
    if (!request.what.empty())
        request.what = whole_path(request.what);
    const auto text = host::ask_session(host::control_path(mapping->name()), host::to_json(request), kAnswerTimeoutMs);
    if (!text) {
        print_errors(text.errors());
        return kEnvironment;
    }
    const auto answer = host::answer_from_json(*text);
    if (!answer) {
        print_errors(answer.errors());
        return kEnvironment;
    }
    if (options.json)
        fmt::print("{}\n", *text);
    for (const auto& problem : answer->problems)
        fmt::print(stderr, "{}", problem);
    if (!answer->done)
        return kNo;
    if (!options.json)
        print_answer(request, *answer);
    return kYes;
}

void add_change(CLI::App& command, host::ProbeAction action, const char* name, const char* help, int* exit_code) {
    auto options = std::make_shared<ChangeOptions>();
    options->request.action = action;
    auto* change = command.add_subcommand(name, help);
    if (action != host::ProbeAction::add)
        change->add_option("NAME", options->request.name, "The probe, as egpu probe list names it")->required();
    if (action != host::ProbeAction::remove)
        change
            ->add_option("WHAT", options->request.what,
                         std::string("A plugin's or program's name, a .so, .bpf.c or .bpf.o file, as -p of egpu run "
                                     "takes it") +
                             (action == host::ProbeAction::add
                                  ? "; or the name of a probe that was removed, which comes back as it was"
                                  : ""))
            ->required();
    add_session_option(*change, options->session);
    change->add_flag("-j,--json", options->json, "Print JSON");
    change->callback([options, exit_code] { *exit_code = change_probes(*options); });
}

}  // namespace

void add_probe_changes(CLI::App& command, int* exit_code) {
    add_change(command, host::ProbeAction::add, "add", "Attach a probe while the program runs", exit_code);
    add_change(command, host::ProbeAction::remove, "remove",
               "Detach a probe: without one the original code runs, and what was counted stays", exit_code);
    add_change(command, host::ProbeAction::replace, "replace",
               "Put another program in a probe's place; maps of the same shape go on", exit_code);
}

}  // namespace egpu::cli
