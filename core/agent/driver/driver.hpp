// SPDX-License-Identifier: Apache-2.0
// The real driver: its functions by pointer, as libcuda.so.1 exports them. Inside the agent nothing calls a driver
// function by name: names are our wrappers.
#pragma once

#include "gpu/device/driver.h"

namespace egpu::agent {

struct Driver {
#define EGPU_WRAPPED(name, treatment) decltype(&::name) name = nullptr;
#define EGPU_USED(name) decltype(&::name) name = nullptr;
#include "agent/driver/functions.inc"
#undef EGPU_WRAPPED
#undef EGPU_USED
};

/// The real functions, for calls of our own; all null until driver_ready(). One missing in this driver stays null.
const Driver& driver();
/// The same for calls of the application that are forwarded. Another table only in the agent whose own calls can be
/// made to fail (faults.cpp).
const Driver& forwarded_driver();

using SymbolLookup = void* (*)(void* library, const char* name);

/// Fills driver() from the libcuda.so.1 that is in the process, or, with `load`, loads it. Returns false where there
/// is none. `lookup` is the real dlsym. Any thread, any number of times.
bool driver_ready(SymbolLookup lookup, bool load);

/// Errors after which a context is lost (CUDA driver API, cudaError_enum: "the context cannot be used").
bool is_sticky(CUresult error);

/// Calls made for ourselves on a thread of the application: in relaxed capture mode, so that they don't invalidate
/// a capture of the application, and marked, so that wrappers they may reach pass through.
class OwnCalls {
public:
    OwnCalls();
    ~OwnCalls();
    /// False where the driver refused the mode: what may not be called during a capture is better left alone.
    bool relaxed() const { return exchanged_; }
    OwnCalls(const OwnCalls&) = delete;
    OwnCalls& operator=(const OwnCalls&) = delete;

private:
    CUstreamCaptureMode previous_;
    bool exchanged_;
};

/// Marks a wrapper's forwarded call: what the driver calls of itself meanwhile is its own business.
class Forwarded {
public:
    Forwarded();
    ~Forwarded();
    Forwarded(const Forwarded&) = delete;
    Forwarded& operator=(const Forwarded&) = delete;
    /// True on a thread that is inside a forwarded or own call already.
    static bool nested();
};

}  // namespace egpu::agent
