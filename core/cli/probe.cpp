// SPDX-License-Identifier: Apache-2.0
// egpu probe: the probes of a running session and their states; changing them is in probe_changes.cpp.
#include <time.h>

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/sessions.hpp"
#include "cli/terminal.hpp"

namespace egpu::cli {
namespace {

struct ListOptions {
    std::string session;
    bool json = false;
};

/// Kernels whose copy with the probe waits to be loaded.
std::uint32_t waiting_kernels(const host::SessionView& view, const host::Probe& probe) {
    const auto index = static_cast<std::uint32_t>(&probe - view.catalogue.probes.data());
    std::uint32_t waiting = 0;
    for (const auto& kernel : view.catalogue.kernels) {
        if (!kernel.waiting || kernel.copy == 0 || kernel.copy > view.catalogue.copies.size())
            continue;
        const auto& holds = view.catalogue.copies[kernel.copy - 1].probes;
        waiting += std::find(holds.begin(), holds.end(), index) != holds.end() ? 1 : 0;
    }
    return waiting;
}

/// Nodes of CUDA graphs that hold a copy with the probe although it is not what their kernel is to run.
std::uint32_t former_nodes(const host::SessionView& view, const host::Probe& probe) {
    const auto index = static_cast<std::uint32_t>(&probe - view.catalogue.probes.data());
    std::uint32_t nodes = 0;
    for (std::size_t i = 0; i < view.copies.size(); ++i) {
        const auto& copy = view.catalogue.copies[i];
        const auto* kernel = view.catalogue.kernel(copy.kernel_id);
        const bool holds_it = std::find(copy.probes.begin(), copy.probes.end(), index) != copy.probes.end();
        nodes += holds_it && kernel != nullptr && kernel->copy != i + 1 ? view.copies[i].graph_nodes : 0;
    }
    return nodes;
}

nlohmann::ordered_json time_or_null(std::int64_t unix_ms) {
    return unix_ms == 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(unix_ms);
}

std::string clock_time(std::int64_t unix_ms) {
    const time_t seconds = unix_ms / 1000;
    tm parts{};
    ::localtime_r(&seconds, &parts);
    return fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string remark(const host::SessionView& view, const host::Probe& probe) {
    if (!probe.reason.empty())
        return probe.reason;
    if (probe.detached_unix_ms != 0) {
        const auto nodes = former_nodes(view, probe);
        return fmt::format("since {}; {}", clock_time(probe.detached_unix_ms),
                           nodes == 0 ? std::string("what it counted stays")
                                      : fmt::format("still counts in {} nodes of CUDA graphs", format_count(nodes)));
    }
    if (const auto waiting = waiting_kernels(view, probe); waiting != 0)
        return fmt::format("{} of its kernels wait for a quiet moment", waiting);
    std::string text = probe.attached_unix_ms != 0 ? "since " + clock_time(probe.attached_unix_ms) : std::string();
    if (!probe.sampling.is_all())
        text += fmt::format("{}in {}", text.empty() ? "" : ", ", to_words(probe.sampling));
    return text;
}

std::string json_text(const host::SessionView& view) {
    auto list = nlohmann::ordered_json::array();
    for (const auto& probe : view.catalogue.probes)
        list.push_back({{"probe", probe.probe},
                        {"program", probe.program},
                        {"section", probe.section},
                        {"state", host::to_name(probe.state)},
                        {"sites", probe.sites},
                        {"kernels", probe.kernels},
                        {"waiting", waiting_kernels(view, probe)},
                        {"graph_nodes_former", former_nodes(view, probe)},
                        {"attached_unix_ms", time_or_null(probe.attached_unix_ms)},
                        {"detached_unix_ms", time_or_null(probe.detached_unix_ms)},
                        {"reason", probe.reason.empty() ? nlohmann::ordered_json(nullptr)
                                                        : nlohmann::ordered_json(probe.reason)}});
    return list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int list_probes(const ListOptions& options) {
    const auto view = view_of_session(options.session);
    if (!view) {
        print_errors(view.errors());
        return kEnvironment;
    }
    if (options.json) {
        fmt::print("{}", json_text(*view));
        return kYes;
    }
    TextTable table;
    table.column("PROBE", Align::left);
    table.column("SECTION", Align::left);
    table.column("STATE", Align::left);
    table.column("SITES");
    table.column("KERNELS");
    table.column("REMARK", Align::left);
    for (const auto& probe : view->catalogue.probes)
        table.row({probe.probe + "/" + probe.program, probe.section, host::to_words(probe.state),
                   std::to_string(probe.sites), std::to_string(probe.kernels), remark(*view, probe)});
    fmt::print("{}", table.text());
    return kYes;
}

}  // namespace

void add_probe(CLI::App& app, int* exit_code) {
    auto* command = app.add_subcommand("probe", "Probes of a running session");
    command->require_subcommand(1);
    auto options = std::make_shared<ListOptions>();
    auto* list = command->add_subcommand("list", "The probes of a session, their states, sites and kernels");
    add_session_option(*list, options->session);
    list->add_flag("-j,--json", options->json, "Print JSON");
    list->callback([options, exit_code] { *exit_code = list_probes(*options); });
    add_probe_changes(*command, exit_code);
}

}  // namespace egpu::cli
