// SPDX-License-Identifier: Apache-2.0
// Neither its own end nor that of the library comes back.
#include <unistd.h>

#include <egpu/plugin.hpp>

#include "hello.bpf.h"

struct Never {
    ~Never() {
        while (true)
            ::pause();
    }
};
static const Never never;
class Bad : public egpu::Plugin {
public:
    ~Bad() override {
        while (seen_)
            ::pause();
    }

private:
    void on_snapshot(egpu::Host& host) override { seen_ = !host.kernels().empty(); }
    bool seen_ = false;
};
EGPU_PLUGIN(Bad, {.id = "blocks-at-end", .version = "0.1.0", .object = hello_bpf, .object_end = hello_bpf_end});
