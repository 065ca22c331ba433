// SPDX-License-Identifier: Apache-2.0
#include "host/session/control.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace egpu::host {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

/// An application that synchronises often has loaded its copies long before; one that does not is waited for later.
constexpr auto kOutcomePatience = std::chrono::milliseconds(1500);
/// Graphs that are launched often follow at once.
constexpr auto kGraphPatience = std::chrono::milliseconds(300);
constexpr const char* kActions[] = {"add", "remove", "replace", "restore", "stop"};

ProbeAnswer refused(const std::vector<Diagnostic>& problems) {
    ProbeAnswer answer;
    for (const auto& problem : problems)
        answer.problems.push_back(to_text(problem));
    return answer;
}

/// Removed or attached; what it is from need not be anywhere any more.
bool session_knows(Server& server, const std::string& name) {
    const Catalogue catalogue = server.catalogue();
    return std::any_of(catalogue.probes.begin(), catalogue.probes.end(),
                       [&](const Probe& probe) { return probe.probe == name; });
}

Result<ProbeChange> change(Server& server, const ProbeRequest& request) {
    if (request.action == ProbeAction::remove)
        return server.remove_probe(request.name);
    if (request.action == ProbeAction::restore)
        return server.restore_probe(request.name);
    if (request.action == ProbeAction::stop) {
        auto originals = server.stop_observing();
        if (!originals)
            return originals.errors();
        ProbeChange all;
        all.originals = std::move(*originals);
        return all;
    }
    auto probe = load_probe(request.what);
    // A probe that was given as a file and removed comes back by its name, too.
    if (!probe && probe.error().code == "EGPU-X021" && request.action == ProbeAction::add &&
        session_knows(server, request.what))
        return server.restore_probe(request.what);
    if (!probe)
        return probe.errors();
    return request.action == ProbeAction::add ? server.add_probe(std::move(*probe))
                                              : server.replace_probe(request.name, std::move(*probe));
}

/// Kernels that the change concerns, each once.
std::vector<std::uint32_t> concerned(const ProbeChange& change, const Catalogue& catalogue) {
    std::vector<std::uint32_t> kernels = change.attached;
    kernels.insert(kernels.end(), change.originals.begin(), change.originals.end());
    for (const std::uint32_t copy : change.copies)
        kernels.push_back(catalogue.copies.at(copy - 1).kernel_id);
    std::sort(kernels.begin(), kernels.end());
    kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());
    return kernels;
}

KernelOutcome outcome_of(const Kernel& kernel) {
    KernelOutcome outcome;
    outcome.kernel = kernel.name;
    outcome.state = "attached";
    outcome.sites = kernel.sites;
    if (kernel.waiting) {
        outcome.state = "waiting";
        outcome.reason = "for a quiet moment";
    } else if (kernel.state == KernelState::failed || kernel.state == KernelState::refused) {
        outcome.state = to_name(kernel.state);
        outcome.reason = kernel.reason;
    } else if (kernel.copy == 0) {
        outcome.state = "original";
    }
    return outcome;
}

/// Counters of all kernels before the change and now.
struct Counters {
    std::vector<KernelCounts> before, now;
    std::uint64_t former_launches(std::uint32_t id) const {
        const std::uint64_t then = id <= before.size() ? before[id - 1].former.all() : 0;
        return id <= now.size() ? now[id - 1].former.all() - then : 0;
    }
    std::uint32_t nodes_behind(std::uint32_t id) const { return id <= now.size() ? now[id - 1].nodes_behind : 0; }
};

ProbeAnswer describe(const ProbeChange& change, const Catalogue& catalogue, const Counters& counters) {
    ProbeAnswer answer;
    answer.done = true;
    answer.probe = change.probe;
    answer.maps = change.maps == ProbeChange::Maps::fresh  ? "fresh"
                  : change.maps == ProbeChange::Maps::kept ? "kept"
                                                           : "";
    for (const auto& probe : catalogue.probes)
        if (probe.probe == change.probe && probe.state == ProbeState::attached) {
            answer.sites += probe.sites;
            answer.kernels = std::max(answer.kernels, probe.kernels);
        }
    answer.graphs_hold_former = change.graphs_hold_former;
    for (const std::uint32_t id : concerned(change, catalogue)) {
        KernelOutcome& outcome = answer.outcomes.emplace_back(outcome_of(catalogue.kernels.at(id - 1)));
        outcome.graph_nodes = counters.nodes_behind(id);
        outcome.graph_launches = counters.former_launches(id);
    }
    for (const auto& [id, reason] : change.refused) {
        KernelOutcome& outcome = answer.outcomes.emplace_back();
        outcome.kernel = catalogue.kernels.at(id - 1).name;
        outcome.state = "refused";
        outcome.reason = reason;
    }
    return answer;
}

bool any_waits(const ProbeChange& change, const Catalogue& catalogue) {
    const auto kernels = concerned(change, catalogue);
    return std::any_of(kernels.begin(), kernels.end(),
                       [&](std::uint32_t id) { return catalogue.kernels.at(id - 1).waiting; });
}

bool any_behind(const ProbeChange& change, const Catalogue& catalogue, const Counters& counters) {
    const auto kernels = concerned(change, catalogue);
    return std::any_of(kernels.begin(), kernels.end(),
                       [&](std::uint32_t id) { return counters.nodes_behind(id) != 0; });
}

}  // namespace

std::string to_json(const ProbeRequest& request) {
    const json whole = {
        {"do", kActions[static_cast<int>(request.action)]}, {"name", request.name}, {"what", request.what}};
    return whole.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string to_json(const ProbeAnswer& answer) {
    json outcomes = json::array();
    for (const auto& outcome : answer.outcomes)
        outcomes.push_back({outcome.kernel, outcome.state, outcome.reason, outcome.sites, outcome.graph_nodes,
                            outcome.graph_launches});
    const json whole = {{"done", answer.done},
                        {"problems", answer.problems},
                        {"probe", answer.probe},
                        {"sites", answer.sites},
                        {"kernels", answer.kernels},
                        {"maps", answer.maps},
                        {"graphs_hold_former", answer.graphs_hold_former},
                        {"outcomes", outcomes}};
    return whole.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<ProbeRequest> request_from_json(std::string_view text) {
    try {
        const json whole = json::parse(text);
        ProbeRequest request;
        request.name = whole.at("name");
        request.what = whole.at("what");
        const std::string action = whole.at("do");
        const auto* const found = std::find(std::begin(kActions), std::end(kActions), action);
        if (found == std::end(kActions))
            return error("EGPU-X073", fmt::format("no request is named '{}'", action));
        request.action = static_cast<ProbeAction>(found - std::begin(kActions));
        return request;
    } catch (const std::exception& failure) {
        return error("EGPU-X073", fmt::format("not a request: {}", failure.what()));
    }
}

Result<ProbeAnswer> answer_from_json(std::string_view text) {
    try {
        const json whole = json::parse(text);
        ProbeAnswer answer;
        answer.done = whole.at("done");
        answer.problems = whole.at("problems").get<std::vector<std::string>>();
        answer.probe = whole.at("probe");
        answer.sites = whole.at("sites");
        answer.kernels = whole.at("kernels");
        answer.maps = whole.at("maps");
        answer.graphs_hold_former = whole.at("graphs_hold_former");
        for (const auto& outcome : whole.at("outcomes"))
            answer.outcomes.push_back(
                {outcome.at(0), outcome.at(1), outcome.at(2), outcome.at(3), outcome.at(4), outcome.at(5)});
        return answer;
    } catch (const std::exception& failure) {
        return error("EGPU-X073", fmt::format("the session's answer makes no sense: {}", failure.what()));
    }
}

ProbeAnswer carry_out(Server& server, const ProbeRequest& request, const std::atomic<bool>& stopping) {
    Counters counters{server.kernel_counts(), {}};
    const auto changed = change(server, request);
    if (!changed)
        return refused(changed.errors());
    Catalogue catalogue = server.catalogue();
    for (const auto deadline = Clock::now() + kOutcomePatience;
         any_waits(*changed, catalogue) && Clock::now() < deadline && !stopping; catalogue = server.catalogue())
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    counters.now = server.kernel_counts();
    for (const auto deadline = Clock::now() + kGraphPatience;
         any_behind(*changed, catalogue, counters) && Clock::now() < deadline && !stopping;
         counters.now = server.kernel_counts())
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return describe(*changed, catalogue, counters);
}

std::string answer_request(Server& server, std::string_view line, const std::atomic<bool>& stopping) {
    try {
        const auto request = request_from_json(line);
        return to_json(request ? carry_out(server, *request, stopping) : refused(request.errors()));
    } catch (const std::exception& failure) {
        return to_json(refused({error("EGPU-X074", fmt::format("internal error: {}", failure.what()))}));
    }
}

}  // namespace egpu::host
