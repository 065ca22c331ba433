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
constexpr const char* kActions[] = {"add", "remove", "replace"};

ProbeAnswer refused(const std::vector<Diagnostic>& problems) {
    ProbeAnswer answer;
    for (const auto& problem : problems)
        answer.problems.push_back(to_text(problem));
    return answer;
}

Result<ProbeChange> change(Server& server, const ProbeRequest& request) {
    if (request.action == ProbeAction::remove)
        return server.remove_probe(request.name);
    auto probe = load_probe(request.what);
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
    KernelOutcome outcome{kernel.name, "attached", {}, kernel.sites};
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

ProbeAnswer describe(const ProbeChange& change, const Catalogue& catalogue) {
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
    for (const std::uint32_t id : concerned(change, catalogue))
        answer.outcomes.push_back(outcome_of(catalogue.kernels.at(id - 1)));
    for (const auto& [id, reason] : change.refused)
        answer.outcomes.push_back({catalogue.kernels.at(id - 1).name, "refused", reason, 0});
    return answer;
}

bool any_waits(const ProbeChange& change, const Catalogue& catalogue) {
    const auto kernels = concerned(change, catalogue);
    return std::any_of(kernels.begin(), kernels.end(),
                       [&](std::uint32_t id) { return catalogue.kernels.at(id - 1).waiting; });
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
        outcomes.push_back({outcome.kernel, outcome.state, outcome.reason, outcome.sites});
    const json whole = {{"done", answer.done},   {"problems", answer.problems}, {"probe", answer.probe},
                        {"sites", answer.sites}, {"kernels", answer.kernels},   {"maps", answer.maps},
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
        for (const auto& outcome : whole.at("outcomes"))
            answer.outcomes.push_back({outcome.at(0), outcome.at(1), outcome.at(2), outcome.at(3)});
        return answer;
    } catch (const std::exception& failure) {
        return error("EGPU-X073", fmt::format("the session's answer makes no sense: {}", failure.what()));
    }
}

ProbeAnswer carry_out(Server& server, const ProbeRequest& request, const std::atomic<bool>& stopping) {
    const auto changed = change(server, request);
    if (!changed)
        return refused(changed.errors());
    Catalogue catalogue = server.catalogue();
    for (const auto deadline = Clock::now() + kOutcomePatience;
         any_waits(*changed, catalogue) && Clock::now() < deadline && !stopping; catalogue = server.catalogue())
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return describe(*changed, catalogue);
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
