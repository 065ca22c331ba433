// SPDX-License-Identifier: Apache-2.0
// How far a session is, or how it ended: the one place that decides it. A session that is "stopped" was so by egpu
// session stop, which its catalogue says; a process that a signal or a debugger holds is "suspended".
#pragma once

#include <cstdint>
#include <string>

#include "segment/create/sessions.hpp"

namespace egpu::host {

enum class SessionLife {
    starting,  ///< the application has not used CUDA so far
    running,
    suspended,  ///< its egpu process or its application is: it goes on when that does
    ended,      ///< the application's agent made its final copy: totals stand
    killed,     ///< the application is gone without a final copy
    lost,       ///< the egpu process is gone and left the session behind
};

/// Of one that can be read; SessionLife::starting of any other.
SessionLife life_of(const segment::SessionInfo& session);
const char* to_words(SessionLife life);

/// "its egpu process is suspended: fg or kill -CONT 4711 lets it go on"; "" where none of its processes is.
std::string suspended_text(const segment::SessionInfo& session);
/// The same, of processes that are known to be suspended; 0: it is not.
std::string suspended_text(std::uint32_t host_pid, std::uint32_t agent_pid);

}  // namespace egpu::host
