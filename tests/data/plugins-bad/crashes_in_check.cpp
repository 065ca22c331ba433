// SPDX-License-Identifier: Apache-2.0
// Loads and starts; the call that `egpu plugin check` makes ends the process.
#include <csignal>
#include <egpu/plugin.hpp>

#include "hello.bpf.h"

class Bad : public egpu::Plugin {
    void on_snapshot(egpu::Host& host) override {
        if (host.kernels().empty())
            std::raise(SIGSEGV);
    }
};
EGPU_PLUGIN(Bad, {.id = "crashes-in-check", .version = "0.1.0", .object = hello_bpf, .object_end = hello_bpf_end});
