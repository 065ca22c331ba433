// SPDX-License-Identifier: Apache-2.0
// Nothing is wrong with it: what the others are measured by.
#include <egpu/plugin.hpp>

#include "hello.bpf.h"

class Good : public egpu::Plugin {
    void on_snapshot(egpu::Host& host) override {
        for (auto [kernel, warps] : host.map<egpu::KernelId, std::uint64_t>("warps"))
            host.report({.id = "seen",
                         .severity = egpu::Severity::warning,
                         .kernel = kernel,
                         .text = "entered by " + std::to_string(warps) + " warps of " +
                                 std::to_string(host.launches(kernel)) + " launches on " + host.device().name});
    }
};
EGPU_PLUGIN(
    Good,
    {.id = "good", .version = "0.1.0", .license = "Apache-2.0", .object = hello_bpf, .object_end = hello_bpf_end});
