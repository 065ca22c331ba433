// SPDX-License-Identifier: Apache-2.0
// What is asked over the control socket, and what is answered. The JSON is between egpu processes of one build.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "host/session/server.hpp"

namespace egpu::host {

/// restore: a probe that was removed, as it was. stop: all are removed, for good.
enum class ProbeAction { add, remove, replace, restore, stop };

struct ProbeRequest {
    ProbeAction action = ProbeAction::add;
    std::string name;  ///< of the session's probe: remove, replace, restore
    std::string what;  ///< add, replace: a program's name or a file's whole path; add: of a removed probe, too
};

struct KernelOutcome {
    std::string kernel;
    std::string state;  ///< "attached", "waiting", "refused", "failed", "original"
    std::string reason;
    std::uint32_t sites = 0;  ///< of the probe's copy, all its probes together
    /// Nodes of CUDA graphs that hold what ran before, at the moment of the answer.
    std::uint32_t graph_nodes = 0;
    std::uint64_t graph_launches = 0;  ///< by graphs with a copy of before, since the change
};

/// What became of a request, at the moment of the answer.
struct ProbeAnswer {
    bool done = false;
    std::vector<std::string> problems;  ///< where not: diagnostics as text
    std::string probe;
    std::uint32_t sites = 0, kernels = 0;  ///< of the probe, in all kernels seen so far
    std::string maps;                      ///< "fresh", "kept" or ""
    bool graphs_hold_former = false;       ///< why they are fresh
    std::vector<KernelOutcome> outcomes;
};

std::string to_json(const ProbeRequest& request);
std::string to_json(const ProbeAnswer& answer);
/// EGPU-X073 where the text is no request (answer).
Result<ProbeRequest> request_from_json(std::string_view text);
Result<ProbeAnswer> answer_from_json(std::string_view text);

/// Carries a request out; waits a moment for what the agent makes of it, less where `stopping` becomes true.
ProbeAnswer carry_out(Server& server, const ProbeRequest& request, const std::atomic<bool>& stopping);

/// For the control socket: never throws.
std::string answer_request(Server& server, std::string_view line, const std::atomic<bool>& stopping);

}  // namespace egpu::host
