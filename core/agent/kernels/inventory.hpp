// SPDX-License-Identifier: Apache-2.0
// The application's images, kernels and handles, as far as the egpu process knows them.
#pragma once

#include <cstdint>
#include <string_view>

#include "agent/kernels/exchange.hpp"
#include "agent/kernels/handle_table.hpp"
#include "agent/session/lock.hpp"
#include "gpu/device/driver.h"
#include "segment/layout/layout.h"

namespace egpu::agent {

struct Image;

/// One kernel of one loaded image. Never freed: a launch on another thread may hold it.
struct alignas(16) Kernel {
    std::uint32_t id = 0;  ///< from the egpu process; counters at id - 1
    std::string_view name;
    Image* image = nullptr;
    egpu_kernel_counters* counters = nullptr;
    CUfunction copy = nullptr;         ///< atomic; null: launch the original
    std::uint32_t resident_warps = 0;  ///< bit w-1: blocks of w warps keep the original's residency
};

/// A module or library of the application.
struct Image {
    CUmodule module = nullptr;  ///< of a library: its module in the observed context, once asked for
    CUlibrary library = nullptr;
    CUcontext context = nullptr;  ///< of a module; null for a library
    Kernel* kernels = nullptr;    ///< sorted by name
    std::uint32_t kernel_count = 0;
    std::uint32_t request = 0;
    Buffer names;
    ReceivedCopy* waiting = nullptr;  ///< copies that no context could take yet
    Image* next = nullptr;
};

/// Held during the conversation about an image, while its copies are loaded, and while images come and go. A load may
/// take as long as the session's wait_ms, so nothing else waits for it.
Mutex& load_lock();
/// Held while the tables below change, for moments; taken after load_lock. Images come and go under both, so that the
/// list may be read under either. Never on a launch.
Mutex& inventory_lock();

const HandleTable& handles();

/// Adds an image with the kernels of an answer, whose copies it takes. Null where memory is short. Under both locks,
/// the rest under the second.
Image* add_image(const Image& owner, Answer&& answer);
Image* find_image(CUmodule module);
Image* find_image(CUlibrary library);
Kernel* find_kernel(const Image& image, std::string_view name);
Image* first_image();

/// Takes handles (and, of one image, everything else) out of the tables; before the driver frees them.
void drop_image(Image* image);
/// All CUfunctions of the observed context, or of all others.
void drop_functions(bool of_other_contexts);

/// From now on a launch of `handle` is a launch of `kernel`.
void remember_handle(const void* handle, const Handle& meaning);

}  // namespace egpu::agent
