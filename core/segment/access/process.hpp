// SPDX-License-Identifier: Apache-2.0
// Whether a process that is named in a segment still lives. A pid alone may be another process by now: its start time
// tells.
#pragma once

#include <cstdint>

namespace egpu::segment {

/// Field 22 of /proc/PID/stat (clock ticks since boot; proc(5)); 0 where there is no such process or it is a zombie.
std::uint64_t process_start_time(std::uint32_t pid);

enum class ProcessState {
    gone,  ///< or another process has its pid, or its start time is 0
    runs,
    suspended,  ///< a signal (Ctrl-Z, SIGSTOP) or a debugger has stopped it, and nobody has let it go on
};
/// Of the process that had this start time.
ProcessState process_state(std::uint32_t pid, std::uint64_t start_time);
/// True where the process that had this start time runs. A start time of 0 is never alive.
bool process_alive(std::uint32_t pid, std::uint64_t start_time);

/// Of a process whose start time is not known.
bool process_suspended(std::uint32_t pid);

}  // namespace egpu::segment
