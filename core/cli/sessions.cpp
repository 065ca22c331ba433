// SPDX-License-Identifier: Apache-2.0
#include "cli/sessions.hpp"

#include "cli/session_info.hpp"
#include "host/record/recording.hpp"
#include "host/sessions/open_session.hpp"
#include "host/view/live_view.hpp"

namespace egpu::cli {

void add_session_option(CLI::App& command, std::string& session) {
    command.add_option(
        "-s,--session", session,
        "The session's number, or a recording's file where it is only looked at; left out: the only session that runs");
}

void add_session_option(CLI::App& command, std::string& session, const std::string& positional) {
    command.add_option("-s,--session", session, "The same as " + positional)->excludes(command.get_option(positional));
}

Result<host::SessionView> view_of_session(const std::string& session) {
    if (names_file(session)) {
        auto recording = host::Recording::open(session);
        if (!recording)
            return recording.errors();
        return std::move(**recording).take_view();
    }
    const auto mapping = host::open_session(session);
    if (!mapping)
        return mapping.errors();
    return host::read_session(mapping->view());
}

}  // namespace egpu::cli
