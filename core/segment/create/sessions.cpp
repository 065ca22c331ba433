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
    std::uint32_t pid = 0;
};

// Names "egpu-UID-PID" of this user; anything else in /dev/shm is none of our business.
std::vector<Candidate> candidates() {
    std::vector<Candidate> found;
    const std::string prefix = fmt::format("egpu-{}-", ::getuid());
    std::error_code failed;
    std::filesystem::directory_iterator entry("/dev/shm", failed);
    for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
        std::string name = entry->path().filename().string();
        if (!name.starts_with(prefix) || !is_segment_name(name))
            continue;
        std::uint32_t pid = 0;
        const char* end = name.data() + name.size();
        const auto parsed = std::from_chars(name.data() + prefix.size(), end, pid);
        if (parsed.ec == std::errc() && parsed.ptr == end)
            found.push_back({std::move(name), pid});
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
    info.name = candidate.name;
    info.host_pid = candidate.pid;
    Mapping mapping;
    const AccessError error = mapping.open(candidate.name, Writable::no, egpu_segment_build_id());
    info.host_alive = !host_is_dead(mapping, error, candidate.pid);
    info.readable = error == AccessError::none;
    if (!info.readable) {
        info.is_segment = error != AccessError::not_a_segment && error != AccessError::too_short &&
                          error != AccessError::map_failed && error != AccessError::not_found;
        info.unreadable = to_text(error);
        return info;
    }
    const egpu_segment_header& header = mapping.view().header();
    info.host_pid = header.host_pid;
    info.agent_pid = header.agent_pid;
    info.agent_alive = process_alive(header.agent_pid, header.agent_start_time);
    info.state = header.state;
    info.started_ns = header.started_ns;
    info.program = text_of(header.program, sizeof(header.program));
    return info;
}

}  // namespace

std::vector<SessionInfo> list_sessions() {
    std::vector<SessionInfo> sessions;
    for (const Candidate& candidate : candidates())
        sessions.push_back(describe(candidate));
    std::sort(sessions.begin(), sessions.end(), [](const SessionInfo& a, const SessionInfo& b) {
        return a.started_ns != b.started_ns ? a.started_ns < b.started_ns : a.name < b.name;
    });
    return sessions;
}

std::vector<std::string> remove_stale_segments() {
    std::vector<std::string> removed;
    for (const Candidate& candidate : candidates()) {
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
