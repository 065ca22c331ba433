// SPDX-License-Identifier: Apache-2.0
// A plugin opened with RTLD_LOCAL: RTLD_DEFAULT means its own scope, which only the caller's address tells.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

extern int dependency_value(void);

int through_default(void) {
    int (*found)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "dependency_value");
    return found != NULL ? found() : -1;
}

int direct(void) {
    return dependency_value();
}
