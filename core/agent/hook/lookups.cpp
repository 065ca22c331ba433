// SPDX-License-Identifier: Apache-2.0
// Lookups of names that begin with "cu" at a real handle; the rest never comes here (dlsym.S).
#include <dlfcn.h>

#include "agent/hook/elf_symbol.hpp"
#include "agent/hook/entry.hpp"

extern "C" {

using DlsymFunction = void* (*)(void*, const char*);
using DlvsymFunction = void* (*)(void*, const char*, const char*);

__attribute__((visibility("hidden"))) DlsymFunction egpu_real_dlsym = nullptr;
__attribute__((visibility("hidden"))) DlvsymFunction egpu_real_dlvsym = nullptr;

__attribute__((visibility("hidden"))) void egpu_find_real_lookups() {
    using egpu::agent::c_library_function;
    __atomic_store_n(&egpu_real_dlvsym, reinterpret_cast<DlvsymFunction>(c_library_function("dlvsym")),
                     __ATOMIC_RELEASE);
    __atomic_store_n(&egpu_real_dlsym, reinterpret_cast<DlsymFunction>(c_library_function("dlsym")), __ATOMIC_RELEASE);
}

__attribute__((visibility("hidden"))) void* egpu_dlsym_of_driver(void* handle, const char* name) {
    if (egpu_real_dlsym == nullptr)
        egpu_find_real_lookups();
    void* found = egpu_real_dlsym != nullptr ? egpu_real_dlsym(handle, name) : nullptr;
    return egpu::agent::wrapper_of(found);
}

__attribute__((visibility("hidden"))) void* egpu_dlvsym_of_driver(void* handle, const char* name, const char* version) {
    if (egpu_real_dlvsym == nullptr)
        egpu_find_real_lookups();
    void* found = egpu_real_dlvsym != nullptr ? egpu_real_dlvsym(handle, name, version) : nullptr;
    return egpu::agent::wrapper_of(found);
}

}  // extern "C"

namespace egpu::agent {

namespace {

void* real_dlsym(void* handle, const char* name) {
    if (egpu_real_dlsym == nullptr)
        egpu_find_real_lookups();
    return egpu_real_dlsym != nullptr ? egpu_real_dlsym(handle, name) : nullptr;
}

}  // namespace

const Driver& real_driver() {
    driver_ready(real_dlsym, true);
    return forwarded_driver();
}

void* next_function(const char* name) {
    void* found = real_dlsym(RTLD_NEXT, name);
    dlerror();
    return found;
}

void* wrapper_of(void* function) {
    // Before libcuda is in the process nothing can be one of its exports.
    if (function == nullptr || !driver_ready(real_dlsym, false))
        return function;
    const Driver& real = forwarded_driver();
#define EGPU_WRAPPED(name, treatment)                   \
    if (function == reinterpret_cast<void*>(real.name)) \
        return reinterpret_cast<void*>(&::name);
#define EGPU_USED(name)
#include "agent/driver/functions.inc"
#undef EGPU_WRAPPED
#undef EGPU_USED
    return function;
}

}  // namespace egpu::agent
