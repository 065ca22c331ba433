// SPDX-License-Identifier: Apache-2.0
// The drain: copies the session's maps from GPU memory into the segment, on a thread of its own.
#pragma once

#include "agent/maps/places.hpp"
#include "segment/layout/layout.h"

namespace egpu::agent {

/// Starts the thread (signals blocked, named egpu-drain, relaxed capture mode). False where the system refuses one:
/// the process is then observed without copies of maps.
bool start_drain();

/// The application returned from a synchronising call: what its kernels counted is there. One atomic add; a futex call
/// only while the drain sleeps.
void application_synchronised();

/// A last copy of all maps, waited for at most 200 ms, after what runs in `place` (null: in all of them) has ended.
/// True where it came through. Only in the process that claimed the session, only while it is observed.
bool final_copies(Place* place);

/// A context goes in which copies ran, and its last copy of the maps was not made: the session is never called drained.
void maps_lost();

/// The session's state becomes DRAINED, with what ended it, unless maps were lost.
void mark_drained(egpu_end_reason reason);

/// Keeps the drain away from the driver while the application destroys or resets a context. Waits at most 200 ms for
/// a copy in progress.
class DrainPaused {
public:
    DrainPaused();
    ~DrainPaused();
    /// False where the drain is stuck inside the driver.
    bool is_paused() const { return locked_; }
    DrainPaused(const DrainPaused&) = delete;
    DrainPaused& operator=(const DrainPaused&) = delete;

private:
    bool locked_ = false;
};

}  // namespace egpu::agent
