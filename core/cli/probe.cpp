// SPDX-License-Identifier: Apache-2.0
// egpu probe list: the probes of a running session and their states.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/sessions.hpp"
#include "cli/terminal.hpp"

namespace egpu::cli {
namespace {

struct ListOptions {
    std::string session;
    bool json = false;
};

std::string json_text(const host::SessionView& view) {
    auto list = nlohmann::ordered_json::array();
    for (const auto& probe : view.catalogue.probes)
        list.push_back({{"probe", probe.probe},
                        {"program", probe.program},
                        {"section", probe.section},
                        {"state", host::to_name(probe.state)},
                        {"sites", probe.sites},
                        {"kernels", probe.kernels},
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
    table.column("WHY NOT", Align::left);
    for (const auto& probe : view->catalogue.probes)
        table.row({probe.probe + "/" + probe.program, probe.section, host::to_words(probe.state),
                   std::to_string(probe.sites), std::to_string(probe.kernels), probe.reason});
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
}

}  // namespace egpu::cli
