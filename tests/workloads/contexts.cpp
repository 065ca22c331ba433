// SPDX-License-Identifier: Apache-2.0
// contexts: two contexts of one device, each with its own module, take turns on one array.
#include <array>
#include <memory>

#include "driver_api.hpp"
#include "ptx.hpp"
#include "workload.hpp"

namespace workload {

namespace {

constexpr const char* kKernel = "_Z9loop_stepPjj";

/// A context beside the primary one; current once made.
class Context {
public:
    explicit Context(CUdevice device) {
        Api::get().check(Api::get().cuCtxCreate_v2(&context_, 0, device), "cuCtxCreate");
    }
    ~Context() { Api::get().cuCtxDestroy_v2(context_); }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    void enter() const { Api::get().check(Api::get().cuCtxSetCurrent(context_), "cuCtxSetCurrent"); }

private:
    CUcontext context_ = nullptr;
};

std::uint64_t run(const Options& options) {
    const Session session;
    const std::array<Context, 2> contexts{Context(session.device()), Context(session.device())};
    std::array<std::unique_ptr<Module>, 2> modules;
    for (std::size_t index = 0; index < contexts.size(); ++index) {
        contexts[index].enter();
        modules[index] = std::make_unique<Module>(ptx_loop);
    }
    // Memory of one context is there for the other one at the same address.
    contexts[0].enter();
    DeviceArray<unsigned> values(options.elements);
    values.zero();
    synchronize();
    unsigned n = static_cast<unsigned>(options.elements);
    const std::array<void*, 2> parameters{&values.address(), &n};
    for (std::uint64_t count = 0; count < options.launches; ++count) {
        for (std::size_t index = 0; index < contexts.size(); ++index) {
            contexts[index].enter();
            launch(modules[index]->function(kKernel), blocks_for(options.elements, options.block),
                   static_cast<unsigned>(options.block), parameters);
            synchronize();
        }
    }
    contexts[1].enter();
    modules[1] = nullptr;
    contexts[0].enter();  // where the rest is given back
    for (const unsigned value : values.read()) {
        if (value != static_cast<unsigned>(2 * options.launches)) {
            throw Failure("an element was counted " + std::to_string(value) + " times in " +
                          std::to_string(options.launches) + " launches in each of two contexts");
        }
    }
    return 2 * options.launches;
}

std::vector<ExpectedKernel> expected(const Options& options) {
    const std::uint64_t launches = 2 * options.launches;
    const std::uint64_t count = options.elements * launches;
    return {{"loop_step",
             kKernel,
             launches,
             {{"global", "load", count, count * 4}, {"global", "store", count, count * 4}}}};
}

}  // namespace

const Workload kContexts{"contexts", "two contexts of one device take turns", {16384, 20, 256, 0}, true, false, 1, run,
                         expected};

}  // namespace workload
