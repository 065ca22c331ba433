// SPDX-License-Identifier: Apache-2.0
// The ways in: lookups by name (dlsym, dlvsym, cuGetProcAddress) and directly linked driver functions.
#pragma once

#include "agent/driver/driver.hpp"

namespace egpu::agent {

/// The real driver's functions, for wrappers: loads libcuda.so.1 where the application was linked to it and reached us
/// first.
const Driver& real_driver();

/// What to give the application for a function that the driver gave us: the wrapper where `function` is one of the
/// driver's exports that we wrap, else `function`.
void* wrapper_of(void* function);

/// A function of the C library behind our own of the same name (the next in lookup order, for other interposers).
void* next_function(const char* name);

}  // namespace egpu::agent
