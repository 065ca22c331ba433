// SPDX-License-Identifier: Apache-2.0
#include "agent/driver/faults.hpp"

#ifdef EGPU_DRIVER_FAULTS

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace egpu::agent {

namespace {

constinit Driver counted;
constinit const Driver* behind = nullptr;
constinit long calls = 0, failing = 0, result = CUDA_ERROR_OUT_OF_MEMORY;

long number(const char* variable, long otherwise) {
    const char* text = std::getenv(variable);
    return text != nullptr ? std::atol(text) : otherwise;
}

void report(const char* name) {
    const char* path = std::getenv("EGPU_FAULT_REPORT");
    const int file = path != nullptr ? ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (file < 0)
        return;
    char line[256];
    const int length = std::snprintf(line, sizeof(line), "call %ld %s -> %ld\n", failing, name, result);
    (void)!::write(file, line, static_cast<std::size_t>(length));
    ::close(file);
}

bool fails(const char* name) {
    if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) != failing)
        return false;
    report(name);
    return true;
}

// Stands before one function of the driver.
template <auto slot, const char* name, typename Function>
struct Before;
template <auto slot, const char* name, typename... Arguments>
struct Before<slot, name, CUresult (*)(Arguments...)> {
    static CUresult call(Arguments... arguments) {
        return fails(name) ? static_cast<CUresult>(result) : (behind->*slot)(arguments...);
    }
};

#define EGPU_WRAPPED(name, treatment) constexpr char name_of_##name[] = #name;
#define EGPU_USED(name) constexpr char name_of_##name[] = #name;
#include "agent/driver/functions.inc"
#undef EGPU_WRAPPED
#undef EGPU_USED

}  // namespace

void prepare_faults(const Driver& real) {
    failing = number("EGPU_FAULT_CALL", 0);
    result = number("EGPU_FAULT_RESULT", result);
    behind = &real;
#define EGPU_USED(name)       \
    if (real.name != nullptr) \
        counted.name = &Before<&Driver::name, name_of_##name, decltype(Driver::name)>::call;
#define EGPU_WRAPPED(name, treatment) EGPU_USED(name)
#include "agent/driver/functions.inc"
#undef EGPU_WRAPPED
#undef EGPU_USED
}

const Driver& own_calls(const Driver&) {
    return counted;
}

}  // namespace egpu::agent

#endif
