// SPDX-License-Identifier: Apache-2.0
// threads: eight threads of the host launch at the same time, each in a stream of its own. By time, each waits for the
// context after every launch.
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <memory>
#include <thread>

#include "driver_api.hpp"
#include "ptx.hpp"
#include "workload.hpp"

namespace workload {

namespace {

constexpr const char* kKernel = "_Z9loop_stepPjj";
constexpr std::uint64_t kThreadCount = 8;

using Clock = std::chrono::steady_clock;

/// Ctrl-C ends a run by time as its end would: with the result checked.
volatile std::sig_atomic_t interrupted = 0;
void on_interrupt(int) {
    interrupted = 1;
}

/// Returns how often it launched.
std::uint64_t run_thread(const Session& session, CUfunction function, DeviceArray<unsigned>& values,
                         const Options& options, Clock::time_point end) {
    const bool by_time = options.seconds > 0;
    std::uint64_t launches = 0;
    session.enter();
    const Stream stream;
    unsigned n = static_cast<unsigned>(options.elements);
    const std::array<void*, 2> parameters{&values.address(), &n};
    while (by_time ? interrupted == 0 && Clock::now() < end : launches < options.launches) {
        launch(function, blocks_for(options.elements, options.block), static_cast<unsigned>(options.block), parameters,
               stream.get());
        ++launches;
        if (by_time)
            synchronize();
    }
    stream.synchronize();
    for (const unsigned value : values.read()) {
        if (value != static_cast<unsigned>(launches)) {
            throw Failure("an element was counted " + std::to_string(value) + " times in " + std::to_string(launches) +
                          " launches of a thread");
        }
    }
    return launches;
}

std::uint64_t run(const Options& options) {
    const Session session;
    const Module module(ptx_loop);
    const CUfunction function = module.function(kKernel);
    std::array<std::unique_ptr<DeviceArray<unsigned>>, kThreadCount> arrays;
    for (auto& array : arrays) {
        array = std::make_unique<DeviceArray<unsigned>>(options.elements);
        array->zero();
    }
    synchronize();
    const Clock::time_point end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
    if (options.seconds > 0)
        std::signal(SIGINT, on_interrupt);
    std::atomic<std::uint64_t> launches{0};
    std::array<std::exception_ptr, kThreadCount> failures;
    std::vector<std::thread> threads;
    for (std::uint64_t index = 0; index < kThreadCount; ++index) {
        threads.emplace_back([&, index] {
            try {
                launches += run_thread(session, function, *arrays[index], options, end);
            } catch (...) {
                failures[index] = std::current_exception();
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (const std::exception_ptr& failure : failures) {
        if (failure != nullptr) {
            std::rethrow_exception(failure);
        }
    }
    return launches;
}

std::vector<ExpectedKernel> expected(const Options& options) {
    const std::uint64_t launches = kThreadCount * options.launches;
    const std::uint64_t count = options.elements * launches;
    return {{"loop_step",
             kKernel,
             launches,
             {{"global", "load", count, count * 4}, {"global", "store", count, count * 4}}}};
}

}  // namespace

const Workload kThreads{"threads", "eight threads launch at the same time", {16384, 20, 256, 0}, true, true, 1, run,
                        expected};

}  // namespace workload
