// SPDX-License-Identifier: Apache-2.0
// Loading instrumented copies: module, table, comparison with the original.
#pragma once

#include "agent/kernels/inventory.hpp"

namespace egpu::agent {

/// Loads the copies of `image` into `place`, whose context is current, and tells the egpu process what became of each.
/// Of a library that is in another place already, they are asked for once more. Inside OwnCalls and under the load
/// lock.
void load_copies(Image* image, Place* place);

/// The same for all images. Called at moments when a load stalls nobody: inside the application's own load or context
/// creation, after a call that left the context idle, before its first launch.
void load_waiting_copies(Place* place);

/// One relaxed load: whether load_waiting_copies() may have anything to do there.
bool copies_wait(const Place& place);
bool copies_wait_anywhere();
/// Copies came, for whatever place.
void copies_came();

/// Whether there are copies for this image that place `index` has not got.
inline bool lacks_copies(const Image& image, unsigned int index) {
    return __atomic_load_n(&image.copy_count, __ATOMIC_ACQUIRE) != 0 &&
           ((__atomic_load_n(&image.loaded_places, __ATOMIC_ACQUIRE) >> index) & 1) == 0;
}

/// From now on `kernel` runs `received` (taken over): at once where it was loaded before, else it waits for a moment to
/// be loaded and what runs now goes on. Tells the egpu process. On the drain thread, inside OwnCalls, under the load
/// lock.
void use_copy(Image* image, Kernel* kernel, ReceivedCopy* received);
/// From now on it runs its original. Under the load lock.
void use_original(Image* image, Kernel* kernel);
/// Before an image goes: its copies that wait will not be loaded.
void forget_waiting(Image* image);

/// The copy is never launched again; the reason is recorded.
void retire_copy(Kernel* kernel, unsigned int place, egpu_copy_reason reason, CUresult result);

/// Before the context of a place goes away, with the drain paused and under both locks: its copies and handles.
void end_place(Place* place);

/// Does to copies what the application did to their original: `call` for each current copy of the kernel that the
/// handle stands for, with its context current; only in places of `device` where that is not -1. A copy that can't
/// follow is retired.
void mirror_on_copies(const void* handle, CUdevice device, CUresult (*call)(CUfunction copy, const void* what),
                      const void* what);

}  // namespace egpu::agent
