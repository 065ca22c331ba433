// SPDX-License-Identifier: Apache-2.0
#include <egpu/plugin.hpp>

#include "hello.bpf.h"

class Bad : public egpu::Plugin {
    void on_snapshot(egpu::Host& host) override {
        for (auto [kernel, warps] : host.map<egpu::KernelId, std::uint64_t>("warp"))
            static_cast<void>(kernel), static_cast<void>(warps);
    }
};
EGPU_PLUGIN(Bad, {.id = "wrong-map", .version = "0.1.0", .object = hello_bpf, .object_end = hello_bpf_end});
