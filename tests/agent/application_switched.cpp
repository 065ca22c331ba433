// SPDX-License-Identifier: Apache-2.0
// Copies are switched off and on while instances of graphs are there.
#include <map>

#include "application_graphs.hpp"

namespace application {

namespace {

// The test switches copies off and on at each pause.
void pause() {
    std::puts("paused");
    std::fflush(stdout);
    (void)std::getchar();
}

CUgraph two_of_work() {
    const CUgraph graph = empty_graph();
    add(graph, mine.work);
    add(graph, mine.work);
    return graph;
}

void switched() {
    const CUgraph graph = two_of_work();
    const CUgraphExec instance = instantiate(graph);
    run(instance);
    pause();
    run(instance, 2);
    expect_original(node_of(graph, 0), mine.work, nullptr);
    pause();
    run(instance, 3);
}

// The graph that could name the nodes is gone.
void switched_without_graph() {
    const CUgraph graph = two_of_work();
    const CUgraphExec instance = instantiate(graph);
    check(CALL(cuGraphDestroy, 10000)(graph), "destroy graph");
    run(instance);
    pause();
    run(instance, 2);
}

// One node has other parameters in the instance than in the graph: only the other one may be set.
void switched_after_a_change() {
    const CUgraph graph = two_of_work();
    const CUgraphExec instance = instantiate(graph);
    const CUDA_KERNEL_NODE_PARAMS work = params_of(mine.work);
    check(CALL_AS(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v2, 12000)(instance, node_of(graph, 0),
                                                                                            &work),
          "set");
    run(instance);
    pause();
    run(instance, 2);
}

// The graph has other parameters than the instance: what the instance was made from is set.
void switched_after_a_change_of_the_graph() {
    const CUgraph graph = two_of_work();
    const CUgraphExec instance = instantiate(graph);
    const CUDA_KERNEL_NODE_PARAMS other = params_of(mine.other);
    check(CALL_AS(cuGraphKernelNodeSetParams, cuGraphKernelNodeSetParams_v2, 12000)(node_of(graph, 0), &other), "set");
    run(instance);
    pause();
    run(instance, 2);
}

// An update from a graph might switch the node on again.
void switched_off_nodes_without_graph() {
    const CUgraph graph = two_of_work();
    const CUgraphExec instance = instantiate(graph);
    check(CALL(cuGraphNodeSetEnabled, 11060)(instance, node_of(graph, 0), 0), "disable");
    check(CALL(cuGraphDestroy, 10000)(graph), "destroy graph");
    run(instance);
    pause();
    run(instance, 2);
}

}  // namespace

Way switched_way(const std::string& way) {
    const std::map<std::string, Way> ways = {
        {"switched", switched},
        {"switched-without-graph", switched_without_graph},
        {"switched-after-a-change", switched_after_a_change},
        {"switched-after-a-change-of-the-graph", switched_after_a_change_of_the_graph},
        {"switched-off-nodes-without-graph", switched_off_nodes_without_graph},
    };
    const auto found = ways.find(way);
    return found != ways.end() ? found->second : nullptr;
}

}  // namespace application
