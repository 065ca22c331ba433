// SPDX-License-Identifier: Apache-2.0
// hello: the object of hello.bpf.c, and one finding drawn from its map.
#include <egpu/plugin.hpp>

#include "hello.bpf.h"  // made from hello.bpf.c by egpu_add_plugin()

class Hello : public egpu::Plugin {
    // Called after each copy of the maps from the GPU, never while one is under way.
    void on_snapshot(egpu::Host& host) override {
        for (auto [kernel, warps] : host.map<egpu::KernelId, std::uint64_t>("warps")) {
            const auto launches = host.launches(kernel);
            if (launches == 0 || warps / launches >= host.sm_count())
                continue;
            host.report({.id = "small-grid",
                         .severity = egpu::Severity::hint,
                         .kernel = kernel,
                         .text = "fewer warps than SMs: most of the GPU is idle. "
                                 "Give a launch more blocks, or merge launches."});
        }
    }
};

EGPU_PLUGIN(Hello, {.id = "hello",
                    .version = "0.1.0",
                    .license = "Apache-2.0",
                    .summary = "Warps that entered each kernel",
                    .object = hello_bpf,
                    .object_end = hello_bpf_end});
