// SPDX-License-Identifier: Apache-2.0
// A static constructor never ends.
#include <unistd.h>

#include <egpu/plugin.hpp>

#include "hello.bpf.h"

static const int value = [] {
    while (true)
        ::pause();
    return 1;
}();
class Bad : public egpu::Plugin {
    void on_snapshot(egpu::Host&) override {}
};
EGPU_PLUGIN(Bad, {.id = "blocks-at-load", .version = "0.1.0", .object = hello_bpf, .object_end = hello_bpf_end});
