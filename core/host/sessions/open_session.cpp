// SPDX-License-Identifier: Apache-2.0
#include "host/sessions/open_session.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/catalogue/catalogue.hpp"
#include "host/sessions/life.hpp"
#include "segment/access/shared.hpp"
#include "segment/create/create.hpp"
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

/// One whose catalogue makes no sense can't be looked into: it is never chosen, and never in the way of another.
bool has_catalogue(const std::string& name) {
    segment::Mapping mapping;
    return mapping.open(name, segment::Writable::no, ::egpu_segment_build_id()) == segment::AccessError::none &&
           catalogue_from_json(segment::read_catalogue(mapping.view())).has_value();
}

/// Sessions that can be opened and whose egpu process lives.
std::vector<segment::SessionInfo> open_sessions() {
    auto sessions = segment::list_sessions();
    std::erase_if(sessions, [](const segment::SessionInfo& session) {
        return !session.readable || !session.host_alive || !has_catalogue(session.name);
    });
    return sessions;
}

/// One that has used CUDA so far, and that nothing holds.
bool has_begun(const segment::SessionInfo& session) {
    const SessionLife life = life_of(session);
    return life != SessionLife::starting && life != SessionLife::suspended;
}

Result<segment::SessionInfo> named(const std::string& wanted) {
    for (auto& session : segment::list_sessions())
        // Something that has such a name and is none of ours, or is not laid out yet, is no session.
        if (session.host_alive && session.is_segment && std::to_string(session.host_pid) == wanted)
            return session;
    const auto running = open_sessions();
    return error(
        "EGPU-X060", fmt::format("no session {} runs", wanted),
        running.empty() ? "none runs: start one with egpu run or egpu demo --loop" : "running: " + list_text(running));
}

Result<segment::SessionInfo> only_one() {
    auto sessions = open_sessions();
    if (sessions.empty())
        return error("EGPU-X060", "no session runs", "start one: egpu run -p WHAT -- PROGRAM, or egpu demo --loop");
    // One that only starts, or is suspended, is meant where there is no other.
    if (std::any_of(sessions.begin(), sessions.end(), has_begun))
        std::erase_if(sessions, [](const segment::SessionInfo& session) { return !has_begun(session); });
    if (sessions.size() > 1)
        return error("EGPU-X060", "several sessions run", "choose one with -s: " + list_text(sessions));
    return sessions.front();
}

}  // namespace

Result<segment::Mapping> open_session(const std::string& session) {
    const auto chosen = session.empty() ? only_one() : named(session);
    if (!chosen)
        return chosen.errors();
    segment::Mapping mapping;
    const auto failed = mapping.open(chosen->name, segment::Writable::no, ::egpu_segment_build_id());
    if (failed != segment::AccessError::none)
        return error("EGPU-X061", fmt::format("session {} {}", chosen->host_pid, segment::to_text(failed)));
    return mapping;
}

std::string sessions_text() {
    return list_text(open_sessions());
}

}  // namespace egpu::host
