// SPDX-License-Identifier: Apache-2.0
// Reads /proc/PID/stat without allocation: the agent asks from inside the application.
#include "segment/access/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace egpu::segment {

namespace {

constexpr int kStartTimeField = 22;

// The file's text, NUL-ended; empty on any error.
void read_stat(std::uint32_t pid, char (&text)[1024]) {
    text[0] = '\0';
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    const ssize_t got = ::read(file, text, sizeof(text) - 1);
    ::close(file);
    text[got < 0 ? 0 : got] = '\0';
}

struct Stat {
    char state = '\0';  // '\0': no such process
    std::uint64_t start_time = 0;
};

Stat stat_of(std::uint32_t pid) {
    char text[1024];
    read_stat(pid, text);
    // The name (field 2) may hold spaces and parentheses: fields are counted from the last one.
    const char* at = std::strrchr(text, ')');
    Stat stat;
    if (at == nullptr || at[1] != ' ')
        return stat;
    const char state = at[2];
    for (int field = 2; field < kStartTimeField; ++field) {
        at = std::strchr(at + 1, ' ');
        if (at == nullptr)
            return stat;
    }
    stat.state = state;
    stat.start_time = std::strtoull(at + 1, nullptr, 10);
    return stat;
}

bool is_dead(const Stat& stat) {
    return stat.state == '\0' || stat.state == 'Z' || stat.state == 'X';
}

bool is_suspended(const Stat& stat) {
    return stat.state == 'T' || stat.state == 't';
}

}  // namespace

std::uint64_t process_start_time(std::uint32_t pid) {
    const Stat stat = pid == 0 ? Stat{} : stat_of(pid);
    return is_dead(stat) ? 0 : stat.start_time;
}

bool process_suspended(std::uint32_t pid) {
    return is_suspended(stat_of(pid));
}

ProcessState process_state(std::uint32_t pid, std::uint64_t start_time) {
    const Stat stat = pid == 0 || start_time == 0 ? Stat{} : stat_of(pid);
    if (is_dead(stat) || stat.start_time != start_time)
        return ProcessState::gone;
    return is_suspended(stat) ? ProcessState::suspended : ProcessState::runs;
}

bool process_alive(std::uint32_t pid, std::uint64_t start_time) {
    return process_state(pid, start_time) != ProcessState::gone;
}

}  // namespace egpu::segment
