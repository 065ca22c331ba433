// SPDX-License-Identifier: Apache-2.0
// What follows a successful load, unload or lookup of the application.
#pragma once

#include <cstdint>

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

/// Loads copies that had no context to go to, if there are any. The caller knows that nothing
/// runs which a load would have to wait for.
void quiet_moment();

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
