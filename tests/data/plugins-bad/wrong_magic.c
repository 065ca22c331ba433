// SPDX-License-Identifier: Apache-2.0
#include <egpu/plugin.h>
#include "hello.bpf.h"
const egpu_plugin egpu_plugin_descriptor = {0x12345678,
                                            sizeof(egpu_plugin),
                                            EGPU_PLUGIN_ABI_MAJOR,
                                            EGPU_PLUGIN_ABI_MINOR,
                                            EGPU_PLUGIN_ABI_MINOR,
                                            0,
                                            "wrong-magic",
                                            "0.1.0",
                                            "Apache-2.0",
                                            "",
                                            hello_bpf,
                                            hello_bpf_end,
                                            NULL};
