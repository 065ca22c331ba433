// SPDX-License-Identifier: Apache-2.0
// Well until there is a kernel.
#include <unistd.h>

#include <egpu/plugin.hpp>

#include "hello.bpf.h"

class Bad : public egpu::Plugin {
    void on_snapshot(egpu::Host& host) override {
        while (!host.kernels().empty())
            ::pause();
    }
};
EGPU_PLUGIN(Bad, {.id = "blocks-in-run", .version = "0.1.0", .object = hello_bpf, .object_end = hello_bpf_end});
