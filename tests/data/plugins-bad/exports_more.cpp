// SPDX-License-Identifier: Apache-2.0
#include <egpu/plugin.hpp>

#include "hello.bpf.h"

extern "C" __attribute__((visibility("default"))) int log_level(void);
extern "C" int log_level(void) {
    return 3;
}
class Bad : public egpu::Plugin {
    void on_snapshot(egpu::Host&) override {}
};
EGPU_PLUGIN(Bad, {.id = "exports-more", .version = "0.1.0", .object = hello_bpf, .object_end = hello_bpf_end});
