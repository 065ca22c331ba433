// SPDX-License-Identifier: Apache-2.0
// An interposer as allocators, MPI and sanitizers are: finds what it wraps by RTLD_NEXT, relative to itself.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

int value(void) {
    static int depth = 0;
    int (*real)(void) = (int (*)(void))dlsym(RTLD_NEXT, "value");
    if (real == NULL)
        return -1;
    if (++depth > 2)
        return 99;  // it found itself
    return real() + 100;
}

// A name that begins with "cu", as the agent's own: still relative to this library.
int cu_value(void) {
    static int depth = 0;
    int (*real)(void) = (int (*)(void))dlsym(RTLD_NEXT, "cu_value");
    if (real == NULL)
        return -1;
    if (++depth > 2)
        return 99;
    return real() + 200;
}

int versioned(void) {
    void* found = dlvsym(RTLD_NEXT, "qsort", "GLIBC_2.2.5");
    return found != NULL && found == dlsym(RTLD_NEXT, "qsort");
}
