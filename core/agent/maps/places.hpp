// SPDX-License-Identifier: Apache-2.0
// Places: the application's contexts, as far as copies may run in them. Each has its own maps in device memory: what
// one context holds ends with it, and nothing of another may then still point there. The drain adds the places up.
#pragma once

#include <cstdint>

#include "gpu/device/driver.h"
#include "segment/layout/layout.h"

namespace egpu::agent {

struct Place {
    CUcontext context = nullptr;  ///< atomic; null: free, to be taken by the next context
    CUdevice device = -1;         ///< -1: not asked yet
    bool primary = false;         ///< its device's primary context: release and reset end it
    bool equipped = false;        ///< atomic; stream and staging are there, copies may come
    CUstream stream = nullptr;    ///< ours, non-blocking
    void* staging = nullptr;      ///< pinned, of the largest map; null: copies go straight to where they belong
    std::uintptr_t busy = 0;      ///< what the application has in flight here (idle.hpp)
    CUdeviceptr memory[EGPU_SEGMENT_MAX_MAPS] = {};  ///< atomic; 0: the map has none here
    CUdeviceptr grids = 0;                           ///< atomic; where its launches are followed (grids.hpp); 0: not
    std::uint64_t grids_bytes = 0;
    bool grids_refused = false;  ///< they could not be made zero; not tried again
    std::uint64_t refused = 0;   ///< bit i: map i could not be filled; not tried again
};

/// Contexts that live at the same time. Launches in more than these run originals.
inline constexpr unsigned int kMostPlaces = 16;
inline constexpr unsigned int kNoPlace = kMostPlaces;

/// Any thread, any time, without a lock.
Place* find_place(CUcontext context);
Place& place_at(unsigned int index);
unsigned int index_of(const Place& place);
/// How many places have ever been taken: those behind are free.
unsigned int places_used();
/// More than one context lives.
bool several_places();

/// The place of a context; a new one where it has none. Null for a null context, and where all places are taken. The
/// device is -1 where the caller doesn't know it.
Place* register_place(CUcontext context, CUdevice device, bool primary);
/// That of the current context; null without one.
Place* current_place();
/// Where work on this stream runs: a stream's own context; without a stream, the current one.
Place* place_of(CUstream stream);

/// Makes the place ready for copies: its context is current, inside OwnCalls, under the load lock. False where the
/// driver refuses.
bool equip(Place* place);
inline bool is_equipped(const Place& place) {
    return __atomic_load_n(&place.equipped, __ATOMIC_ACQUIRE);
}
/// Whether any context can count at present.
bool any_equipped();

/// Before the context goes away: nothing of it is touched afterwards. With the drain paused.
void forget_place(Place* place);

}  // namespace egpu::agent
