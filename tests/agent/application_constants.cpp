// SPDX-License-Identifier: Apache-2.0
// Ways of an application that updates constant memory between its launches.
#include <thread>

#include "application.hpp"

namespace application {

namespace {

CUcontext context = nullptr;
CUmodule module = nullptr;
CUdeviceptr table = 0;
std::uint64_t value = 1;

CUfunction load() {
    CUfunction function = nullptr;
    std::size_t bytes = 0;
    check(CALL(cuModuleLoadData, 2000)(&module, kText), "load");
    check(CALL_AS(cuModuleGetGlobal, cuModuleGetGlobal_v2, 3020)(&table, &bytes, module, "app_table"), "app_table");
    check(CALL(cuModuleGetFunction, 2000)(&function, module, "work"), "function");
    return function;
}

CUstream new_stream() {
    CUstream stream = nullptr;
    check(CALL(cuStreamCreate, 2000)(&stream, 0), "stream");
    return stream;
}

void update_and_launch(CUfunction work, int times, CUstream stream) {
    for (int i = 0; i < times; ++i) {
        const std::uint64_t values[2] = {++value, value * 7};
        check(CALL_AS(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, 3020)(table, values, sizeof(values), stream), "update");
        launch(work, 1, 128, stream);
    }
}

void launch_with(CUfunction work, int times, CUlaunchAttributeID which) {
    for (int i = 0; i < times; ++i) {
        CUlaunchAttribute attribute{};
        attribute.id = which;
        CUlaunchConfig config{};
        config.gridDimX = config.gridDimY = config.gridDimZ = 1;
        config.blockDimX = 128;
        config.blockDimY = config.blockDimZ = 1;
        config.attrs = &attribute;
        config.numAttrs = 1;
        check(CALL(cuLaunchKernelEx, 11060)(&config, work, nullptr, nullptr), "launch");
    }
}

void run_captured(CUfunction work, int times, CUstream stream) {
    CUgraph graph = nullptr;
    CUgraphExec instance = nullptr;
    check(CALL_AS(cuStreamBeginCapture, cuStreamBeginCapture_v2, 11000)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
          "capture");
    launch(work, times, 128, stream);
    check(CALL(cuStreamEndCapture, 11000)(stream, &graph), "end capture");
    check(CALL_AS(cuGraphInstantiate, cuGraphInstantiateWithFlags, 12000)(&instance, graph, 0), "instantiate");
    check(CALL(cuGraphLaunch, 11000)(instance, stream), "launch of a graph");
}

// With the mock only.
void call_during_refresh(void (*call)()) {
    const auto set = reinterpret_cast<void (*)(void (*)())>(dlsym(library, "mock_call_during_refresh"));
    if (set != nullptr)
        set(call);
}

void synchronise_elsewhere() {
    std::thread([] {
        check(CALL(cuCtxSetCurrent, 4000)(context), "set current");
        synchronise();
    }).join();
}

// As much as the mock knows.
void print_bank() {
    int launches = 0, stale = 0;
    const auto counts = reinterpret_cast<void (*)(int*, int*)>(dlsym(library, "mock_bank_counts"));
    if (counts == nullptr)
        return;
    counts(&launches, &stale);
    std::printf("banked %d stale %d\n", launches, stale);
}

}  // namespace

bool run_constants(const std::string& way, int launches) {
    if (way.rfind("constants-", 0) != 0)
        return false;
    context = retain_and_set();
    CUfunction work = load();
    if (way == "constants-streams") {
        // The first stream has the bank until the context is known to have nothing else in flight.
        const CUstream first = new_stream(), second = new_stream();
        update_and_launch(work, launches, first);
        update_and_launch(work, launches, second);
        update_and_launch(work, launches, first);
        synchronise();
        update_and_launch(work, launches, second);
        update_and_launch(work, launches, first);
    } else if (way == "constants-captured") {
        const CUstream stream = new_stream();
        update_and_launch(work, launches, stream);
        run_captured(work, launches, stream);
    } else if (way == "constants-synchronised") {
        // A synchronisation that ends before a refresh is queued has not waited for it.
        call_during_refresh(synchronise_elsewhere);
        update_and_launch(work, launches, new_stream());
        call_during_refresh(nullptr);
        update_and_launch(work, launches, new_stream());
    } else if (way == "constants-programmatic") {
        launch_with(work, launches, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
        launch_with(work, launches, CU_LAUNCH_ATTRIBUTE_PRIORITY);
    } else if (way == "constants-reloaded") {
        // The same image again: its table lies elsewhere.
        update_and_launch(work, launches, nullptr);
        synchronise();
        check(CALL(cuModuleUnload, 2000)(module), "unload");
        work = load();
        update_and_launch(work, launches, nullptr);
    } else {  // constants-plain, constants-per-thread
        update_and_launch(work, launches, nullptr);
    }
    synchronise();
    print_bank();
    return true;
}

}  // namespace application
