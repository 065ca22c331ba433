// SPDX-License-Identifier: Apache-2.0
// Graphs and their instances. Every expectation here was seen on an H200 (driver 580); see capture_test.cpp.
#include <array>

#include "graph_fixture.hpp"

namespace {

/// Writes %gridid to the 64-bit word at `out`.
constexpr const char* kGridIdPtx = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry grid_id(.param .u64 out)
{
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    mov.u64 %rd2, %gridid;
    st.global.u64 [%rd1], %rd2;
    ret;
}
)";

class GraphsTest : public GraphTest {
protected:
    CUgraph create() {
        CUgraph graph = nullptr;
        EXPECT_EQ(DRIVER(cuGraphCreate)(&graph, 0), CUDA_SUCCESS);
        return graph;
    }
    CUgraphNode add_fill(CUgraph graph, unsigned word, const std::vector<CUgraphNode>& after = {}) {
        const CUDA_KERNEL_NODE_PARAMS parameters = fill_node(word);
        CUgraphNode node = nullptr;
        EXPECT_EQ(DRIVER(cuGraphAddKernelNode_v2)(&node, graph, after.data(), after.size(), &parameters), CUDA_SUCCESS);
        return node;
    }
    CUgraph capture(const std::function<void()>& work) {
        EXPECT_EQ(DRIVER(cuStreamBeginCapture_v2)(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
        work();
        CUgraph graph = nullptr;
        EXPECT_EQ(DRIVER(cuStreamEndCapture)(stream_, &graph), CUDA_SUCCESS);
        return graph;
    }
    static CUgraphNodeType type_of(CUgraphNode node) {
        CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
        EXPECT_EQ(DRIVER(cuGraphNodeGetType)(node, &type), CUDA_SUCCESS);
        return type;
    }
    static CUDA_KERNEL_NODE_PARAMS parameters_of(CUgraphNode node) {
        CUDA_KERNEL_NODE_PARAMS parameters{};
        EXPECT_EQ(DRIVER(cuGraphKernelNodeGetParams_v2)(node, &parameters), CUDA_SUCCESS);
        return parameters;
    }
    /// Result of an update, and whether it named a node.
    static std::pair<CUgraphExecUpdateResult, bool> update(CUgraphExec instance, CUgraph graph) {
        CUgraphExecUpdateResultInfo info{};
        const CUresult result = DRIVER(cuGraphExecUpdate_v2)(instance, graph, &info);
        EXPECT_EQ(result,
                  info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
        EXPECT_EQ(info.errorFromNode, nullptr);
        return {info.result, info.errorNode != nullptr};
    }
};

TEST_F(GraphsTest, CapturedOperationsAreNodes) {
    std::array<unsigned, 16> host{};
    static int called;
    called = 0;
    const CUgraph graph = capture([&] {
        EXPECT_EQ(fill(1, stream_), CUDA_SUCCESS);
        EXPECT_EQ(DRIVER(cuMemcpyHtoDAsync_v2)(out_ + 4, host.data() + 8, 4, stream_), CUDA_SUCCESS);
        EXPECT_EQ(DRIVER(cuMemcpyDtoDAsync_v2)(out_ + 8, out_, 4, stream_), CUDA_SUCCESS);
        EXPECT_EQ(DRIVER(cuMemcpyAsync)(out_ + 12, out_, 4, stream_), CUDA_SUCCESS);
        EXPECT_EQ(DRIVER(cuMemsetD32Async)(out_ + 16, 5, 2, stream_), CUDA_SUCCESS);
        EXPECT_EQ(DRIVER(cuMemsetD2D8Async)(out_ + 24, 8, 3, 4, 2, stream_), CUDA_SUCCESS);
        EXPECT_EQ(DRIVER(cuLaunchHostFunc)(
                      stream_, [](void* count) { ++*static_cast<int*>(count); }, &called),
                  CUDA_SUCCESS);
        EXPECT_EQ(DRIVER(cuMemcpyDtoHAsync_v2)(host.data(), out_, 64, stream_), CUDA_SUCCESS);
        EXPECT_EQ(DRIVER(cuMemcpyHtoDAsync_v2)(out_, host.data(), 0, stream_), CUDA_SUCCESS);  // nothing: no node
        EXPECT_EQ(DRIVER(cuEventRecord)(first_, stream_), CUDA_SUCCESS);                       // a dependency: no node
        EXPECT_EQ(DRIVER(cuEventRecordWithFlags)(second_, stream_, CU_EVENT_RECORD_EXTERNAL), CUDA_SUCCESS);
    });
    const std::vector<CUgraphNode> nodes = nodes_of(graph);
    const std::vector<CUgraphNodeType> types = {
        CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMCPY,
        CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMSET,
        CU_GRAPH_NODE_TYPE_HOST,   CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_EVENT_RECORD};
    ASSERT_EQ(nodes.size(), types.size());
    for (std::size_t index = 0; index < nodes.size(); ++index) {
        EXPECT_EQ(type_of(nodes[index]), types[index]) << index;
        EXPECT_EQ(dependencies(nodes[index]), index == 0 ? 0U : 1U) << index;
    }
    CUDA_MEMCPY3D copy{};
    EXPECT_EQ(DRIVER(cuGraphMemcpyNodeGetParams)(nodes[1], &copy), CUDA_SUCCESS);
    EXPECT_EQ(copy.srcMemoryType, CU_MEMORYTYPE_HOST);
    EXPECT_EQ(copy.srcHost, host.data() + 8);
    EXPECT_EQ(copy.dstMemoryType, CU_MEMORYTYPE_DEVICE);
    EXPECT_EQ(copy.dstDevice, out_ + 4);
    EXPECT_EQ(copy.WidthInBytes, 4U);
    EXPECT_EQ(copy.Height, 1U);
    EXPECT_EQ(copy.Depth, 1U);
    EXPECT_EQ(copy.srcPitch, 0U);
    EXPECT_EQ(DRIVER(cuGraphMemcpyNodeGetParams)(nodes[3], &copy), CUDA_SUCCESS);
    EXPECT_EQ(copy.srcMemoryType, CU_MEMORYTYPE_UNIFIED);
    CUDA_MEMSET_NODE_PARAMS memset{};
    EXPECT_EQ(DRIVER(cuGraphMemsetNodeGetParams)(nodes[5], &memset), CUDA_SUCCESS);
    EXPECT_EQ(memset.pitch, 8U);
    EXPECT_EQ(memset.value, 3U);
    EXPECT_EQ(memset.elementSize, 1U);
    EXPECT_EQ(memset.width, 4U);
    EXPECT_EQ(memset.height, 2U);
    CUDA_HOST_NODE_PARAMS function{};
    EXPECT_EQ(DRIVER(cuGraphHostNodeGetParams)(nodes[6], &function), CUDA_SUCCESS);
    EXPECT_EQ(function.userData, &called);

    EXPECT_EQ(called, 0);
    const CUgraphExec instance = instantiate(graph);
    host[8] = 77;
    EXPECT_EQ(run(instance), 1U);
    host[8] = 78;  // host memory is read when the graph runs
    EXPECT_EQ(run(instance), 1U);
    EXPECT_EQ(called, 2);
    EXPECT_EQ(host[0], 1U);
    EXPECT_EQ(host[1], 78U);
    EXPECT_EQ(host[2], 1U);
    EXPECT_EQ(host[3], 1U);
    EXPECT_EQ(host[4], 5U);
    EXPECT_EQ(host[6], 0x03030303U);
}

/// What a getter says of a kernel's node depends on how its function was come by.
TEST_F(GraphsTest, KernelNodesTellTheirFunction) {
    CUlibrary library = nullptr;
    ASSERT_EQ(DRIVER(cuLibraryLoadData)(&library, kTestPtx, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
    CUkernel kernel = nullptr;
    ASSERT_EQ(DRIVER(cuLibraryGetKernel)(&kernel, library, "fill"), CUDA_SUCCESS);
    CUfunction of_kernel = nullptr;
    ASSERT_EQ(DRIVER(cuKernelGetFunction)(&of_kernel, kernel), CUDA_SUCCESS);
    unsigned word = 9;
    void* parameters[] = {&out_, &word, &count_};
    const CUgraph captured = capture([&] {
        for (const CUfunction function : {fill_, reinterpret_cast<CUfunction>(kernel), of_kernel}) {
            EXPECT_EQ(DRIVER(cuLaunchKernel)(function, 2, 1, 1, 32, 1, 1, 16, stream_, parameters, nullptr),
                      CUDA_SUCCESS);
        }
    });
    word = 0;  // parameters were copied
    const std::vector<CUgraphNode> nodes = nodes_of(captured);
    for (std::size_t index = 0; index < nodes.size(); ++index) {
        const CUDA_KERNEL_NODE_PARAMS told = parameters_of(nodes[index]);
        EXPECT_EQ(told.func, index == 0 ? fill_ : of_kernel) << index;
        EXPECT_EQ(told.kern, index == 0 ? nullptr : kernel) << index;
        EXPECT_EQ(told.ctx, context_);
        EXPECT_EQ(told.gridDimX, 2U);
        EXPECT_EQ(told.sharedMemBytes, 16U);
        EXPECT_EQ(told.extra, nullptr);
        EXPECT_EQ(*static_cast<unsigned*>(told.kernelParams[1]), 9U);
        CUDA_KERNEL_NODE_PARAMS_v1 old{};
        EXPECT_EQ(DRIVER(cuGraphKernelNodeGetParams)(nodes[index], &old), CUDA_SUCCESS);
        EXPECT_EQ(old.func, told.func);
    }
    // Added: by function or by kernel; both gives the function; a kernel in place of a function is none.
    const CUgraph graph = create();
    CUDA_KERNEL_NODE_PARAMS given = fill_node(4);
    CUgraphNode node = nullptr;
    given.func = nullptr;
    given.kern = kernel;
    EXPECT_EQ(DRIVER(cuGraphAddKernelNode_v2)(&node, graph, nullptr, 0, &given), CUDA_SUCCESS);
    EXPECT_EQ(parameters_of(node).func, of_kernel);
    EXPECT_EQ(parameters_of(node).kern, kernel);
    given.func = fill_;
    EXPECT_EQ(DRIVER(cuGraphAddKernelNode_v2)(&node, graph, nullptr, 0, &given), CUDA_SUCCESS);
    EXPECT_EQ(parameters_of(node).func, fill_);
    EXPECT_EQ(parameters_of(node).kern, nullptr);
    given.kern = nullptr;
    given.func = reinterpret_cast<CUfunction>(kernel);
    EXPECT_EQ(DRIVER(cuGraphAddKernelNode_v2)(&node, graph, nullptr, 0, &given), CUDA_ERROR_INVALID_HANDLE);
    given.func = fill_;
    given.blockDimX = 5000;
    EXPECT_EQ(DRIVER(cuGraphAddKernelNode_v2)(&node, graph, nullptr, 0, &given), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(run_once(graph), 4U);
}

TEST_F(GraphsTest, EdgesOrderNodes) {
    const CUgraph graph = create();
    const CUgraphNode last = add_fill(graph, 3);
    const CUgraphNode middle = add_fill(graph, 2);
    const CUgraphNode first = add_fill(graph, 1);
    const std::array<CUgraphNode, 2> from{first, middle};
    const std::array<CUgraphNode, 2> to{middle, last};
    ASSERT_EQ(DRIVER(cuGraphAddDependencies)(graph, from.data(), to.data(), 2), CUDA_SUCCESS);
    EXPECT_EQ(run_once(graph), 3U);
    std::size_t count = 0;
    EXPECT_EQ(DRIVER(cuGraphGetEdges)(graph, nullptr, nullptr, &count), CUDA_SUCCESS);
    EXPECT_EQ(count, 2U);
    EXPECT_EQ(DRIVER(cuGraphGetRootNodes)(graph, nullptr, &count), CUDA_SUCCESS);
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(DRIVER(cuGraphAddDependencies)(graph, &first, &middle, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuGraphRemoveDependencies)(graph, &first, &last, 1), CUDA_ERROR_INVALID_VALUE);
    // A circle is found when the graph is made executable.
    ASSERT_EQ(DRIVER(cuGraphAddDependencies)(graph, &last, &first, 1), CUDA_SUCCESS);
    CUgraphExec instance = nullptr;
    EXPECT_EQ(DRIVER(cuGraphInstantiateWithFlags)(&instance, graph, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(DRIVER(cuGraphDestroyNode)(last), CUDA_SUCCESS);
    EXPECT_EQ(run_once(graph), 2U);
    CUgraphNode node = nullptr;
    const CUgraphNode foreign = add_fill(create(), 1);
    EXPECT_EQ(DRIVER(cuGraphAddEmptyNode)(&node, graph, &foreign, 1), CUDA_ERROR_INVALID_VALUE);
    const std::array<CUgraphNode, 2> twice{first, first};
    EXPECT_EQ(DRIVER(cuGraphAddEmptyNode)(&node, graph, twice.data(), 2), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphsTest, InstancesAreChangedByTheirNodes) {
    const CUgraph graph = create();
    const CUgraphNode node = add_fill(graph, 1);
    const CUgraphExec instance = instantiate(graph);
    EXPECT_EQ(run(instance), 1U);
    CUDA_KERNEL_NODE_PARAMS other = fill_node(2);
    EXPECT_EQ(DRIVER(cuGraphExecKernelNodeSetParams_v2)(instance, node, &other), CUDA_SUCCESS);
    EXPECT_EQ(run(instance), 2U);
    // Another function, even of other parameters; the graph itself stays as it was.
    ASSERT_EQ(DRIVER(cuModuleGetFunction)(&other.func, module_, "increment"), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuGraphExecKernelNodeSetParams_v2)(instance, node, &other), CUDA_SUCCESS);
    set(7);
    EXPECT_EQ(run(instance), 7U);
    EXPECT_EQ(parameters_of(node).func, fill_);
    // A node of the graph is not a node of its clone, nor of another graph.
    other = fill_node(3);
    CUgraph clone = nullptr;
    ASSERT_EQ(DRIVER(cuGraphClone)(&clone, graph), CUDA_SUCCESS);
    CUgraphNode cloned = nullptr;
    ASSERT_EQ(DRIVER(cuGraphNodeFindInClone)(&cloned, node, clone), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuGraphExecKernelNodeSetParams_v2)(instance, cloned, &other), CUDA_ERROR_INVALID_VALUE);
    const CUgraphNode foreign = add_fill(create(), 1);
    other = fill_node(3);
    EXPECT_EQ(DRIVER(cuGraphExecKernelNodeSetParams_v2)(instance, foreign, &other), CUDA_ERROR_INVALID_VALUE);
    // Switched off and on.
    other = fill_node(4);
    EXPECT_EQ(DRIVER(cuGraphExecKernelNodeSetParams_v2)(instance, node, &other), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuGraphNodeSetEnabled)(instance, node, 0), CUDA_SUCCESS);
    EXPECT_EQ(run(instance), 7U);
    EXPECT_EQ(DRIVER(cuGraphNodeSetEnabled)(instance, node, 1), CUDA_SUCCESS);
    EXPECT_EQ(run(instance), 4U);
    // An instance needs its graph no more.
    EXPECT_EQ(DRIVER(cuGraphDestroy)(graph), CUDA_SUCCESS);
    set(0);
    EXPECT_EQ(run(instance), 4U);
    EXPECT_EQ(DRIVER(cuGraphExecDestroy)(instance), CUDA_SUCCESS);
}

TEST_F(GraphsTest, UpdatesTakeWorkAndRefuseOtherShapes) {
    const CUgraph graph = create();
    const CUgraphNode first = add_fill(graph, 1);
    const CUgraphNode second = add_fill(graph, 2, {first});
    const CUgraphExec instance = instantiate(graph);
    using Told = std::pair<CUgraphExecUpdateResult, bool>;
    EXPECT_EQ(update(instance, graph), Told(CU_GRAPH_EXEC_UPDATE_SUCCESS, false));
    const CUDA_KERNEL_NODE_PARAMS other = fill_node(5);
    ASSERT_EQ(DRIVER(cuGraphKernelNodeSetParams_v2)(second, &other), CUDA_SUCCESS);
    EXPECT_EQ(run(instance), 2U);
    EXPECT_EQ(update(instance, graph), Told(CU_GRAPH_EXEC_UPDATE_SUCCESS, false));
    EXPECT_EQ(run(instance), 5U);

    CUgraph clone = nullptr;
    ASSERT_EQ(DRIVER(cuGraphClone)(&clone, graph), CUDA_SUCCESS);
    EXPECT_EQ(update(instance, clone), Told(CU_GRAPH_EXEC_UPDATE_SUCCESS, false));
    CUgraphNode more = nullptr;
    ASSERT_EQ(DRIVER(cuGraphAddEmptyNode)(&more, clone, nullptr, 0), CUDA_SUCCESS);
    EXPECT_EQ(update(instance, clone), Told(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, false));
    ASSERT_EQ(DRIVER(cuGraphDestroyNode)(more), CUDA_SUCCESS);
    EXPECT_EQ(update(instance, clone), Told(CU_GRAPH_EXEC_UPDATE_SUCCESS, false));
    const std::vector<CUgraphNode> nodes = nodes_of(clone);
    ASSERT_EQ(DRIVER(cuGraphRemoveDependencies)(clone, &nodes[0], &nodes[1], 1), CUDA_SUCCESS);
    EXPECT_EQ(update(instance, clone), Told(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, true));
    EXPECT_EQ(update(instance, create()), Told(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, false));
    // Refused updates change nothing.
    set(0);
    EXPECT_EQ(run(instance), 5U);
    // A graph of the same shape with another kind of node.
    const CUgraph typed = create();
    CUgraphNode empty = nullptr;
    ASSERT_EQ(DRIVER(cuGraphAddEmptyNode)(&empty, typed, nullptr, 0), CUDA_SUCCESS);
    add_fill(typed, 1, {empty});
    EXPECT_EQ(update(instance, typed), Told(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, true));
}

TEST_F(GraphsTest, ChildGraphsAreClones) {
    const CUgraph inner = create();
    add_fill(inner, 6);
    const CUgraph outer = create();
    const CUgraphNode before = add_fill(outer, 1);
    CUgraphNode child = nullptr;
    ASSERT_EQ(DRIVER(cuGraphAddChildGraphNode)(&child, outer, &before, 1, inner), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuGraphDestroy)(inner), CUDA_SUCCESS);
    CUgraph own = nullptr;
    ASSERT_EQ(DRIVER(cuGraphChildGraphNodeGetGraph)(child, &own), CUDA_SUCCESS);
    const std::vector<CUgraphNode> nodes = nodes_of(own);
    ASSERT_EQ(nodes.size(), 1U);
    const CUgraphExec instance = instantiate(outer);
    EXPECT_EQ(run(instance), 6U);
    // A node of the child graph names its twin in the instance of the outer one.
    const CUDA_KERNEL_NODE_PARAMS other = fill_node(8);
    EXPECT_EQ(DRIVER(cuGraphExecKernelNodeSetParams_v2)(instance, nodes[0], &other), CUDA_SUCCESS);
    EXPECT_EQ(run(instance), 8U);
}

TEST_F(GraphsTest, NodesOfAnyType) {
    const CUgraph graph = create();
    CUgraphNodeParams parameters{};
    parameters.type = CU_GRAPH_NODE_TYPE_MEMSET;
    parameters.memset = {out_, 0, 7, 4, 16, 1, context_};
    CUgraphNode memset = nullptr;
    ASSERT_EQ(DRIVER(cuGraphAddNode_v2)(&memset, graph, nullptr, nullptr, 0, &parameters), CUDA_SUCCESS);
    const CUDA_KERNEL_NODE_PARAMS fill = fill_node(1);
    CUgraphNodeParams kernel{};
    kernel.type = CU_GRAPH_NODE_TYPE_KERNEL;
    kernel.kernel.func = fill.func;
    kernel.kernel.gridDimX = kernel.kernel.gridDimY = kernel.kernel.gridDimZ = 1;
    kernel.kernel.blockDimX = kernel.kernel.blockDimY = kernel.kernel.blockDimZ = 1;
    kernel.kernel.kernelParams = fill.kernelParams;
    CUgraphNode node = nullptr;
    ASSERT_EQ(DRIVER(cuGraphAddNode)(&node, graph, &memset, 1, &kernel), CUDA_SUCCESS);
    CUDA_GRAPH_INSTANTIATE_PARAMS how{};
    CUgraphExec instance = nullptr;
    ASSERT_EQ(DRIVER(cuGraphInstantiateWithParams)(&instance, graph, &how), CUDA_SUCCESS);
    EXPECT_EQ(how.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
    EXPECT_EQ(run(instance), 1U);
    EXPECT_EQ(value(1), 7U);
    word_ = 2;
    EXPECT_EQ(DRIVER(cuGraphExecNodeSetParams)(instance, node, &kernel), CUDA_SUCCESS);
    CUDA_MEMSET_NODE_PARAMS nines{out_, 0, 9, 4, 16, 1};
    EXPECT_EQ(DRIVER(cuGraphExecMemsetNodeSetParams)(instance, memset, &nines, context_), CUDA_SUCCESS);
    EXPECT_EQ(run(instance), 2U);
    EXPECT_EQ(value(1), 9U);
    // The type of a node stays.
    EXPECT_EQ(DRIVER(cuGraphNodeSetParams)(node, &parameters), CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = 0x10;
    copy.dstDevice = out_;
    copy.WidthInBytes = 4;
    copy.Height = copy.Depth = 1;
    EXPECT_EQ(DRIVER(cuGraphAddMemcpyNode)(&node, graph, nullptr, 0, &copy, context_), CUDA_ERROR_INVALID_VALUE);
}

/// A node's grid has its number from its instance's making, in every launch; launches count on.
TEST_F(GraphsTest, GridIdsStayOverLaunches) {
    CUfunction grid_id = nullptr;
    ASSERT_EQ(DRIVER(cuModuleGetFunction)(&grid_id, load(kGridIdPtx), "grid_id"), CUDA_SUCCESS);
    const auto launch_to = [&](unsigned place) {
        CUdeviceptr address = out_ + 8 * place;
        void* parameters[] = {&address};
        EXPECT_EQ(DRIVER(cuLaunchKernel)(grid_id, 1, 1, 1, 1, 1, 1, 0, stream_, parameters, nullptr), CUDA_SUCCESS);
    };
    const auto read = [&] {
        std::array<unsigned long long, 4> ids{};
        EXPECT_EQ(DRIVER(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
        EXPECT_EQ(DRIVER(cuMemcpyDtoH_v2)(ids.data(), out_, sizeof ids), CUDA_SUCCESS);
        return ids;
    };
    const CUgraph graph = capture([&] {
        launch_to(1);
        launch_to(2);
    });
    launch_to(0);
    const CUgraphExec instance = instantiate(graph);
    launch_to(3);
    unsigned long long first = 0;
    for (int launches = 0; launches < 3; ++launches) {
        ASSERT_EQ(DRIVER(cuGraphLaunch)(instance, stream_), CUDA_SUCCESS);
        const std::array<unsigned long long, 4> ids = read();
        first = launches == 0 ? ids[0] : first;
        EXPECT_EQ(ids[0], first);
        EXPECT_EQ(ids[1], first + 1);
        EXPECT_EQ(ids[2], first + 2);
        EXPECT_EQ(ids[3], first + 3);
    }
    // Neither other parameters nor an update change a number.
    const CUgraphNode node = nodes_of(graph)[0];
    const CUDA_KERNEL_NODE_PARAMS same = parameters_of(node);
    EXPECT_EQ(DRIVER(cuGraphExecKernelNodeSetParams_v2)(instance, node, &same), CUDA_SUCCESS);
    EXPECT_EQ(update(instance, graph).first, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    ASSERT_EQ(DRIVER(cuGraphLaunch)(instance, stream_), CUDA_SUCCESS);
    EXPECT_EQ(read()[1], first + 1);
    launch_to(3);
    EXPECT_EQ(read()[3], first + 4);
}

TEST_F(GraphsTest, InstancesAreNotLaunchedIntoCaptures) {
    const CUgraphExec instance = instantiate(create());
    ASSERT_EQ(DRIVER(cuStreamBeginCapture_v2)(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuGraphLaunch)(instance, stream_), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CUgraph graph = nullptr;
    EXPECT_EQ(DRIVER(cuStreamEndCapture)(stream_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

/// An operation belongs to its stream's context, whichever context is current.
TEST_F(GraphsTest, StreamsBringTheirContext) {
    CUlibrary library = nullptr;
    ASSERT_EQ(DRIVER(cuLibraryLoadData)(&library, kTestPtx, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
    CUkernel kernel = nullptr;
    ASSERT_EQ(DRIVER(cuLibraryGetKernel)(&kernel, library, "fill"), CUDA_SUCCESS);
    const CUgraph graph = create();
    add_fill(graph, 5);
    CUcontext second = nullptr;
    ASSERT_EQ(DRIVER(cuCtxCreate_v2)(&second, 0, 0), CUDA_SUCCESS);
    CUstream stream = nullptr;
    ASSERT_EQ(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    EXPECT_EQ(fill(1, stream), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(fill(1, nullptr), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(fill(1, stream_), CUDA_SUCCESS);
    unsigned word = 2;
    void* parameters[] = {&out_, &word, &count_};
    for (const CUstream one : {stream, stream_}) {
        EXPECT_EQ(launch(reinterpret_cast<CUfunction>(kernel), parameters, 1, 32, 0, one), CUDA_SUCCESS);
        EXPECT_EQ(DRIVER(cuStreamSynchronize)(one), CUDA_SUCCESS);
    }
    EXPECT_EQ(value(), 2U);  // one device, one memory
    EXPECT_EQ(DRIVER(cuEventRecord)(first_, stream), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(DRIVER(cuStreamWaitEvent)(stream, first_, 0), CUDA_SUCCESS);
    // A graph's kernels run where their functions are, in a stream of any context.
    const CUgraphExec instance = instantiate(graph);
    EXPECT_EQ(DRIVER(cuGraphLaunch)(instance, stream), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuStreamSynchronize)(stream), CUDA_SUCCESS);
    EXPECT_EQ(value(), 5U);
    EXPECT_EQ(DRIVER(cuCtxDestroy_v2)(second), CUDA_SUCCESS);
}

}  // namespace
