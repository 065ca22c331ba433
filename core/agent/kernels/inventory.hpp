// SPDX-License-Identifier: Apache-2.0
// The application's images, kernels and handles, as far as the egpu process knows them, and their copies.
#pragma once

#include <cstdint>
#include <string_view>

#include "agent/kernels/exchange.hpp"
#include "agent/kernels/handle_table.hpp"
#include "agent/kernels/residency.hpp"
#include "agent/maps/places.hpp"
#include "agent/session/lock.hpp"
#include "agent/timing/pairing.hpp"
#include "gpu/device/driver.h"
#include "segment/layout/layout.h"

namespace egpu::agent {

struct Image;
struct Kernel;

/// Bytes of the original's constants that a copy's bank is given before a launch.
struct Refresh {
    CUdeviceptr to = 0, from = 0;
    std::size_t bytes = 0;
};

/// A copy's second form, with constants of its own (constants.hpp).
struct Bank {
    Functions functions;
    CUmodule module = nullptr;
    int fits = 0;                  ///< atomic; 1: it may be launched
    Refresh* refreshes = nullptr;  ///< kept with the copy's record
    std::uint32_t refresh_count = 0;
    int taken = 0;             ///< atomic; 1: a thread is queueing a refresh
    std::uintptr_t owner = 0;  ///< the stream that it serves; 0: none yet. While taken
    std::uint32_t reason = 0;  ///< as the copy's
    std::int32_t result = 0;
};

/// An instrumented copy in the context of one place. Never unloaded while that lives, never freed: a launch on another
/// thread may hold it. The records of a place that ended are used again.
struct Copy {
    Functions functions;  ///< the copy and its original, with what is known of their residency
    CUmodule module = nullptr;
    Kernel* kernel = nullptr;
    bool fits = false;  ///< its table is filled and it agrees with its original: it may be launched
    egpu_copy_counters* counters = nullptr;
    Pairing pairing;           ///< with its original, while overhead is measured
    ContentHash content;       ///< of the COPY message
    std::uint32_t reason = 0;  ///< egpu_copy_reason and CUresult where the module could not be loaded: not tried again
    std::int32_t result = 0;
    Bank bank;             ///< without a module where the copy has no such form
    Copy* next = nullptr;  ///< of the same place
};

/// One kernel of one loaded image. Never freed: a launch on another thread may hold it.
struct alignas(16) Kernel {
    std::uint32_t id = 0;           ///< from the egpu process; counters at id - 1
    std::uint32_t home = kNoPlace;  ///< of a module's kernel: the only place it can run in
    std::string_view name;
    Image* image = nullptr;
    egpu_kernel_counters* counters = nullptr;
    std::uint32_t wanted = 0;        ///< id of the copy that is to run; 0: the original. Under the load lock
    Copy* copies[kMostPlaces] = {};  ///< atomic; the current copy of each place; null: launch the original
};

/// A handle that the application asked for before the image's kernels were known.
struct UnresolvedHandle {
    const void* handle = nullptr;
    bool context_free = false;
    Buffer name;  ///< NUL-ended
    UnresolvedHandle* next = nullptr;
};

/// A module or library of the application.
struct Image {
    CUmodule module = nullptr;  ///< of a library: its module in some context, once asked for
    CUlibrary library = nullptr;
    std::uint32_t place = kNoPlace;  ///< of a module
    ImageIdentity identity;
    Kernel* kernels = nullptr;  ///< sorted by name
    std::uint32_t kernel_count = 0;
    bool answered = false;   ///< its kernels are known
    std::uint32_t late = 0;  ///< atomic; 1: copies may still come
    std::uint32_t request = 0;
    Buffer names;
    ReceivedCopy* waiting = nullptr;  ///< copies that came and are in no place yet
    std::uint32_t copy_count = 0;     ///< atomic; copies that there are for it
    std::uint32_t loaded_places = 0;  ///< atomic; bit i: they were loaded, or refused, in place i
    UnresolvedHandle* unresolved = nullptr;
    Image* next = nullptr;
};

/// Held during the conversation about an image, while its copies are loaded, and while images come and go. A load may
/// take as long as the session's wait_ms, so nothing else waits for it.
Mutex& load_lock();
/// Held while the tables below change, for moments; taken after load_lock. Images come and go under both, so that the
/// list may be read under either. Never on a launch.
Mutex& inventory_lock();

const HandleTable& handles();
/// All kernels so far have ids up to this one. Any thread.
std::uint32_t highest_kernel_id();

/// Adds an image with the kernels of an answer, whose copies it takes; where the same image was here before, and is
/// unloaded now, under its old record. `answered` false: its kernels may still come. Null where memory is short. Under
/// both locks, the rest under the second.
Image* add_image(const Image& owner, const LoadedImage& loaded, Answer&& answer, bool answered);
/// The kernels of an image that was added without.
void add_kernels(Image* image, Answer&& answer);
Image* find_image(CUmodule module);
Image* find_image(CUlibrary library);
Image* find_image(std::uint32_t request);
Kernel* find_kernel(const Image& image, std::string_view name);
Image* first_image();

/// Takes an image and its handles out of the tables, before the driver frees them. Its copies stay where they are: the
/// same image loaded again takes them over.
void drop_image(Image* image);
/// A place ends: its modules' images, all copies in it.
void drop_place(const Place& place);

/// From now on a launch of `handle` is a launch of that kernel of the image.
void remember_handle(Image* image, const void* handle, std::string_view name, bool context_free);

/// All copies of a place, current or not. Under the load lock.
Copy*& copies_of(const Place& place);
/// A record for a copy; null where memory is short.
Copy* new_copy();

inline bool fits(const Bank& bank) {
    return __atomic_load_n(&bank.fits, __ATOMIC_ACQUIRE) != 0;
}
inline void set_fits(Bank* bank, bool it_does) {
    __atomic_store_n(&bank->fits, it_does ? 1 : 0, __ATOMIC_RELEASE);
}

inline Copy* current_copy(const Kernel& kernel, unsigned int place) {
    return __atomic_load_n(&kernel.copies[place], __ATOMIC_ACQUIRE);
}
/// Makes a copy the one that launches from now on run, or none: returns the one before. Any thread.
inline Copy* replace_copy(Kernel* kernel, unsigned int place, Copy* copy) {
    return __atomic_exchange_n(&kernel->copies[place], copy, __ATOMIC_ACQ_REL);
}

}  // namespace egpu::agent
