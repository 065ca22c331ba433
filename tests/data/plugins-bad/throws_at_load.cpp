// SPDX-License-Identifier: Apache-2.0
// A static constructor throws: nothing can catch that, the process ends.
#include <egpu/plugin.hpp>

#include "hello.bpf.h"

static const int value = [] { return throw std::runtime_error("too early"), 1; }();
class Bad : public egpu::Plugin {
    void on_snapshot(egpu::Host&) override {}
};
EGPU_PLUGIN(Bad, {.id = "throws-at-load", .version = "0.1.0", .object = hello_bpf, .object_end = hello_bpf_end});
