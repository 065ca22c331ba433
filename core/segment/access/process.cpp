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
constexpr int kStateField = 3;

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

}  // namespace

std::uint64_t process_start_time(std::uint32_t pid) {
    if (pid == 0)
        return 0;
    char text[1024];
    read_stat(pid, text);
    // The name (field 2) may hold spaces and parentheses: fields are counted from the last one.
    const char* at = std::strrchr(text, ')');
    if (at == nullptr)
        return 0;
    for (int field = 2; field < kStartTimeField; ++field) {
        at = std::strchr(at + 1, ' ');
        if (at == nullptr)
            return 0;
        if (field + 1 == kStateField && (at[1] == 'Z' || at[1] == 'X'))
            return 0;
    }
    return std::strtoull(at + 1, nullptr, 10);
}

bool process_suspended(std::uint32_t pid) {
    char text[1024];
    read_stat(pid, text);
    const char* name_end = std::strrchr(text, ')');
    return name_end != nullptr && name_end[1] == ' ' && (name_end[2] == 'T' || name_end[2] == 't');
}

bool process_alive(std::uint32_t pid, std::uint64_t start_time) {
    return start_time != 0 && process_start_time(pid) == start_time;
}

}  // namespace egpu::segment
