// SPDX-License-Identifier: Apache-2.0
// Well until there is a kernel.
#include <egpu/plugin.hpp>

#include "hello.bpf.h"

class Bad : public egpu::Plugin {
    void on_snapshot(egpu::Host& host) override {
        if (!host.kernels().empty())
            throw std::runtime_error("can't make sense of this kernel");
    }
};
EGPU_PLUGIN(Bad, {.id = "throws-in-run", .version = "0.1.0", .object = hello_bpf, .object_end = hello_bpf_end});
