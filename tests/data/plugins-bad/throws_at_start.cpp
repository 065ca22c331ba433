// SPDX-License-Identifier: Apache-2.0
#include <egpu/plugin.hpp>

#include "hello.bpf.h"

class Bad : public egpu::Plugin {
public:
    Bad() { throw std::runtime_error("no table of peaks for this machine"); }
    void on_snapshot(egpu::Host&) override {}
};
EGPU_PLUGIN(Bad, {.id = "throws-at-start", .version = "0.1.0", .object = hello_bpf, .object_end = hello_bpf_end});
