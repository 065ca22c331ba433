// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <egpu/plugin.hpp>

#include "hello.bpf.h"

class Bad : public egpu::Plugin {
public:
    Bad() { std::raise(SIGSEGV); }
    void on_snapshot(egpu::Host&) override {}
};
EGPU_PLUGIN(Bad, {.id = "crashes-at-start", .version = "0.1.0", .object = hello_bpf, .object_end = hello_bpf_end});
