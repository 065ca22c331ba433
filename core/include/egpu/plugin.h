/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin ABI: what a plugin and egpu say to each other. C11, C++17, C++20.
 *
 * A plugin is a shared library that exports one data symbol, egpu_plugin_descriptor, and nothing else. egpu reads the
 * descriptor from the file before anything of the plugin runs; a plugin without `ops` is never loaded at all: its eBPF
 * object is all of it. Probes, maps, options and units are read from the object's BTF.
 *
 * Growth: structs grow at their end only. `struct_size` is how much of a struct its writer knows; a reader takes what
 * both know. Until egpu 1.0 major and minor must match exactly.
 *
 * No memory changes hands: what a function is given is valid until it returns, unless it says otherwise. */
#ifndef EGPU_PLUGIN_H
#define EGPU_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EGPU_PLUGIN_MAGIC 0x55504745u /* "EGPU" in memory */
#define EGPU_PLUGIN_ABI_MAJOR 0
#define EGPU_PLUGIN_ABI_MINOR 1

/* What functions return. */
enum egpu_plugin_status {
    EGPU_PLUGIN_OK = 0,
    EGPU_PLUGIN_FAILED = 1,     /* the message says why */
    EGPU_PLUGIN_NOT_FOUND = 2,  /* no map, kernel or option of that name or number */
    EGPU_PLUGIN_WRONG_SIZE = 3, /* it has another size than was asked for */
};

/* How much a finding matters. */
enum egpu_plugin_severity { EGPU_PLUGIN_HINT = 0, EGPU_PLUGIN_WARNING = 1, EGPU_PLUGIN_ERROR = 2 };

/* Room for a message, owned by egpu: the plugin writes at most `capacity` bytes, the last one a NUL. */
typedef struct egpu_plugin_message {
    uint32_t struct_size;
    uint32_t capacity;
    char* text;
} egpu_plugin_message;

/* The device that the application uses. */
typedef struct egpu_plugin_device {
    uint32_t struct_size;
    uint32_t sm_count;           /* 0: not known yet */
    uint32_t compute_capability; /* 90 for 9.0; 0: not known yet */
    uint32_t simulated;          /* 1: the simulated GPU, which knows no time */
    const char* name;            /* "" until the application used CUDA */
} egpu_plugin_device;

/* A kernel of the application. */
typedef struct egpu_plugin_kernel {
    uint32_t struct_size;
    uint32_t id;                    /* as egpu_kernel_id_t in maps */
    const char* name;               /* "vector_add" */
    const char* mangled;            /* "_Z10vector_addPKfS0_Pfj" */
    const char* module;             /* file name of the object that holds it */
    const char* state;              /* "instrumented", "not_matched", "no_ptx", "refused", "failed" */
    uint64_t launches;              /* all of them */
    uint64_t launches_instrumented; /* those that ran with probes */
} egpu_plugin_kernel;

/* A place in a kernel. */
typedef struct egpu_plugin_site {
    uint32_t struct_size;
    uint32_t id; /* as egpu_site_id_t in maps */
    uint32_t kernel;
    uint32_t line;      /* 0: no line information */
    const char* file;   /* "" without line information */
    const char* opcode; /* "ld.global.f32" */
} egpu_plugin_site;

/* All entries of a map: `count` keys, one behind the other, and as many values, summed over the SMs' copies. */
typedef struct egpu_plugin_rows {
    uint32_t struct_size;
    uint32_t key_bytes, value_bytes, count;
    const void *keys, *values;
    uint64_t age_ns; /* since they were copied from the GPU; UINT64_MAX: never copied */
} egpu_plugin_rows;

/* What a plugin found out. */
typedef struct egpu_plugin_finding {
    uint32_t struct_size;
    uint32_t severity; /* enum egpu_plugin_severity */
    uint32_t kernel;   /* 0: of no kernel */
    uint32_t site;     /* 0: of no place */
    const char* id;    /* "small-grid": [a-z0-9-]+ */
    const char* text;  /* one paragraph: what, the evidence, what to do */
} egpu_plugin_finding;

/* What egpu does for a plugin. Given to each callback, valid until it returns; `session` is the first argument of all
 * functions. Each function that returns a status leaves a message for `last_error` where it is not EGPU_PLUGIN_OK. */
typedef struct egpu_plugin_host {
    uint32_t struct_size;
    uint16_t abi_major, abi_minor;
    void* session;
    int32_t (*device)(void* session, egpu_plugin_device* device);
    uint32_t (*kernel_count)(void* session); /* kernels have the ids 1 to this */
    int32_t (*kernel)(void* session, uint32_t id, egpu_plugin_kernel* kernel);
    int32_t (*site)(void* session, uint32_t id, egpu_plugin_site* site);
    /* A map of the plugin's own object, as it was copied from the GPU last. */
    int32_t (*map)(void* session, const char* name, egpu_plugin_rows* rows);
    /* The value in force of an option (EGPU_OPTION) of the plugin's object; `bytes` must be its size. */
    int32_t (*option)(void* session, const char* name, void* value, uint32_t bytes);
    /* What is reported in a call takes the place of what was reported in the call before. */
    int32_t (*report)(void* session, const egpu_plugin_finding* finding);
    const char* (*last_error)(void* session);
} egpu_plugin_host;

/* A plugin's own code. All functions are called on one thread, one after the other; each has a few seconds. A call
 * that fails or takes longer is reported, the plugin's code is not called again, and the session goes on. No C++
 * exception may leave them. */
typedef struct egpu_plugin_ops {
    uint32_t struct_size;
    uint32_t pad;
    /* Once, before all others; *self is handed to them. */
    int32_t (*start)(void** self, egpu_plugin_message* message);
    /* After each copy of the maps from the GPU, never while one is under way; once more at the end. May be NULL. */
    int32_t (*on_snapshot)(void* self, const egpu_plugin_host* host, egpu_plugin_message* message);
    /* Once, at the end, where start succeeded. May be NULL. */
    void (*stop)(void* self);
} egpu_plugin_ops;

typedef struct egpu_plugin {
    uint32_t magic;       /* EGPU_PLUGIN_MAGIC */
    uint32_t struct_size; /* grows at the end only */
    uint16_t abi_major, abi_minor;
    uint16_t min_host_minor, pad;
    const char* id; /* [a-z0-9-]+ */
    const char *version, *license, *summary;
    const void *object, *object_end; /* the eBPF object */
    const egpu_plugin_ops* ops;      /* NULL when there is no code */
} egpu_plugin;

#if defined(__GNUC__)
#define EGPU_PLUGIN_EXPORT __attribute__((visibility("default")))
#else
#define EGPU_PLUGIN_EXPORT
#endif

/* The only thing that a plugin exports. Its initialiser must be a constant: egpu reads it from the file. */
extern EGPU_PLUGIN_EXPORT const egpu_plugin egpu_plugin_descriptor;

#ifdef __cplusplus
}
#define EGPU_PLUGIN_ASSERT(condition) static_assert(condition, #condition)
#else
#define EGPU_PLUGIN_ASSERT(condition) _Static_assert(condition, #condition)
#endif

/* Where each field lies, on machines with pointers of 8 bytes. A line here never changes; lines are added. */
#define EGPU_PLUGIN_AT(type, field, at) EGPU_PLUGIN_ASSERT(offsetof(type, field) == (at))
EGPU_PLUGIN_ASSERT(sizeof(void*) == 8);
EGPU_PLUGIN_AT(egpu_plugin, magic, 0);
EGPU_PLUGIN_AT(egpu_plugin, struct_size, 4);
EGPU_PLUGIN_AT(egpu_plugin, abi_major, 8);
EGPU_PLUGIN_AT(egpu_plugin, abi_minor, 10);
EGPU_PLUGIN_AT(egpu_plugin, min_host_minor, 12);
EGPU_PLUGIN_AT(egpu_plugin, id, 16);
EGPU_PLUGIN_AT(egpu_plugin, version, 24);
EGPU_PLUGIN_AT(egpu_plugin, license, 32);
EGPU_PLUGIN_AT(egpu_plugin, summary, 40);
EGPU_PLUGIN_AT(egpu_plugin, object, 48);
EGPU_PLUGIN_AT(egpu_plugin, object_end, 56);
EGPU_PLUGIN_AT(egpu_plugin, ops, 64);
EGPU_PLUGIN_AT(egpu_plugin_ops, struct_size, 0);
EGPU_PLUGIN_AT(egpu_plugin_ops, start, 8);
EGPU_PLUGIN_AT(egpu_plugin_ops, on_snapshot, 16);
EGPU_PLUGIN_AT(egpu_plugin_ops, stop, 24);
EGPU_PLUGIN_AT(egpu_plugin_message, capacity, 4);
EGPU_PLUGIN_AT(egpu_plugin_message, text, 8);
EGPU_PLUGIN_AT(egpu_plugin_host, abi_major, 4);
EGPU_PLUGIN_AT(egpu_plugin_host, abi_minor, 6);
EGPU_PLUGIN_AT(egpu_plugin_host, session, 8);
EGPU_PLUGIN_AT(egpu_plugin_host, device, 16);
EGPU_PLUGIN_AT(egpu_plugin_host, kernel_count, 24);
EGPU_PLUGIN_AT(egpu_plugin_host, kernel, 32);
EGPU_PLUGIN_AT(egpu_plugin_host, site, 40);
EGPU_PLUGIN_AT(egpu_plugin_host, map, 48);
EGPU_PLUGIN_AT(egpu_plugin_host, option, 56);
EGPU_PLUGIN_AT(egpu_plugin_host, report, 64);
EGPU_PLUGIN_AT(egpu_plugin_host, last_error, 72);
EGPU_PLUGIN_AT(egpu_plugin_device, sm_count, 4);
EGPU_PLUGIN_AT(egpu_plugin_device, compute_capability, 8);
EGPU_PLUGIN_AT(egpu_plugin_device, simulated, 12);
EGPU_PLUGIN_AT(egpu_plugin_device, name, 16);
EGPU_PLUGIN_AT(egpu_plugin_kernel, id, 4);
EGPU_PLUGIN_AT(egpu_plugin_kernel, name, 8);
EGPU_PLUGIN_AT(egpu_plugin_kernel, mangled, 16);
EGPU_PLUGIN_AT(egpu_plugin_kernel, module, 24);
EGPU_PLUGIN_AT(egpu_plugin_kernel, state, 32);
EGPU_PLUGIN_AT(egpu_plugin_kernel, launches, 40);
EGPU_PLUGIN_AT(egpu_plugin_kernel, launches_instrumented, 48);
EGPU_PLUGIN_AT(egpu_plugin_site, id, 4);
EGPU_PLUGIN_AT(egpu_plugin_site, kernel, 8);
EGPU_PLUGIN_AT(egpu_plugin_site, line, 12);
EGPU_PLUGIN_AT(egpu_plugin_site, file, 16);
EGPU_PLUGIN_AT(egpu_plugin_site, opcode, 24);
EGPU_PLUGIN_AT(egpu_plugin_rows, key_bytes, 4);
EGPU_PLUGIN_AT(egpu_plugin_rows, value_bytes, 8);
EGPU_PLUGIN_AT(egpu_plugin_rows, count, 12);
EGPU_PLUGIN_AT(egpu_plugin_rows, keys, 16);
EGPU_PLUGIN_AT(egpu_plugin_rows, values, 24);
EGPU_PLUGIN_AT(egpu_plugin_rows, age_ns, 32);
EGPU_PLUGIN_AT(egpu_plugin_finding, severity, 4);
EGPU_PLUGIN_AT(egpu_plugin_finding, kernel, 8);
EGPU_PLUGIN_AT(egpu_plugin_finding, site, 12);
EGPU_PLUGIN_AT(egpu_plugin_finding, id, 16);
EGPU_PLUGIN_AT(egpu_plugin_finding, text, 24);
#undef EGPU_PLUGIN_AT
#undef EGPU_PLUGIN_ASSERT

#endif
