// SPDX-License-Identifier: Apache-2.0
// Captures and graphs through the runtime's interface, with kernels registered as nvcc's generated code does it.
#include "graph_fixture.hpp"
#include "runtime_fixture.hpp"

namespace {

/// Host functions that stand for kernels; only their addresses count.
void fill_stub() {}
void increment_stub() {}

class RuntimeGraphTest : public testing::Test {
protected:
    void SetUp() override {
        if (std::getenv("EGPU_TEST_DRIVER") != nullptr) {
            GTEST_SKIP() << "about the runtime's stand-in";
        }
        ASSERT_NE(runtime_library(), nullptr) << dlerror();
        const auto add_binary =
            reinterpret_cast<void** (*)(void*)>(dlsym(runtime_library(), "__cudaRegisterFatBinary"));
        binary_ = add_binary(const_cast<char*>(kTestPtx));
        add_kernel(&fill_stub, "fill");
        add_kernel(&increment_stub, "increment");
        ASSERT_EQ(runtime("cudaStreamCreate", &stream_), cudaSuccess);
        ASSERT_EQ(runtime("cudaMalloc", &out_, std::size_t{64}), cudaSuccess);
        ASSERT_EQ(runtime("cudaMemset", out_, 0, std::size_t{64}), cudaSuccess);
    }
    void TearDown() override {
        if (binary_ != nullptr) {
            reinterpret_cast<void (*)(void**)>(dlsym(runtime_library(), "__cudaUnregisterFatBinary"))(binary_);
        }
    }
    void add_kernel(void (*stub)(), const char* name) {
        const auto add =
            reinterpret_cast<void (*)(void**, const char*, char*, const char*, int, void*, void*, void*, void*, int*)>(
                dlsym(runtime_library(), "__cudaRegisterFunction"));
        add(binary_, reinterpret_cast<const char*>(stub), nullptr, name, -1, nullptr, nullptr, nullptr, nullptr,
            nullptr);
    }
    cudaKernelNodeParams node(unsigned word) {
        word_ = word;
        pointers_[0] = &out_;
        pointers_[1] = &word_;
        pointers_[2] = &count_;
        return {reinterpret_cast<void*>(&fill_stub), {1, 1, 1}, {32, 1, 1}, 0, pointers_, nullptr};
    }
    cudaError_t fill(unsigned word) {
        void* parameters[] = {&out_, &word, &count_};
        return runtime("cudaLaunchKernel", reinterpret_cast<const void*>(&fill_stub), dim3{1, 1, 1}, dim3{32, 1, 1},
                       static_cast<void**>(parameters), std::size_t{0}, stream_);
    }
    unsigned run(cudaGraphExec_t instance) {
        EXPECT_EQ(runtime("cudaGraphLaunch", instance, stream_), cudaSuccess);
        EXPECT_EQ(runtime("cudaStreamSynchronize", stream_), cudaSuccess);
        unsigned word = 0;
        EXPECT_EQ(runtime("cudaMemcpy", static_cast<void*>(&word), static_cast<const void*>(out_), sizeof word,
                          cudaMemcpyDeviceToHost),
                  cudaSuccess);
        return word;
    }
    cudaGraphNode_t only_node(cudaGraph_t graph) {
        cudaGraphNode_t found = nullptr;
        std::size_t count = 1;
        EXPECT_EQ(runtime("cudaGraphGetNodes", graph, &found, &count), cudaSuccess);
        EXPECT_EQ(count, 1U);
        return found;
    }

    void** binary_ = nullptr;
    cudaStream_t stream_ = nullptr;
    void* out_ = nullptr;
    unsigned word_ = 0;
    unsigned count_ = 1;
    void* pointers_[3] = {};
};

TEST_F(RuntimeGraphTest, CapturesReplaysAndUpdates) {
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(runtime("cudaStreamBeginCapture", stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), cudaSuccess);
    ASSERT_EQ(fill(3), cudaSuccess);
    ASSERT_EQ(runtime("cudaStreamEndCapture", stream_, &graph), cudaSuccess);
    cudaGraphExec_t instance = nullptr;
    ASSERT_EQ(runtime("cudaGraphInstantiate", &instance, graph, 0ULL), cudaSuccess);
    EXPECT_EQ(run(instance), 3U);
    // A kernel's node is named by its host function.
    const cudaGraphNode_t kernel = only_node(graph);
    cudaKernelNodeParams told{};
    ASSERT_EQ(runtime("cudaGraphKernelNodeGetParams", kernel, &told), cudaSuccess);
    EXPECT_EQ(told.func, reinterpret_cast<void*>(&fill_stub));
    EXPECT_EQ(told.blockDim.x, 32U);
    cudaKernelNodeParams given = node(4);
    EXPECT_EQ(
        runtime("cudaGraphExecKernelNodeSetParams", instance, kernel, static_cast<const cudaKernelNodeParams*>(&given)),
        cudaSuccess);
    EXPECT_EQ(run(instance), 4U);
    // ... and an update brings back what the graph has.
    CUgraphExecUpdateResultInfo info{};
    EXPECT_EQ(runtime("cudaGraphExecUpdate", instance, graph, &info), cudaSuccess);
    EXPECT_EQ(run(instance), 3U);
    given.func = reinterpret_cast<void*>(&word_);
    EXPECT_EQ(runtime("cudaGraphKernelNodeSetParams", kernel, static_cast<const cudaKernelNodeParams*>(&given)),
              cudaErrorInvalidDeviceFunction);
    EXPECT_EQ(runtime("cudaGraphExecDestroy", instance), cudaSuccess);
    EXPECT_EQ(runtime("cudaGraphDestroy", graph), cudaSuccess);
}

/// A node whose kernel came by the driver's interface has no host function.
TEST_F(RuntimeGraphTest, ForeignKernelsHaveNoName) {
    CUmodule module = nullptr;
    CUfunction foreign = nullptr;
    ASSERT_EQ(DRIVER(cuModuleLoadData)(&module, kTestPtx), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuModuleGetFunction)(&foreign, module, "fill"), CUDA_SUCCESS);
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(runtime("cudaStreamBeginCapture", stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), cudaSuccess);
    unsigned word = 5;
    void* parameters[] = {&out_, &word, &count_};
    ASSERT_EQ(DRIVER(cuLaunchKernel)(foreign, 1, 1, 1, 32, 1, 1, 0, stream_, parameters, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(runtime("cudaStreamEndCapture", stream_, &graph), cudaSuccess);
    const cudaGraphNode_t kernel = only_node(graph);
    cudaGraphExec_t instance = nullptr;
    ASSERT_EQ(runtime("cudaGraphInstantiate", &instance, graph, 0ULL), cudaSuccess);
    EXPECT_EQ(run(instance), 5U);
    cudaKernelNodeParams told{};
    EXPECT_EQ(runtime("cudaGraphKernelNodeGetParams", kernel, &told), cudaErrorInvalidDeviceFunction);
    // Its instance takes the original all the same (as measured).
    const cudaKernelNodeParams given = node(6);
    EXPECT_EQ(runtime("cudaGraphExecKernelNodeSetParams", instance, kernel, &given), cudaSuccess);
    EXPECT_EQ(run(instance), 6U);
}

TEST_F(RuntimeGraphTest, NodesAreAdded) {
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(runtime("cudaGraphCreate", &graph, 0U), cudaSuccess);
    cudaGraphNode_t kernel = nullptr;
    cudaGraphNode_t fill_words = nullptr;
    cudaGraphNode_t copy = nullptr;
    const cudaMemsetParams words{static_cast<char*>(out_) + 4, 0, 7, 4, 2, 1};
    ASSERT_EQ(runtime("cudaGraphAddMemsetNode", &fill_words, graph, static_cast<const cudaGraphNode_t*>(nullptr),
                      std::size_t{0}, &words),
              cudaSuccess);
    const cudaKernelNodeParams given = node(8);
    ASSERT_EQ(runtime("cudaGraphAddKernelNode", &kernel, graph, static_cast<const cudaGraphNode_t*>(&fill_words),
                      std::size_t{1}, &given),
              cudaSuccess);
    unsigned host[2] = {};
    ASSERT_EQ(
        runtime("cudaGraphAddMemcpyNode1D", &copy, graph, static_cast<const cudaGraphNode_t*>(&kernel), std::size_t{1},
                static_cast<void*>(host), static_cast<const void*>(out_), sizeof host, cudaMemcpyDeviceToHost),
        cudaSuccess);
    cudaGraphExec_t instance = nullptr;
    ASSERT_EQ(runtime("cudaGraphInstantiate", &instance, graph, 0ULL), cudaSuccess);
    EXPECT_EQ(run(instance), 8U);
    EXPECT_EQ(host[0], 8U);
    EXPECT_EQ(host[1], 7U);
}

}  // namespace
