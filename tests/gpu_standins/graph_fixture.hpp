// SPDX-License-Identifier: Apache-2.0
// Streams, events and a kernel that writes a word, for tests of captures and graphs.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "driver_fixture.hpp"

class GraphTest : public DriverTest {
protected:
    void SetUp() override {
        DriverTest::SetUp();
        module_ = load();
        ASSERT_EQ(DRIVER(cuModuleGetFunction)(&fill_, module_, "fill"), CUDA_SUCCESS);
        ASSERT_EQ(DRIVER(cuStreamCreate)(&stream_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        ASSERT_EQ(DRIVER(cuStreamCreate)(&other_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
        ASSERT_EQ(DRIVER(cuEventCreate)(&first_, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
        ASSERT_EQ(DRIVER(cuEventCreate)(&second_, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
        out_ = allocate(64);
        set(0);
    }

    /// Launches the kernel that writes `word` to the first word of out_.
    CUresult fill(unsigned word, CUstream stream) {
        void* parameters[] = {&out_, &word, &count_};
        return launch(fill_, parameters, 1, 32, 0, stream);
    }
    /// Parameters of a node that does the same; they point to members, so one at a time.
    CUDA_KERNEL_NODE_PARAMS fill_node(unsigned word) {
        word_ = word;
        pointers_[0] = &out_;
        pointers_[1] = &word_;
        pointers_[2] = &count_;
        CUDA_KERNEL_NODE_PARAMS parameters{};
        parameters.func = fill_;
        parameters.gridDimX = parameters.gridDimY = parameters.gridDimZ = 1;
        parameters.blockDimX = 32;
        parameters.blockDimY = parameters.blockDimZ = 1;
        parameters.kernelParams = pointers_;
        return parameters;
    }
    void set(unsigned word) {
        ASSERT_EQ(DRIVER(cuMemsetD32_v2)(out_, word, 16), CUDA_SUCCESS);
        ASSERT_EQ(DRIVER(cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
    }
    unsigned value(unsigned index = 0) {
        unsigned word = 0;
        EXPECT_EQ(DRIVER(cuMemcpyDtoH_v2)(&word, out_ + index * sizeof word, sizeof word), CUDA_SUCCESS);
        return word;
    }

    static std::vector<CUgraphNode> nodes_of(CUgraph graph) {
        std::size_t count = 0;
        EXPECT_EQ(DRIVER(cuGraphGetNodes)(graph, nullptr, &count), CUDA_SUCCESS);
        std::vector<CUgraphNode> nodes(count);
        EXPECT_EQ(DRIVER(cuGraphGetNodes)(graph, nodes.data(), &count), CUDA_SUCCESS);
        return nodes;
    }
    static std::size_t dependencies(CUgraphNode node) {
        std::size_t count = 99;
        EXPECT_EQ(DRIVER(cuGraphNodeGetDependencies)(node, nullptr, &count), CUDA_SUCCESS);
        return count;
    }
    CUgraphExec instantiate(CUgraph graph) {
        CUgraphExec instance = nullptr;
        EXPECT_EQ(DRIVER(cuGraphInstantiateWithFlags)(&instance, graph, 0), CUDA_SUCCESS);
        return instance;
    }
    /// The first word after a launch.
    unsigned run(CUgraphExec instance) {
        EXPECT_EQ(DRIVER(cuGraphLaunch)(instance, stream_), CUDA_SUCCESS);
        EXPECT_EQ(DRIVER(cuStreamSynchronize)(stream_), CUDA_SUCCESS);
        return value();
    }
    unsigned run_once(CUgraph graph) { return run(instantiate(graph)); }

    CUmodule module_ = nullptr;
    CUfunction fill_ = nullptr;
    CUstream stream_ = nullptr;
    CUstream other_ = nullptr;
    CUevent first_ = nullptr;
    CUevent second_ = nullptr;
    CUdeviceptr out_ = 0;
    unsigned word_ = 0;
    unsigned count_ = 1;
    void* pointers_[3] = {};
};
