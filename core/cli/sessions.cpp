// SPDX-License-Identifier: Apache-2.0
#include "cli/sessions.hpp"

#include "host/view/live_view.hpp"
#include "host/view/open_session.hpp"

namespace egpu::cli {

void add_session_option(CLI::App& command, std::string& session) {
    command.add_option("-s,--session", session, "The session's number; left out: the only one that runs");
}

Result<segment::Mapping> open_session(const std::string& session) {
    return host::open_session(session);
}

Result<host::SessionView> view_of_session(const std::string& session) {
    const auto mapping = open_session(session);
    if (!mapping)
        return mapping.errors();
    return host::read_session(mapping->view());
}

}  // namespace egpu::cli
