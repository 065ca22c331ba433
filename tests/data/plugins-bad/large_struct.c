// SPDX-License-Identifier: Apache-2.0
// A descriptor that goes on behind what this ABI has.
#include <egpu/plugin.h>
#include "hello.bpf.h"
struct larger {
    egpu_plugin known;
    uint64_t more;
};
__asm__(".globl egpu_plugin_descriptor\n.set egpu_plugin_descriptor, larger_descriptor\n");
const struct larger larger_descriptor __attribute__((used)) = {
    {EGPU_PLUGIN_MAGIC, sizeof(struct larger), EGPU_PLUGIN_ABI_MAJOR, EGPU_PLUGIN_ABI_MINOR, EGPU_PLUGIN_ABI_MINOR, 0,
     "large-struct", "0.1.0", "Apache-2.0", "", hello_bpf, hello_bpf_end, NULL},
    1};
