// SPDX-License-Identifier: Apache-2.0
#include "host/sessions/running.hpp"

#include "segment/access/process.hpp"
#include "segment/create/sessions.hpp"
#include "segment/layout/layout.h"

namespace egpu::host {
namespace {

SessionLife life_of(std::uint32_t state, std::uint32_t host_pid, bool host_alive, std::uint32_t agent_pid,
                    bool agent_alive) {
    if (state == EGPU_SESSION_DRAINED)
        return SessionLife::ended;
    if (state == EGPU_SESSION_ENDED)  // the egpu process let go: of an application that ended, or did not
        return agent_pid != 0 && !agent_alive ? SessionLife::killed : SessionLife::ended;
    if (agent_pid != 0 && !agent_alive)
        return SessionLife::killed;
    if (!host_alive)
        return SessionLife::lost;
    if (segment::process_suspended(host_pid) || (agent_pid != 0 && segment::process_suspended(agent_pid)))
        return SessionLife::stopped;
    return agent_pid == 0 || state == EGPU_SESSION_STARTING ? SessionLife::starting : SessionLife::running;
}

}  // namespace

const char* to_words(SessionLife life) {
    switch (life) {
        case SessionLife::starting:
            return "starting";
        case SessionLife::running:
            return "running";
        case SessionLife::stopped:
            return "stopped";
        case SessionLife::ended:
            return "ended";
        case SessionLife::killed:
            return "application killed";
        case SessionLife::lost:
            return "egpu process gone";
    }
    return "";
}

std::vector<RunningSession> running_sessions() {
    std::vector<RunningSession> running;
    for (const auto& info : segment::list_sessions()) {
        if (!info.host_alive || !info.is_segment)
            continue;
        RunningSession session;
        session.number = info.host_pid;
        session.program = info.program;
        session.started_unix_ms = static_cast<std::int64_t>(info.started_ns / 1'000'000);
        session.life = life_of(info.state, info.host_pid, info.host_alive, info.agent_pid, info.agent_alive);
        session.unreadable = info.readable ? std::string() : info.unreadable;
        running.push_back(std::move(session));
    }
    return running;
}

}  // namespace egpu::host
