// SPDX-License-Identifier: Apache-2.0
#include "host/sessions/life.hpp"

#include <fmt/format.h>

#include "segment/access/process.hpp"
#include "segment/layout/layout.h"

namespace egpu::host {
namespace {

bool host_is_suspended(const segment::SessionInfo& session) {
    return session.host_alive && segment::process_suspended(session.host_pid);
}

bool agent_is_suspended(const segment::SessionInfo& session) {
    return session.agent_pid != 0 && session.agent_alive && segment::process_suspended(session.agent_pid);
}

}  // namespace

SessionLife life_of(const segment::SessionInfo& session) {
    const bool agent_is_gone = session.agent_pid != 0 && !session.agent_alive;
    if (!session.host_alive)
        return SessionLife::lost;
    // Also of one whose application has ended: nothing becomes of it before egpu goes on.
    if (host_is_suspended(session))
        return SessionLife::suspended;
    if (session.state == EGPU_SESSION_DRAINED)
        return SessionLife::ended;
    if (session.state == EGPU_SESSION_ENDED)  // the egpu process let go: of an application that ended, or did not
        return agent_is_gone ? SessionLife::killed : SessionLife::ended;
    if (agent_is_gone)
        return SessionLife::killed;
    if (agent_is_suspended(session))
        return SessionLife::suspended;
    return session.agent_pid == 0 || session.state == EGPU_SESSION_STARTING ? SessionLife::starting
                                                                            : SessionLife::running;
}

const char* to_words(SessionLife life) {
    switch (life) {
        case SessionLife::starting:
            return "starting";
        case SessionLife::running:
            return "running";
        case SessionLife::suspended:
            return "suspended";
        case SessionLife::ended:
            return "ended";
        case SessionLife::killed:
            return "application killed";
        case SessionLife::lost:
            return "egpu process gone";
    }
    return "";
}

std::string suspended_text(std::uint32_t host_pid, std::uint32_t agent_pid) {
    if (host_pid == 0 && agent_pid == 0)
        return {};
    const bool host = host_pid != 0;
    return fmt::format("its {} is suspended: fg or kill -CONT {} lets it go on", host ? "egpu process" : "application",
                       host ? host_pid : agent_pid);
}

std::string suspended_text(const segment::SessionInfo& session) {
    return suspended_text(host_is_suspended(session) ? session.host_pid : 0,
                          agent_is_suspended(session) ? session.agent_pid : 0);
}

}  // namespace egpu::host
