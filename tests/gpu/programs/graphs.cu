// SPDX-License-Identifier: Apache-2.0
// Graphs: a capture that takes longer than the time between two copies of the maps, getters, parameters set in an
// instantiated graph, an update, a clone, and REPLAYS replays (argument, 1000 at first; --pause MS waits before each
// hundredth, for probes that come and go).
#include <thread>

#include "program.cuh"

__global__ void add(unsigned* values, unsigned by) {
    atomicAdd(&values[threadIdx.x], by);
}
__global__ void twice(unsigned* values, unsigned by) {
    atomicAdd(&values[threadIdx.x], 2 * by);
}

static cudaGraph_t capture(cudaStream_t stream, unsigned* values, unsigned nodes, int pause_ms) {
    MUST(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (unsigned node = 0; node < nodes; ++node) {
        add<<<1, 64, 0, stream>>>(values, 1);
        MUST(cudaGetLastError());
        std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    }
    cudaGraph_t graph;
    MUST(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static cudaGraphNode_t first_node(cudaGraph_t graph) {
    std::vector<cudaGraphNode_t> nodes(16);
    size_t count = nodes.size();
    MUST(cudaGraphGetNodes(graph, nodes.data(), &count));
    program::must(count == 4, "nodes of the graph");
    return nodes[0];
}

static void check(const program::Array<unsigned>& values, unsigned long long wanted, const char* what) {
    for (const unsigned one : values.read()) program::must(one == wanted, what);
}

int main(int count, char** words) {
    program::limit(120);
    const unsigned replays = count > 1 ? static_cast<unsigned>(std::atoi(words[1])) : 1000;
    const int pause_ms = count > 3 && std::strcmp(words[2], "--pause") == 0 ? std::atoi(words[3]) : 0;
    program::Array<unsigned> values(64);
    cudaStream_t stream;
    MUST(cudaStreamCreate(&stream));
    add<<<1, 64, 0, stream>>>(values.pointer, 1);
    MUST(cudaStreamSynchronize(stream));
    unsigned long long wanted = 1;

    cudaGraph_t graph = capture(stream, values.pointer, 4, 60);
    const cudaGraphNode_t node = first_node(graph);
    cudaKernelNodeParams parameters{};
    MUST(cudaGraphKernelNodeGetParams(node, &parameters));
    program::must(parameters.func == reinterpret_cast<void*>(&add), "the getter gives the original kernel");
    cudaGraphExec_t executable;
    MUST(cudaGraphInstantiate(&executable, graph, 0));
    for (unsigned replay = 0; replay < replays; ++replay) {
        if (pause_ms > 0 && replay % 100 == 0) {
            MUST(cudaStreamSynchronize(stream));
            std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
        }
        MUST(cudaGraphLaunch(executable, stream));
    }
    MUST(cudaStreamSynchronize(stream));
    wanted += 4ULL * replays;
    check(values, wanted, "the replays");

    // One node of the instantiated graph becomes another kernel, then the first one again with another argument.
    unsigned by = 5;
    void* arguments[] = {&values.pointer, &by};
    parameters.kernelParams = arguments;
    parameters.func = reinterpret_cast<void*>(&twice);
    MUST(cudaGraphExecKernelNodeSetParams(executable, node, &parameters));
    MUST(cudaGraphLaunch(executable, stream));
    wanted += 3 + 10;
    parameters.func = reinterpret_cast<void*>(&add);
    MUST(cudaGraphExecKernelNodeSetParams(executable, node, &parameters));
    MUST(cudaGraphLaunch(executable, stream));
    MUST(cudaStreamSynchronize(stream));
    wanted += 3 + 5;
    check(values, wanted, "after parameters were set");

    // A second capture as an update, and a clone instantiated on its own.
    cudaGraph_t second = capture(stream, values.pointer, 4, 0);
    cudaGraphExecUpdateResultInfo info{};
    MUST(cudaGraphExecUpdate(executable, second, &info));
    MUST(cudaGraphLaunch(executable, stream));
    wanted += 4;
    cudaGraph_t clone;
    MUST(cudaGraphClone(&clone, second));
    MUST(cudaGraphDestroy(second));
    cudaGraphExec_t cloned;
    MUST(cudaGraphInstantiate(&cloned, clone, 0));
    MUST(cudaGraphLaunch(cloned, stream));
    wanted += 4;

    // A graph built by hand from the original kernel.
    cudaGraph_t built;
    MUST(cudaGraphCreate(&built, 0));
    by = 7;
    parameters.func = reinterpret_cast<void*>(&add);
    cudaGraphNode_t added;
    MUST(cudaGraphAddKernelNode(&added, built, nullptr, 0, &parameters));
    cudaGraphExec_t built_executable;
    MUST(cudaGraphInstantiate(&built_executable, built, 0));
    MUST(cudaGraphLaunch(built_executable, stream));
    wanted += 7;
    MUST(cudaStreamSynchronize(stream));
    check(values, wanted, "update, clone and a graph built by hand");
    for (const cudaGraphExec_t one : {executable, cloned, built_executable}) MUST(cudaGraphExecDestroy(one));
    for (const cudaGraph_t one : {graph, clone, built}) MUST(cudaGraphDestroy(one));
    const unsigned long long threads = 64;
    // add: once alone, 4 a replay, 3 + 4 with changed parameters, 4 updated, 4 cloned, 1 by hand.
    program::expect("add", "global", "atomic", threads * (1 + 4ULL * replays + 3 + 4 + 4 + 4 + 1));
    program::expect("twice", "global", "atomic", threads);
    return program::done("graphs");
}
