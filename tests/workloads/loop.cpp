// SPDX-License-Identifier: Apache-2.0
// loop: a short kernel launched again and again, for as long as wanted.
#include <array>
#include <chrono>
#include <csignal>

#include "driver_api.hpp"
#include "ptx.hpp"
#include "workload.hpp"

namespace workload {

namespace {

constexpr const char* kKernel = "_Z9loop_stepPjj";

/// Ctrl-C ends a run by time as its end would: with the result checked.
volatile std::sig_atomic_t interrupted = 0;
void on_interrupt(int) {
    interrupted = 1;
}

std::uint64_t run(const Options& options) {
    using Clock = std::chrono::steady_clock;
    const Session session;
    const Module module(ptx_loop);
    DeviceArray<unsigned> values(options.elements);
    values.zero();
    unsigned n = static_cast<unsigned>(options.elements);
    const CUfunction function = module.function(kKernel);
    const std::array<void*, 2> parameters{&values.address(), &n};
    const Clock::time_point end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
    std::uint64_t launches = 0;
    if (options.seconds > 0)
        std::signal(SIGINT, on_interrupt);
    while (options.seconds > 0 ? interrupted == 0 && Clock::now() < end : launches < options.launches) {
        launch(function, blocks_for(options.elements, options.block), static_cast<unsigned>(options.block), parameters);
        synchronize();
        ++launches;
    }
    for (const unsigned value : values.read()) {
        if (value != static_cast<unsigned>(launches)) {
            throw Failure("an element was counted " + std::to_string(value) + " times in " + std::to_string(launches) +
                          " launches");
        }
    }
    return launches;
}

std::vector<ExpectedKernel> expected(const Options& options) {
    const std::uint64_t count = options.elements * options.launches;
    return {{"loop_step",
             kKernel,
             options.launches,
             {{"global", "load", count, count * 4}, {"global", "store", count, count * 4}}}};
}

}  // namespace

const Workload kLoop{"loop",  "a short kernel launched again and again", {16384, 200, 256, 0}, true, true, 1, run,
                     expected};

}  // namespace workload
