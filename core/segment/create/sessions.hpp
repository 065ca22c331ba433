// SPDX-License-Identifier: Apache-2.0
// The sessions of this user on this machine, and what dead ones left behind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace egpu::segment {

struct SessionInfo {
    std::uint32_t user = 0;
    std::string name;  ///< of the segment: "egpu-1000-4711"
    std::uint32_t host_pid = 0;
    bool host_alive = false;
    bool is_segment = true;       ///< false: nothing of egpu has that name, or it is not laid out yet
    bool readable = false;        ///< a sound segment of this build; what stands below is then filled
    bool other_build = false;     ///< a segment of another egpu, which that one can read
    std::string unreadable;       ///< why not: "is of another build of egpu"
    std::uint32_t agent_pid = 0;  ///< 0: no CUDA used so far
    bool agent_alive = false;
    std::uint32_t state = 0;       ///< egpu_session_state
    std::uint64_t started_ns = 0;  ///< CLOCK_REALTIME
    std::string program;
};

/// All sessions of this user, oldest first; of other users too, which can't be read, where they are asked for.
std::vector<SessionInfo> list_sessions(bool other_users = false);

/// Removes segments whose egpu process is dead (pid and start time). Returns their names.
std::vector<std::string> remove_stale_segments();

}  // namespace egpu::segment
