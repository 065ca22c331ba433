// SPDX-License-Identifier: Apache-2.0
#include "segment/create/sessions.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "segment/access/mapping.hpp"
#include "segment/access/process.hpp"
#include "segment/layout/build_id.h"

namespace egpu::segment {

namespace {

struct Candidate {
    std::string name;
    std::uint32_t user = 0, pid = 0;
};

bool read_number(std::string_view& text, std::uint32_t& number) {
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec != std::errc())
        return false;
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
    return true;
}

// Names "egpu-UID-PID"; anything else in /dev/shm is none of our business.
std::vector<Candidate> candidates(bool other_users) {
    constexpr std::string_view kPrefix = "egpu-";
    std::vector<Candidate> found;
    std::error_code failed;
    std::filesystem::directory_iterator entry("/dev/shm", failed);
    for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
        Candidate candidate{.name = entry->path().filename().string()};
        if (!is_segment_name(candidate.name) || !candidate.name.starts_with(kPrefix))
            continue;
        std::string_view rest = std::string_view(candidate.name).substr(kPrefix.size());
        if (!read_number(rest, candidate.user) || !rest.starts_with('-'))
            continue;
        rest.remove_prefix(1);
        if (read_number(rest, candidate.pid) && rest.empty() && (other_users || candidate.user == ::getuid()))
            found.push_back(std::move(candidate));
    }
    return found;
}

// Whether the egpu process that made it is gone. A name that can't be read (another build, not laid out yet) belongs
// to whoever has the pid now.
bool host_is_dead(const Mapping& mapping, AccessError error, std::uint32_t pid) {
    if (error == AccessError::none) {
        const egpu_segment_header& header = mapping.view().header();
        return !process_alive(header.host_pid, header.host_start_time);
    }
    return process_start_time(pid) == 0;
}

std::string text_of(const char* text, std::size_t limit) {
    return std::string(text, strnlen(text, limit));
}

SessionInfo describe(const Candidate& candidate) {
    SessionInfo info;
    info.user = candidate.user;
    info.name = candidate.name;
    info.host_pid = candidate.pid;
    Mapping mapping;
    const AccessError error = mapping.open(candidate.name, Writable::no, egpu_segment_build_id());
    info.host_alive = !host_is_dead(mapping, error, candidate.pid);
    info.readable = error == AccessError::none;
    if (!info.readable) {
        info.is_segment = error != AccessError::not_a_segment && error != AccessError::too_short &&
                          error != AccessError::map_failed && error != AccessError::not_found;
        info.other_build = error == AccessError::other_build || error == AccessError::other_layout;
        info.unreadable = to_text(error);
        return info;
    }
    const egpu_segment_header& header = mapping.view().header();
    info.host_pid = header.host_pid;
    info.agent_pid = header.agent_pid;
    // One that has only just come has its pid there before its start time.
    info.agent_alive = header.agent_start_time == 0 ? process_start_time(header.agent_pid) != 0
                                                    : process_alive(header.agent_pid, header.agent_start_time);
    info.state = header.state;
    info.started_ns = header.started_ns;
    info.program = text_of(header.program, sizeof(header.program));
    return info;
}

}  // namespace

std::vector<SessionInfo> list_sessions(bool other_users) {
    std::vector<SessionInfo> sessions;
    for (const Candidate& candidate : candidates(other_users))
        sessions.push_back(describe(candidate));
    std::sort(sessions.begin(), sessions.end(), [](const SessionInfo& a, const SessionInfo& b) {
        return a.started_ns != b.started_ns ? a.started_ns < b.started_ns : a.name < b.name;
    });
    return sessions;
}

std::vector<std::string> remove_stale_segments() {
    std::vector<std::string> removed;
    for (const Candidate& candidate : candidates(false)) {
        Mapping mapping;
        const AccessError error = mapping.open(candidate.name, Writable::no, 0);
        if (!host_is_dead(mapping, error, candidate.pid))
            continue;
        const bool gone =
            error == AccessError::none ? mapping.unlink() : ::shm_unlink(("/" + candidate.name).c_str()) == 0;
        if (gone)
            removed.push_back(candidate.name);
    }
    return removed;
}

}  // namespace egpu::segment
