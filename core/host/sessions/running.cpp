// SPDX-License-Identifier: Apache-2.0
#include "host/sessions/running.hpp"

#include "segment/create/sessions.hpp"

namespace egpu::host {
std::vector<RunningSession> running_sessions() {
    std::vector<RunningSession> running;
    for (const auto& info : segment::list_sessions()) {
        if (!info.host_alive || !info.is_segment)
            continue;
        RunningSession session;
        session.number = info.host_pid;
        session.program = info.program;
        session.started_unix_ms = static_cast<std::int64_t>(info.started_ns / 1'000'000);
        session.life = life_of(info);
        session.unreadable = info.readable ? std::string() : info.unreadable;
        running.push_back(std::move(session));
    }
    return running;
}

}  // namespace egpu::host
