// SPDX-License-Identifier: Apache-2.0
// graph: launches captured once and replayed; half-way, if asked for, an update gives the graph another array.
#include <array>

#include "driver_api.hpp"
#include "ptx.hpp"
#include "workload.hpp"

namespace workload {

namespace {

constexpr const char* kKernel = "_Z9loop_stepPjj";

/// The captured launches of one kernel on an array, one after the other.
CUgraph capture(const Stream& stream, CUfunction function, CUdeviceptr& address, const Options& options) {
    const Api& api = Api::get();
    unsigned n = static_cast<unsigned>(options.elements);
    const std::array<void*, 2> parameters{&address, &n};
    api.check(api.cuStreamBeginCapture_v2(stream.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
    for (std::uint64_t count = 0; count < options.launches; ++count) {
        launch(function, blocks_for(options.elements, options.block), static_cast<unsigned>(options.block), parameters,
               stream.get());
    }
    CUgraph graph = nullptr;
    api.check(api.cuStreamEndCapture(stream.get(), &graph), "cuStreamEndCapture");
    return graph;
}

void update(CUgraphExec instance, CUgraph graph) {
    const Api& api = Api::get();
    CUgraphExecUpdateResultInfo info{};
    api.check(api.cuGraphExecUpdate_v2(instance, graph, &info), "cuGraphExecUpdate");
    api.check(api.cuGraphDestroy(graph), "cuGraphDestroy");
}

void check(const DeviceArray<unsigned>& array, std::uint64_t replays, const Options& options) {
    for (const unsigned value : array.read()) {
        if (value != static_cast<unsigned>(replays * options.launches)) {
            throw Failure("an element was counted " + std::to_string(value) + " times in " + std::to_string(replays) +
                          " replays of " + std::to_string(options.launches) + " launches");
        }
    }
}

std::uint64_t run(const Options& options) {
    const Api& api = Api::get();
    const Session session;
    const Module module(ptx_loop);
    DeviceArray<unsigned> first(options.elements);
    DeviceArray<unsigned> second(options.elements);
    first.zero();
    second.zero();
    synchronize();
    const CUfunction function = module.function(kKernel);
    const Stream stream;
    const CUgraph graph = capture(stream, function, first.address(), options);
    CUgraphExec instance = nullptr;
    api.check(api.cuGraphInstantiateWithFlags(&instance, graph, 0), "cuGraphInstantiate");
    api.check(api.cuGraphDestroy(graph), "cuGraphDestroy");
    const std::uint64_t before = options.update ? options.replays / 2 : options.replays;
    for (std::uint64_t replay = 0; replay < options.replays; ++replay) {
        if (replay == before) {
            update(instance, capture(stream, function, second.address(), options));
        }
        api.check(api.cuGraphLaunch(instance, stream.get()), "cuGraphLaunch");
    }
    stream.synchronize();
    check(first, before, options);
    check(second, options.replays - before, options);
    api.check(api.cuGraphExecDestroy(instance), "cuGraphExecDestroy");
    return options.launches * options.replays;
}

/// A replay is as many launches of the kernel as were captured.
std::vector<ExpectedKernel> expected(const Options& options) {
    const std::uint64_t launches = options.launches * options.replays;
    const std::uint64_t count = options.elements * launches;
    return {{"loop_step",
             kKernel,
             launches,
             {{"global", "load", count, count * 4}, {"global", "store", count, count * 4}}}};
}

}  // namespace

const Workload kGraph{
    "graph", "launches captured once and replayed", {16384, 4, 256, 0, 10}, true, false, 1, run, expected, true};

}  // namespace workload
