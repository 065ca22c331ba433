/* SPDX-License-Identifier: Apache-2.0 */
/* What agent and egpu process say to each other through the two rings of the segment. Each message is a header and a
 * body of `bytes` bytes, padded to 8. A reader that meets a type or size it doesn't know ends the session (state
 * ENDED) and the application runs its originals. */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct egpu_message {
    uint32_t type;    /* egpu_message_type */
    uint32_t request; /* number chosen by who asks; the answer repeats it */
    uint64_t bytes;   /* of the body, without padding */
};

enum egpu_message_type {
    /* agent -> host */
    EGPU_MESSAGE_DEVICE = 1, /* body: egpu_message_device; before the first image */
    EGPU_MESSAGE_IMAGE = 2,  /* body: egpu_message_image, then the image's bytes (absent where the host has them) */
    EGPU_MESSAGE_COPY_RESULT = 3, /* body: egpu_message_copy_result */
    /* host -> agent */
    EGPU_MESSAGE_KERNELS = 16,       /* answer to IMAGE: egpu_message_kernels, then `kernels` egpu_kernel_answer */
    EGPU_MESSAGE_COPY = 17,          /* egpu_message_copy, table entries, symbols, image; `request` of the IMAGE */
    EGPU_MESSAGE_END_OF_COPIES = 18, /* no body: all copies for that request have been sent */
    /* host -> agent, through the commands ring only: COPY (a kernel's copy from now on), and */
    EGPU_MESSAGE_ORIGINAL = 19, /* egpu_message_original: the kernel runs its original from now on; answered
                                  by COPY_RESULT with copy_id 0 */
};

struct egpu_message_device {
    uint32_t compute_capability; /* 90 */
    uint32_t sm_count;
    uint32_t driver_version; /* 13000 */
    uint32_t simulated;
    char name[128];
};

struct egpu_message_image {
    uint64_t hash_low, hash_high; /* XXH3-128 of the bytes */
    uint64_t image_bytes;         /* of the image; the bytes follow in this body */
    uint32_t kind;                /* egpu_image_kind */
    uint32_t relocatable;
    uint32_t maxregisters;       /* JIT options of the load call; 0: none */
    uint32_t optimisation_level; /* 0xffffffff: none */
    uint32_t tensor_maps_known;  /* the driver lays tensor maps out as egpu reads them */
    uint32_t unused;
    char path[256]; /* file of the object that holds it, may be empty */
};

/* The kernels that the host found in an image: the agent counts launches under their ids. Comes twice where copies are
 * built, before and after that; a copy that nobody waited for any longer is put in later. */
struct egpu_message_kernels {
    uint32_t kernels;
    uint32_t copies; /* COPY messages to follow */
};
struct egpu_kernel_answer {
    uint32_t kernel_id;  /* from 1; index of the counters + 1 */
    uint32_t name_bytes; /* the mangled name follows, padded to 8 */
};

/* An instrumented copy: table entries, then those of the bank's form, then its constants, then symbol bytes, then the
 * bank's image with a NUL behind it (absent where bank_image_bytes is 0), then the image (cubin, or NUL-ended PTX),
 * each padded to 8. The bank's form is the same copy with constants in its own bank, to be made equal to the original's
 * before each launch; the other reads them by address. */
struct egpu_message_copy {
    uint32_t kernel_id;
    uint32_t entries; /* egpu_table_entry */
    uint32_t symbol_bytes;
    uint32_t name_bytes; /* the entry's mangled name: the first bytes of the symbols */
    uint64_t image_bytes;
    uint32_t copy_id;          /* from 1; index of the copy's counters + 1. The same id: the same copy */
    uint32_t bank_entries;     /* egpu_table_entry */
    uint64_t bank_image_bytes; /* without that NUL */
    uint32_t bank_constants;   /* egpu_bank_constant */
    uint32_t reserved;
};
struct egpu_message_original {
    uint32_t kernel_id;
    uint32_t reserved;
};
struct egpu_table_entry {
    uint32_t kind;   /* 1: element of a map, 2: global of the original, 3: where launches are followed */
    uint32_t map;    /* 1: index of the map */
    uint64_t offset; /* 1: byte offset in the map; 2: offset of the name in the symbols (NUL-ended); 3: bytes of
                        memory of the context, the same for all copies, zeroes at first. Its first 8 count launches
                        that could not be followed */
};

/* A constant of the bank's form: a variable of that name in the original and in the copy. */
struct egpu_bank_constant {
    uint64_t name; /* offset in the symbols (NUL-ended) */
    uint64_t bytes;
};

struct egpu_message_copy_result {
    uint32_t kernel_id;
    int32_t result;     /* CUresult; 0 loaded */
    uint32_t registers; /* of the copy (of the bank's form where it was loaded), from the driver; 0 unknown */
    uint32_t original_registers;
    uint32_t local_bytes, original_local_bytes;
    uint32_t reason; /* egpu_copy_reason */
    uint32_t copy_id;
    uint32_t bank_reason; /* egpu_copy_reason of the bank's form; 0 also where there is none */
    int32_t bank_result;  /* CUresult */
};
enum egpu_copy_reason {
    EGPU_COPY_LOADED = 0,
    EGPU_COPY_LOAD_FAILED = 1,   /* the driver refused the image */
    EGPU_COPY_NO_SYMBOL = 2,     /* a global of the original was not found */
    EGPU_COPY_NO_MEMORY = 3,     /* device memory for maps refused or over the limit */
    EGPU_COPY_LOCAL_MEMORY = 4,  /* would raise local memory over the context's limit */
    EGPU_COPY_OTHER_CONTEXT = 5, /* more contexts at once than copies are kept for */
    EGPU_COPY_FEWER_BLOCKS = 6,  /* residency would fall */
    EGPU_COPY_ONE_PLACE = 7,     /* uses a map that can't be added up, and another context or device has it */
    EGPU_COPY_LATE = 8,          /* came late, or the context was new: waits for a moment when loading stalls nobody */
    EGPU_COPY_OTHER_DEVICE = 9,  /* a device of another architecture than the first */
    EGPU_COPY_SUPERSEDED = 10,   /* another command for the kernel came before it was loaded */
    EGPU_COPY_NO_KERNEL = 11,    /* the kernel's image is not loaded now */
    EGPU_COPY_NO_REFRESH = 12,   /* its constants could not be made equal to the original's before a launch */
    EGPU_COPY_CAPTURE_UNKNOWN = 13, /* the driver did not say whether the launch was being captured */
};

#ifdef __cplusplus
}
#endif
