// SPDX-License-Identifier: Apache-2.0
// threads: eight threads of the host launch at the same time, each in a stream of its own.
#include <array>
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

void run_thread(const Session& session, CUfunction function, DeviceArray<unsigned>& values, const Options& options) {
    session.enter();
    const Stream stream;
    unsigned n = static_cast<unsigned>(options.elements);
    const std::array<void*, 2> parameters{&values.address(), &n};
    for (std::uint64_t count = 0; count < options.launches; ++count) {
        launch(function, blocks_for(options.elements, options.block), static_cast<unsigned>(options.block), parameters,
               stream.get());
    }
    stream.synchronize();
    for (const unsigned value : values.read()) {
        if (value != static_cast<unsigned>(options.launches)) {
            throw Failure("an element was counted " + std::to_string(value) + " times in " +
                          std::to_string(options.launches) + " launches of a thread");
        }
    }
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
    std::array<std::exception_ptr, kThreadCount> failures;
    std::vector<std::thread> threads;
    for (std::uint64_t index = 0; index < kThreadCount; ++index) {
        threads.emplace_back([&, index] {
            try {
                run_thread(session, function, *arrays[index], options);
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
    return kThreadCount * options.launches;
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

const Workload kThreads{"threads", "eight threads launch at the same time", {16384, 20, 256, 0}, true, false, 1, run,
                        expected};

}  // namespace workload
