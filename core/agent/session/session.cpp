// SPDX-License-Identifier: Apache-2.0
#include "agent/session/session.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "agent/session/text.hpp"
#include "segment/access/mapping.hpp"
#include "segment/access/process.hpp"
#include "segment/access/shared.hpp"
#include "segment/layout/build_id.h"

namespace egpu::agent {

namespace {

using segment::load_acquire;
using segment::load_relaxed;
using segment::store_relaxed;

constexpr std::uint64_t kHeartbeatLimit = 2'000'000'000;  // ns: a heartbeat older than this is looked into

constinit int current_mode = static_cast<int>(Mode::waiting);
constinit int started = 0;
constinit int error_reported = 0;
constinit pid_t own_pid = 0;
// Never destroyed: static destructors of the application may still launch.
alignas(segment::Mapping) constinit unsigned char mapping_storage[sizeof(segment::Mapping)] = {};

segment::Mapping& mapping() {
    return *reinterpret_cast<segment::Mapping*>(mapping_storage);
}

void set_mode(Mode mode) {
    __atomic_store_n(&current_mode, static_cast<int>(mode), __ATOMIC_RELEASE);
}

void become_silent_in_child() {
    set_mode(Mode::silent);
}

// The last part of /proc/self/exe; empty where it can't be read.
void copy_program_name(char (&to)[256]) {
    char path[1024];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (length <= 0)
        return;
    path[length] = '\0';
    const char* slash = std::strrchr(path, '/');
    copy_text(to, slash != nullptr ? slash + 1 : path);
}

bool claim() {
    egpu_segment_header& header = mapping().view().header();
    if (load_acquire(header.state) >= EGPU_SESSION_ENDED ||
        !segment::process_alive(load_relaxed(header.host_pid), load_relaxed(header.host_start_time)))
        return false;
    if (!segment::replace_if(header.agent_pid, std::uint32_t{0}, static_cast<std::uint32_t>(own_pid))) {
        segment::add_relaxed(header.other_processes, std::uint32_t{1});
        return false;
    }
    store_relaxed(header.agent_start_time, segment::process_start_time(static_cast<std::uint32_t>(own_pid)));
    store_relaxed(header.agent_heartbeat_ns, segment::monotonic_ns());
    copy_program_name(header.program);
    segment::raise(header.state, std::uint32_t{EGPU_SESSION_RUNNING});
    return true;
}

}  // namespace

Mode mode() {
    return static_cast<Mode>(__atomic_load_n(&current_mode, __ATOMIC_ACQUIRE));
}

bool start_session() {
    if (__atomic_exchange_n(&started, 1, __ATOMIC_ACQ_REL) != 0)
        return false;
    const char* name = std::getenv("EGPU_SEGMENT");
    own_pid = getpid();
    new (mapping_storage) segment::Mapping;
    const bool opened = name != nullptr && mapping().open(name, segment::Writable::yes, egpu_segment_build_id()) ==
                                               segment::AccessError::none;
    if (!opened || !claim()) {
        set_mode(Mode::silent);
        return false;
    }
    pthread_atfork(nullptr, nullptr, become_silent_in_child);
    set_mode(Mode::observing);
    return true;
}

const segment::View& view() {
    return mapping().view();
}

void refresh_view() {
    mapping().refresh();
}

void run_originals() {
    int expected = static_cast<int>(Mode::observing);
    __atomic_compare_exchange_n(&current_mode, &expected, static_cast<int>(Mode::originals), false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
}

bool is_own_process() {
    return getpid() == own_pid;
}

bool host_alive(bool thorough) {
    const egpu_segment_header& header = view().header();
    if (load_acquire(header.state) >= EGPU_SESSION_ENDED)
        return false;
    const std::uint64_t beat = load_relaxed(header.host_heartbeat_ns), now = segment::monotonic_ns();
    if (!thorough && now - beat < kHeartbeatLimit)
        return true;
    return segment::process_alive(load_relaxed(header.host_pid), load_relaxed(header.host_start_time));
}

void report_error(std::uint32_t code, const char* text) {
    if (!counting() || __atomic_exchange_n(&error_reported, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    egpu_segment_header& header = view().header();
    copy_text(header.agent_error_text, text);
    segment::store_release(header.agent_error, code);
}

namespace {

/// The segment's name, and that of the socket which the egpu process had beside it. Where somebody else removed the
/// segment, the socket may still be there; where another segment has the name, the socket is that one's.
void remove_names() {
    constexpr std::string_view folder = "/dev/shm/", suffix = ".sock";
    const std::string_view name = mapping().name();
    char path[128];
    if (folder.size() + name.size() + suffix.size() >= sizeof path)
        return;
    char* end = path;
    for (const std::string_view part : {folder, name})
        end = static_cast<char*>(::mempcpy(end, part.data(), part.size()));
    *end = '\0';
    if (!mapping().unlink() && ::access(path, F_OK) == 0)
        return;
    std::memcpy(end, suffix.data(), suffix.size());
    end[suffix.size()] = '\0';
    ::unlink(path);
}

}  // namespace

void remove_orphaned_segment() {
    const egpu_segment_header& header = view().header();
    if (!segment::process_alive(load_relaxed(header.host_pid), load_relaxed(header.host_start_time)))
        remove_names();
}

}  // namespace egpu::agent
