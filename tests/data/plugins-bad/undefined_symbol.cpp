// SPDX-License-Identifier: Apache-2.0
// Uses a function that no library has.
#include <egpu/plugin.hpp>

#include "hello.bpf.h"

int made_by_nobody();
class Bad : public egpu::Plugin {
    void on_snapshot(egpu::Host&) override { made_by_nobody(); }
};
EGPU_PLUGIN(Bad, {.id = "undefined-symbol", .version = "0.1.0", .object = hello_bpf, .object_end = hello_bpf_end});
