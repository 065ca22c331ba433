// SPDX-License-Identifier: Apache-2.0
// Prints what lookups find; the same with the agent and without.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

extern int value(void);
extern int cu_value(void);

static int call(void* library, const char* name) {
    int (*function)(void) = (int (*)(void))dlsym(library, name);
    return function != NULL ? function() : -2;
}

int main(int argc, char** argv) {
    if (argc != 3)
        return 2;
    printf("value %d cu_value %d\n", value(), cu_value());
    printf("versioned %d\n", call(RTLD_DEFAULT, "versioned"));
    void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    printf("plugin %d %d\n", call(plugin, "through_default"), call(plugin, "direct"));
    void* base = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    printf("handle %d\n", call(base, "cu_value"));
    printf("absent %d", call(plugin, "cu_no_such_function"));
    const char* error = dlerror();
    printf(" %d\n", error != NULL && strstr(error, "cu_no_such_function") != NULL);
    printf("absent %d\n", call(plugin, "no_such_function"));
    dlerror();
    printf("error pending %d\n", (call(base, "cu_value"), dlerror() != NULL));
    return 0;
}
