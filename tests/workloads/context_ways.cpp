// SPDX-License-Identifier: Apache-2.0
// A CUDA program with several contexts, one way a run: for tests of what observes it. Each way checks its results and
// prints how often it launched. 77: the way needs a second device.
#include <array>
#include <cstdio>
#include <map>
#include <string>

#include "driver_api.hpp"
#include "ptx.hpp"

using namespace workload;

namespace {

constexpr unsigned kElements = 1024;
constexpr const char* kStep = "_Z9loop_stepPjj";

int launches = 0;

/// A context that is current; not destroyed with the object.
CUcontext make_context(CUdevice device) {
    CUcontext context = nullptr;
    Api::get().check(Api::get().cuCtxCreate_v2(&context, 0, device), "cuCtxCreate");
    return context;
}

void use(CUcontext context) {
    Api::get().check(Api::get().cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

void destroy(CUcontext context) {
    Api::get().check(Api::get().cuCtxDestroy_v2(context), "cuCtxDestroy");
}

/// Launches in the current context and looks at what came of it.
void step(CUfunction function, int times) {
    DeviceArray<unsigned> values(kElements);
    values.zero();
    unsigned n = kElements;
    const std::array<void*, 2> parameters{&values.address(), &n};
    for (int i = 0; i < times; ++i) {
        launch(function, kElements / 256, 256, parameters);
        ++launches;
    }
    synchronize();
    for (const unsigned value : values.read()) {
        if (value != static_cast<unsigned>(times)) {
            throw Failure("wrong result");
        }
    }
}

/// A module in each context, a library in both, in turn.
void run_in_two(CUdevice second_device) {
    const Session session;
    const Module module(ptx_loop);
    const Library library(ptx_loop);
    const CUfunction kernel = library.kernel(kStep);
    step(module.function(kStep), 3);
    step(kernel, 2);
    const CUcontext second = make_context(second_device);
    {
        const Module other(ptx_loop);
        step(other.function(kStep), 5);
        step(kernel, 4);
    }
    destroy(second);
    const CUcontext third = make_context(second_device);
    step(kernel, 1);
    destroy(third);
}

void two_devices() {
    int count = 0;
    Api::get().check(Api::get().cuInit(0), "cuInit");
    Api::get().check(Api::get().cuDeviceGetCount(&count), "cuDeviceGetCount");
    if (count < 2) {
        throw NoDriver("one device");
    }
    run_in_two(1);
}

/// The context that counted first goes while another one goes on.
void first_ends() {
    Api::get().check(Api::get().cuInit(0), "cuInit");
    const CUcontext first = make_context(0);
    const Library library(ptx_loop);
    const CUfunction kernel = library.kernel(kStep);
    step(kernel, 3);
    const CUcontext second = make_context(0);
    step(kernel, 3);
    destroy(first);
    use(second);
    step(kernel, 3);
    destroy(second);
    const CUcontext third = make_context(0);
    step(kernel, 3);
    destroy(third);
}

/// As cudaDeviceReset in mid-run.
void reset() {
    for (int round = 0; round < 3; ++round) {
        {
            const Session session;
            const Module module(ptx_loop);
            step(module.function(kStep), 4);
        }
        Api::get().check(Api::get().cuDevicePrimaryCtxReset_v2(0), "cuDevicePrimaryCtxReset");
    }
}

void reload() {
    const Session session;
    for (int round = 0; round < 100; ++round) {
        const Module module(ptx_loop);
        step(module.function(kStep), 1);
        const Library library(ptx_loop);
        step(library.kernel(kStep), 1);
    }
}

const std::map<std::string, void (*)()> kWays = {{"two", [] { run_in_two(0); }},
                                                 {"two-devices", two_devices},
                                                 {"first-ends", first_ends},
                                                 {"reset", reset},
                                                 {"reload", reload}};

}  // namespace

int main(int count, char** words) {
    const auto way = kWays.find(count == 2 ? words[1] : "");
    if (way == kWays.end()) {
        std::fprintf(stderr, "usage: egpu-contexts two|two-devices|first-ends|reset|reload\n");
        return 2;
    }
    try {
        way->second();
    } catch (const NoDriver& error) {
        std::fprintf(stderr, "egpu-contexts: %s\n", error.what());
        return 77;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "egpu-contexts: %s\n", error.what());
        return 1;
    }
    std::printf("launched %d\n", launches);
    return 0;
}
