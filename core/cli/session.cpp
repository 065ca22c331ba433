// SPDX-License-Identifier: Apache-2.0
// egpu session list, egpu session stop: which sessions there are on this machine, and ending one's observation.
#include <unistd.h>

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/session_info.hpp"
#include "cli/sessions.hpp"
#include "cli/terminal.hpp"
#include "host/session/control.hpp"
#include "host/session/control_socket.hpp"
#include "host/sessions/life.hpp"
#include "host/sessions/open_session.hpp"
#include "host/view/live_view.hpp"
#include "segment/create/sessions.hpp"
#include "segment/layout/build_id.h"

namespace egpu::cli {
namespace {

using nlohmann::ordered_json;

/// Taking copies out of an application that loads a module takes its time.
constexpr std::uint32_t kStopTimeoutMs = 60'000;

struct SessionRow {
    segment::SessionInfo info;
    std::string state, remark;
    std::vector<std::string> probes;
    std::optional<std::uint64_t> launches;
    std::vector<std::string> command;
};

/// State and remark of one that can't be looked into.
void judge_unreadable(SessionRow& row) {
    if (row.info.user != ::getuid()) {
        row.state = "other user";
        row.remark = fmt::format("of user {}", row.info.user);
    } else if (!row.info.host_alive) {
        row.state = "dead";
        row.remark = "its egpu process is gone; the next egpu run clears it away";
    } else if (row.info.is_segment) {
        row.state = row.info.other_build ? "other build" : "damaged";
        row.remark = row.info.unreadable;
    } else {
        row.state = "damaged";
        row.remark = "no session of egpu, or one that is only being made";
    }
}

void look_into(SessionRow& row) {
    segment::Mapping mapping;
    if (mapping.open(row.info.name, segment::Writable::no, ::egpu_segment_build_id()) != segment::AccessError::none)
        return;
    const auto view = host::read_session(mapping.view());
    if (!view) {
        row.state = "damaged";
        row.remark = view.error().code == "EGPU-M010" ? "its catalogue is damaged" : view.error().message;
        return;
    }
    for (const auto& probe : view->catalogue.probes)
        if (probe.state == host::ProbeState::attached || probe.state == host::ProbeState::matched_nothing)
            if (row.probes.empty() || row.probes.back() != probe.probe)
                row.probes.push_back(probe.probe);
    row.launches = view->launches();
    row.command = view->catalogue.command;
    if (view->catalogue.stopped_unix_ms != 0 && row.state == "running") {
        row.state = "stopped";
        row.remark = "by egpu session stop; the application runs on";
    }
    if (!view->agent_error.empty())
        row.remark = view->agent_error;
}

SessionRow judge(segment::SessionInfo info) {
    SessionRow row;
    row.info = std::move(info);
    if (!row.info.readable) {
        judge_unreadable(row);
        return row;
    }
    const host::SessionLife life = host::life_of(row.info);
    row.state = host::to_words(life);
    switch (life) {
        case host::SessionLife::running:
            break;
        case host::SessionLife::starting:
            row.remark = "the application has not used CUDA so far";
            break;
        case host::SessionLife::suspended:
            row.remark = host::suspended_text(row.info);
            break;
        case host::SessionLife::ended:
        case host::SessionLife::killed:
            row.state = "ending";
            row.remark = "the application has ended, egpu sums up";
            break;
        case host::SessionLife::lost:
            row.state = "dead";
            row.remark = row.info.agent_alive
                             ? "its egpu process is gone; the application runs on with its original kernels"
                             : "its egpu process is gone; the next egpu run clears it away";
    }
    look_into(row);
    return row;
}

std::vector<SessionRow> all_sessions() {
    std::vector<SessionRow> rows;
    for (auto& info : segment::list_sessions(true))
        rows.push_back(judge(std::move(info)));
    return rows;
}

std::string dump(const ordered_json& json) {
    return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

template <typename Value>
ordered_json value_or_null(const Value& value, bool known) {
    return known ? ordered_json(value) : ordered_json(nullptr);
}

int list_sessions(bool json) {
    const auto rows = all_sessions();
    if (json) {
        auto list = ordered_json::array();
        for (const auto& row : rows)
            list.push_back(
                {{"session", row.info.host_pid},
                 {"user", row.info.user},
                 {"state", row.state},
                 {"program", value_or_null(row.info.program, !row.info.program.empty())},
                 {"pid", value_or_null(row.info.agent_pid, row.info.agent_pid != 0)},
                 {"command", value_or_null(row.command, !row.command.empty())},
                 {"probes", value_or_null(row.probes, row.launches.has_value())},
                 {"launches", value_or_null(row.launches.value_or(0), row.launches.has_value())},
                 {"started_unix_ms", value_or_null(row.info.started_ns / 1'000'000, row.info.started_ns != 0)},
                 {"remark", value_or_null(row.remark, !row.remark.empty())}});
        fmt::print("{}", dump(list));
        return kYes;
    }
    if (rows.empty()) {
        fmt::print("no session runs: egpu run -p WHAT -- PROGRAM starts one\n");
        return kYes;
    }
    TextTable table;
    table.column("SESSION");
    table.column("PROGRAM", Align::left);
    table.column("STATE", Align::left);
    table.column("PROBES", Align::left);
    table.column("LAUNCHES");
    table.column("SINCE", Align::left);
    table.column("REMARK", Align::left);
    for (const auto& row : rows)
        table.row(
            {std::to_string(row.info.host_pid), row.info.program.empty() ? "-" : row.info.program, row.state,
             row.probes.empty() ? "-" : fmt::format("{}", fmt::join(row.probes, " ")),
             row.launches ? format_count(*row.launches) : "n/a",
             row.info.started_ns == 0 ? "-" : local_time(static_cast<std::int64_t>(row.info.started_ns / 1'000'000)),
             row.remark});
    fmt::print("{}", table.text());
    return kYes;
}

/// What can't be undone is never done to a session that nobody named.
Diagnostic name_one() {
    const std::string sessions = host::sessions_text();
    return error("EGPU-X060", "which session is to be stopped? Name it: egpu session stop SESSION",
                 sessions.empty() ? "no session runs" : "running: " + sessions);
}

int stop_session(const std::string& session, bool json) {
    if (session.empty()) {
        print_errors({name_one()});
        return kUsage;
    }
    const auto mapping = host::open_session(session);
    if (!mapping) {
        print_errors(mapping.errors());
        return kEnvironment;
    }
    const auto text = host::ask_session(
        host::control_path(mapping->name()),
        host::to_json(host::ProbeRequest{.action = host::ProbeAction::stop, .name = {}, .what = {}}), kStopTimeoutMs);
    const auto answer = text ? host::answer_from_json(*text) : text.errors();
    if (!answer) {
        print_errors(answer.errors());
        return kEnvironment;
    }
    if (json)
        fmt::print("{}\n", *text);
    for (const auto& problem : answer->problems)
        fmt::print(stderr, "{}", problem);
    if (!answer->done)
        return kNo;
    if (json)
        return kYes;
    std::uint32_t waiting = 0, nodes = 0;
    for (const auto& outcome : answer->outcomes) {
        waiting += outcome.state == "waiting" ? 1 : 0;
        nodes += outcome.graph_nodes;
    }
    fmt::print("session {} is stopped: its probes are taken off, original code runs in {}\n",
               mapping->view().header().session_id, counted(answer->outcomes.size() - waiting, "kernel"));
    if (waiting != 0)
        fmt::print("  {} {} for the application to take the change\n", counted(waiting, "kernel"),
                   waiting == 1 ? "waits" : "wait");
    if (nodes != 0)
        fmt::print("  {} of CUDA graphs {} instrumented copies until their next launch\n", counted(nodes, "node"),
                   nodes == 1 ? "holds" : "hold");
    fmt::print("The application runs on; egpu run waits for its end and reports what was counted until now.\n");
    return kYes;
}

}  // namespace

void add_session(CLI::App& app, int* exit_code) {
    auto* command = app.add_subcommand("session", "Sessions on this machine");
    command->require_subcommand(1);
    struct Options {
        std::string session;
        bool json = false;
    };
    const auto options = std::make_shared<Options>();
    auto* list =
        command->add_subcommand("list", "All sessions with their states, also those that can't be looked into");
    list->add_flag("-j,--json", options->json, "Print JSON");
    list->callback([options, exit_code] { *exit_code = list_sessions(options->json); });
    auto* info = command->add_subcommand("info", "One session, or the recording of one: what it is and holds");
    info->add_option("SESSION", options->session,
                     "The session's number or the file of a recording; left out: the only session that runs");
    add_session_option(*info, options->session, "SESSION");
    info->add_flag("-j,--json", options->json, "Print JSON");
    info->callback([options, exit_code] { *exit_code = print_session_info(options->session, options->json); });
    auto* stop = command->add_subcommand(
        "stop", "Take all probes off: the application runs on with its original kernels, egpu run reports at its end");
    stop->add_option("SESSION", options->session, "The session's number");
    add_session_option(*stop, options->session, "SESSION");
    stop->add_flag("-j,--json", options->json, "Print JSON");
    stop->callback([options, exit_code] { *exit_code = stop_session(options->session, options->json); });
}

}  // namespace egpu::cli
