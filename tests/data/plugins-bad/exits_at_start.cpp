// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <egpu/plugin.hpp>

#include "hello.bpf.h"

class Bad : public egpu::Plugin {
public:
    Bad() { std::exit(5); }
    void on_snapshot(egpu::Host&) override {}
};
EGPU_PLUGIN(Bad, {.id = "exits-at-start", .version = "0.1.0", .object = hello_bpf, .object_end = hello_bpf_end});
