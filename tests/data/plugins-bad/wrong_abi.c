// SPDX-License-Identifier: Apache-2.0
#include <egpu/plugin.h>
#include "hello.bpf.h"
const egpu_plugin egpu_plugin_descriptor = {
    EGPU_PLUGIN_MAGIC, sizeof(egpu_plugin), 1,   2, 0, 0, "roofline", "2.0.0", "Apache-2.0", "Made for another egpu",
    hello_bpf,         hello_bpf_end,       NULL};
