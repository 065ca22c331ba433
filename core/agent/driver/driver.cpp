// SPDX-License-Identifier: Apache-2.0
#include "agent/driver/driver.hpp"

#include "agent/driver/faults.hpp"

#include <dlfcn.h>
#include <pthread.h>

namespace egpu::agent {

namespace {

constexpr const char* kLibrary = "libcuda.so.1";

constinit Driver table;
constinit int ready = 0;
constinit pthread_mutex_t filling = PTHREAD_MUTEX_INITIALIZER;
thread_local int depth = 0;

template <typename Function>
void fill(Function& slot, SymbolLookup lookup, void* library, const char* name) {
    slot = reinterpret_cast<Function>(lookup(library, name));
}

void fill_all(SymbolLookup lookup, void* library) {
#define EGPU_WRAPPED(name, treatment) fill(table.name, lookup, library, #name);
#define EGPU_USED(name) fill(table.name, lookup, library, #name);
#include "agent/driver/functions.inc"
#undef EGPU_WRAPPED
#undef EGPU_USED
    prepare_faults(table);
    dlerror();  // a symbol that this driver lacks is no news to the application
}

}  // namespace

const Driver& driver() {
    return own_calls(table);
}

const Driver& forwarded_driver() {
    return table;
}

bool driver_ready(SymbolLookup lookup, bool load) {
    if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != 0)
        return true;
    if (lookup == nullptr)
        return false;
    pthread_mutex_lock(&filling);
    if (ready == 0) {
        void* library = dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD);
        if (library == nullptr && load)
            library = dlopen(kLibrary, RTLD_LAZY);
        if (library != nullptr) {
            fill_all(lookup, library);
            __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
        } else {
            dlerror();
        }
    }
    pthread_mutex_unlock(&filling);
    return ready != 0;
}

bool is_sticky(CUresult error) {
    switch (error) {
        case CUDA_ERROR_ILLEGAL_ADDRESS:
        case CUDA_ERROR_LAUNCH_TIMEOUT:
        case CUDA_ERROR_ASSERT:
        case CUDA_ERROR_HARDWARE_STACK_ERROR:
        case CUDA_ERROR_ILLEGAL_INSTRUCTION:
        case CUDA_ERROR_MISALIGNED_ADDRESS:
        case CUDA_ERROR_INVALID_ADDRESS_SPACE:
        case CUDA_ERROR_INVALID_PC:
        case CUDA_ERROR_LAUNCH_FAILED:
        case CUDA_ERROR_UNKNOWN:
            return true;
        default:
            return false;
    }
}

OwnCalls::OwnCalls() : previous_(CU_STREAM_CAPTURE_MODE_RELAXED), exchanged_(false) {
    ++depth;
    if (driver().cuThreadExchangeStreamCaptureMode != nullptr)
        exchanged_ = driver().cuThreadExchangeStreamCaptureMode(&previous_) == CUDA_SUCCESS;
}

OwnCalls::~OwnCalls() {
    if (exchanged_)
        table.cuThreadExchangeStreamCaptureMode(&previous_);
    --depth;
}

Forwarded::Forwarded() {
    ++depth;
}

Forwarded::~Forwarded() {
    --depth;
}

bool Forwarded::nested() {
    return depth != 0;
}

}  // namespace egpu::agent
