// SPDX-License-Identifier: Apache-2.0
// What follows a successful load, unload or lookup of the application.
#pragma once

#include <cstdint>

#include "agent/maps/idle.hpp"
#include "agent/maps/places.hpp"
#include "gpu/device/driver.h"

namespace egpu::agent {

/// JIT options of a load that change the code.
struct JitOptions {
    std::uint32_t maxregisters = 0;
    std::uint32_t optimisation_level = 0xffffffff;
};
JitOptions jit_options(unsigned int count, const CUjit_option* options, void* const* values);

/// An image at `code` became a module (of the current context) or a library.
void image_loaded(CUmodule module, CUlibrary library, const void* code, const JitOptions& options);
/// The same from a file.
void file_loaded(CUmodule module, CUlibrary library, const char* path, const JitOptions& options);
/// Before an unload is forwarded.
void module_unloading(CUmodule module);
void library_unloading(CUlibrary library);

/// Handles that the driver gave out. `name` null: asked of the driver.
void function_found(CUfunction function, CUmodule module, const char* name);
void kernel_found(CUkernel kernel, CUlibrary library, const char* name);
void function_of_kernel(CUfunction function, CUkernel kernel);
void module_of_library(CUmodule module, CUlibrary library);

/// A context was made: copies that had none may come in where it is the current one.
void context_began(CUcontext context, CUdevice device, bool primary);
/// Before a context goes away. `drain_paused`: what its maps held is kept, and the session counts on; else originals
/// run from now on. True where copies ran in it and no other has any.
bool context_ends(Place* place, bool drain_paused);

/// Loads copies that came late, or that this context has not got. The caller knows that nothing runs there which a load
/// would have to wait for; the context is current.
void quiet_moment(Place* place);

/// Before a graph is launched: the same, where copies wait and what the application launched in the stream's context
/// was on this stream only, and is over. Does not wait for that.
void load_if_over(CUstream stream, StreamForm form);

/// On a launch of a kernel that has no copy in this place, where there may be one: true where it is there now. Waits
/// for the egpu process at most the session's wait_ms, and only while the context is idle.
bool load_before_launch(Place* place);

/// What the egpu process sent after nobody waited for it any longer: taken in without driver calls, loaded at the next
/// quiet moment. For the drain thread; does nothing while an image is being talked about.
void take_in_late_answers();

/// True while a module is being loaded somewhere: the drain keeps away from the driver's lock.
bool load_in_progress();
class Loading {
public:
    Loading();
    ~Loading();
    Loading(const Loading&) = delete;
    Loading& operator=(const Loading&) = delete;
};

}  // namespace egpu::agent
