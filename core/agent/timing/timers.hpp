// SPDX-License-Identifier: Apache-2.0
// Times of launches, by events around them in their stream, from a pool that each context gets before: of a copy's
// launches now and then one, or in pairs with its original (egpu run --overhead). On a launch that is timed: two
// cuEventRecord, no lock, no allocation, no waiting. What the events say is read later, on the drain thread, where they
// have come to pass.
#pragma once

#include <cstdint>

#include "agent/maps/idle.hpp"
#include "agent/maps/places.hpp"
#include "agent/timing/pairing.hpp"
#include "gpu/device/driver.h"

namespace egpu::agent {

struct TimerSlot;

/// A launch that is timed, or (slot null) not.
struct TimedLaunch {
    TimerSlot* slot = nullptr;
    unsigned int half = 0;  ///< which launch of its pair
};

/// Which function a launch runs, and whether it is timed.
struct Turn {
    bool runs_copy = true;
    TimedLaunch timed = {};
};

/// Gives the place its events, where the session times launches and the device knows time. Its context is current,
/// inside OwnCalls, under the load lock.
void prepare_timers(const Place& place);

/// Whether launches in this place may be timed. One load.
bool has_timers(const Place& place);

/// Whether a launch of that copy is due to be timed alone. Two or three loads: nearly all launches end here.
bool is_due(const Pairing& pairing);

/// For a launch that runs its copy, in a place that has timers, where overhead is not measured: timed, where it is its
/// turn. `copy` as below.
TimedLaunch next_alone(const Place& place, Pairing* pairing, std::uint32_t copy);

/// For a launch that could run its copy, in a place that has timers, while overhead is measured. `copy`: index of the
/// copy in the segment.
Turn next_turn(const Place& place, Pairing* pairing, std::uint32_t copy, std::uint64_t key);

/// Around the launch; nothing where it is not timed. A call that fails makes the launch an untimed one.
void record_begin(const TimedLaunch& launch, CUstream stream, StreamForm form);
void record_end(const TimedLaunch& launch, CUstream stream, StreamForm form, bool launched);
inline void begin_time(const TimedLaunch& launch, CUstream stream, StreamForm form) {
    if (launch.slot != nullptr)
        record_begin(launch, stream, form);
}
inline void end_time(const TimedLaunch& launch, CUstream stream, StreamForm form, bool launched) {
    if (launch.slot != nullptr)
        record_end(launch, stream, form, launched);
}

/// Reads the events of pairs that are done and adds them to the segment. On the drain thread, inside OwnCalls.
void collect_times();

/// Before a place goes, with the drain paused: the driver takes the events with the context.
void forget_timers(const Place& place);

}  // namespace egpu::agent
