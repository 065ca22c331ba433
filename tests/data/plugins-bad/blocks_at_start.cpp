// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <egpu/plugin.hpp>

#include "hello.bpf.h"

class Bad : public egpu::Plugin {
public:
    Bad() {
        while (true)
            ::pause();
    }
    void on_snapshot(egpu::Host&) override {}
};
EGPU_PLUGIN(Bad, {.id = "blocks-at-start", .version = "0.1.0", .object = hello_bpf, .object_end = hello_bpf_end});
