// SPDX-License-Identifier: Apache-2.0
#include "host/view/open_session.hpp"

#include <fmt/format.h>

#include "segment/create/sessions.hpp"
#include "segment/layout/build_id.h"

namespace egpu::host {
namespace {

std::string list_text(const std::vector<segment::SessionInfo>& sessions) {
    std::string text;
    for (const auto& session : sessions)
        text += fmt::format("{}{}{}", text.empty() ? "" : ", ", session.host_pid,
                            session.program.empty() ? "" : " (" + session.program + ")");
    return text;
}

Result<segment::SessionInfo> choose(const std::string& wanted) {
    std::vector<segment::SessionInfo> running;
    for (auto& session : segment::list_sessions()) {
        // Something that has such a name and is none of ours, or is not laid out yet, is no session.
        if (!session.host_alive || !session.is_segment)
            continue;
        if (!wanted.empty() && std::to_string(session.host_pid) == wanted)
            return session;
        running.push_back(std::move(session));
    }
    if (!wanted.empty())
        return error("EGPU-X060", fmt::format("no session {} runs", wanted),
                     running.empty() ? "none runs: start one with egpu run or egpu demo --loop"
                                     : "running: " + list_text(running));
    if (running.empty())
        return error("EGPU-X060", "no session runs", "start one: egpu run -p WHAT -- PROGRAM, or egpu demo --loop");
    if (running.size() > 1)
        return error("EGPU-X060", "several sessions run", "choose one with -s: " + list_text(running));
    return running.front();
}

}  // namespace

Result<segment::Mapping> open_session(const std::string& session) {
    const auto chosen = choose(session);
    if (!chosen)
        return chosen.errors();
    segment::Mapping mapping;
    const auto failed = mapping.open(chosen->name, segment::Writable::no, ::egpu_segment_build_id());
    if (failed != segment::AccessError::none)
        return error("EGPU-X061", fmt::format("session {} {}", chosen->host_pid, segment::to_text(failed)));
    return mapping;
}

}  // namespace egpu::host
