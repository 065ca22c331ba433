// SPDX-License-Identifier: Apache-2.0
// Futexes and the clock.
#include "segment/access/shared.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace egpu::segment {

namespace {
constexpr std::uint64_t kSecond = 1'000'000'000;
}

void futex_wait(const std::uint32_t& word, std::uint32_t seen, std::uint64_t timeout_ns) {
    const timespec timeout{static_cast<time_t>(timeout_ns / kSecond), static_cast<long>(timeout_ns % kSecond)};
    syscall(SYS_futex, &word, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

void futex_wake(const std::uint32_t& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::uint64_t monotonic_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace egpu::segment
