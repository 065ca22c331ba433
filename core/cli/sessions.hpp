// SPDX-License-Identifier: Apache-2.0
// The session that a command means: the one named by -s, else the only one that runs.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "base/result.hpp"
#include "host/view/session_view.hpp"

namespace egpu::cli {

void add_session_option(CLI::App& command, std::string& session);
/// -s where the command takes the session as its word too: one of the two.
void add_session_option(CLI::App& command, std::string& session, const std::string& positional);

/// host::open_session and a view of it as it stands now; of a recording's file its last state.
Result<host::SessionView> view_of_session(const std::string& session);

}  // namespace egpu::cli
