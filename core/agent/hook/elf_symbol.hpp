// SPDX-License-Identifier: Apache-2.0
// A function of the C library by walking its dynamic symbols: dlsym can't be asked for dlsym, which is ours.
#pragma once

namespace egpu::agent {

/// The address of `name` in libc.so.6 (or, for glibc before 2.34, libdl.so.2) of this process; null where absent.
void* c_library_function(const char* name);

}  // namespace egpu::agent
