// SPDX-License-Identifier: Apache-2.0
// The sessions of this user that run on this machine, for choosing one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace egpu::host {

/// How far a session is, or how it ended.
enum class SessionLife {
    starting,  ///< the application has not used CUDA so far
    running,
    stopped,  ///< its egpu process or its application is (SIGSTOP, a debugger): it goes on when that does
    ended,    ///< the application's agent made its final copy: totals stand
    killed,   ///< the application is gone without a final copy
    lost,     ///< the egpu process is gone and left the session behind
};
const char* to_words(SessionLife life);

struct RunningSession {
    std::uint32_t number = 0;  ///< as -s takes it: the pid of its egpu process
    std::string program;       ///< "" until it used CUDA
    std::int64_t started_unix_ms = 0;
    SessionLife life = SessionLife::starting;
    std::string unreadable;  ///< why it can't be opened; "" where it can
};

/// Oldest first; such as are about to end too.
std::vector<RunningSession> running_sessions();

}  // namespace egpu::host
