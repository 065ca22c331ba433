// SPDX-License-Identifier: Apache-2.0
// The sessions of this user that run on this machine, for choosing one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/sessions/life.hpp"

namespace egpu::host {

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
