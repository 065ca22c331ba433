// SPDX-License-Identifier: Apache-2.0
#include <egpu/plugin.h>
#include "hello.bpf.h"
const egpu_plugin egpu_plugin_descriptor = {EGPU_PLUGIN_MAGIC,
                                            sizeof(egpu_plugin),
                                            EGPU_PLUGIN_ABI_MAJOR,
                                            EGPU_PLUGIN_ABI_MINOR,
                                            EGPU_PLUGIN_ABI_MINOR,
                                            0,
                                            "../Bad Id",
                                            "0.1.0",
                                            "Apache-2.0",
                                            "",
                                            hello_bpf,
                                            hello_bpf_end,
                                            NULL};
