// SPDX-License-Identifier: Apache-2.0
// A mutex without constructor or destructor: usable before and after the application's static objects.
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstdint>

namespace egpu::agent {

class Mutex {
public:
    void lock() { pthread_mutex_lock(&mutex_); }
    bool try_lock() { return pthread_mutex_trylock(&mutex_) == 0; }
    /// False where it is not to be had in that time.
    bool lock_within(std::uint64_t nanoseconds) {
        timespec until{};
        clock_gettime(CLOCK_REALTIME, &until);
        const std::uint64_t sum = static_cast<std::uint64_t>(until.tv_nsec) + nanoseconds;
        until.tv_sec += static_cast<time_t>(sum / 1'000'000'000);
        until.tv_nsec = static_cast<long>(sum % 1'000'000'000);
        return pthread_mutex_timedlock(&mutex_, &until) == 0;
    }
    void unlock() { pthread_mutex_unlock(&mutex_); }

private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class Lock {
public:
    explicit Lock(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
    ~Lock() { mutex_.unlock(); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

private:
    Mutex& mutex_;
};

}  // namespace egpu::agent
