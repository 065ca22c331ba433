// SPDX-License-Identifier: Apache-2.0
// A cheap account of what the application has in flight in a context: nothing, work on one stream, or more than can be
// told. On a launch one load; a store only when another stream than the last one is used. What is synchronised takes
// itself off the account, unless something was launched meanwhile.
#pragma once

#include <cstdint>

#include "agent/maps/places.hpp"

namespace egpu::agent {

enum class StreamForm { legacy, per_thread };  ///< what stream 0 means: cuLaunchKernel, cuLaunchKernel_ptsz

namespace idle {
inline constexpr std::uintptr_t kNothing = 0;
inline constexpr std::uintptr_t kLegacy = 1;  // CU_STREAM_LEGACY: waits for all streams but non-blocking ones
inline constexpr std::uintptr_t kPerThread = 2;
inline constexpr std::uintptr_t kSynchronising = 4;  // no handle is so small
inline constexpr std::uintptr_t kMany = ~std::uintptr_t{0};

inline std::uintptr_t token_of(CUstream stream, StreamForm form) {
    const auto value = reinterpret_cast<std::uintptr_t>(stream);
    if (value > kPerThread)
        return value;
    // Stream 0 per thread is one for each thread: which of them was used is not kept.
    return value == kPerThread || (value == 0 && form == StreamForm::per_thread) ? kMany : kLegacy;
}
}  // namespace idle

/// Before anything is launched on a stream of this context. Threads that launch at once may only make the account say
/// more than there is.
inline void work_queued(Place& place, CUstream stream, StreamForm form) {
    const std::uintptr_t token = idle::token_of(stream, form);
    std::uintptr_t now = __atomic_load_n(&place.busy, __ATOMIC_RELAXED);
    if (now == token)
        return;
    while (now != token && now != idle::kMany) {
        const std::uintptr_t then = now == idle::kNothing ? token : idle::kMany;
        if (__atomic_compare_exchange_n(&place.busy, &now, then, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return;
    }
}

/// What the agent doesn't see runs: any context may be busy.
inline void everything_may_be_busy() {
    for (unsigned int i = 0; i < places_used(); ++i)
        __atomic_store_n(&place_at(i).busy, idle::kMany, __ATOMIC_RELAXED);
}

inline bool is_idle(const Place& place) {
    return __atomic_load_n(&place.busy, __ATOMIC_ACQUIRE) == idle::kNothing;
}

/// Around a synchronising call: begin() before, ended() after. True where everything the account knew of is done and
/// nothing was launched meanwhile.
class Synchronising {
public:
    /// All of the context.
    static Synchronising context(Place* place) { return {place, idle::kMany, true}; }
    /// One stream; the account is only about others where it is not this one.
    static Synchronising stream(Place* place, CUstream stream, StreamForm form) {
        return {place, idle::token_of(stream, form), false};
    }
    bool ended(bool successfully) {
        std::uintptr_t mark = idle::kSynchronising;
        if (!marked_)
            return place_ != nullptr && successfully && is_idle(*place_);
        return __atomic_compare_exchange_n(&place_->busy, &mark, successfully ? idle::kNothing : idle::kMany, false,
                                           __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) &&
               successfully;
    }

    /// Instead of ended(), where the stream was only asked: what is not done stays on the account.
    bool asked(bool done) {
        std::uintptr_t mark = idle::kSynchronising;
        return marked_ ? __atomic_compare_exchange_n(&place_->busy, &mark, done ? idle::kNothing : token_, false,
                                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) &&
                             done
                       : place_ != nullptr && is_idle(*place_);
    }

private:
    Synchronising(Place* place, std::uintptr_t token, bool whole) : place_(place), token_(token) {
        if (place == nullptr)
            return;
        std::uintptr_t now = __atomic_load_n(&place->busy, __ATOMIC_RELAXED);
        while (now != idle::kNothing && (whole || (now == token && token != idle::kMany)) && !marked_)
            marked_ = __atomic_compare_exchange_n(&place->busy, &now, idle::kSynchronising, false, __ATOMIC_ACQ_REL,
                                                  __ATOMIC_RELAXED);
    }
    Place* place_;
    std::uintptr_t token_;
    bool marked_ = false;
};

}  // namespace egpu::agent
