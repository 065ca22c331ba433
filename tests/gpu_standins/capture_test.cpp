// SPDX-License-Identifier: Apache-2.0
// Stream capture: what it makes, what it forbids, how it ends. Every expectation here was seen on an H200 (driver 580);
// EGPU_TEST_DRIVER=libcuda.so.1 test_gpu_driver_api --gtest_filter='Capture*:Graph*' asks a GPU again.
#include <thread>
#include <vector>

#include "graph_fixture.hpp"

namespace {

class CaptureTest : public GraphTest {
protected:
    /// Calls `call` in another thread with this thread's context and a capture mode.
    template <typename Call>
    CUresult elsewhere(CUstreamCaptureMode mode, const Call& call) {
        CUresult result = CUDA_SUCCESS;
        std::thread([&] {
            ASSERT_EQ(DRIVER(cuCtxSetCurrent)(context_), CUDA_SUCCESS);
            result = in_mode(mode, call);
        }).join();
        return result;
    }
    template <typename Call>
    static CUresult in_mode(CUstreamCaptureMode mode, const Call& call) {
        EXPECT_EQ(DRIVER(cuThreadExchangeStreamCaptureMode)(&mode), CUDA_SUCCESS);
        const CUresult result = call();
        EXPECT_EQ(DRIVER(cuThreadExchangeStreamCaptureMode)(&mode), CUDA_SUCCESS);
        return result;
    }

    void begin(CUstreamCaptureMode mode) {
        ASSERT_EQ(DRIVER(cuStreamBeginCapture_v2)(stream_, mode), CUDA_SUCCESS);
        ASSERT_EQ(fill(1, stream_), CUDA_SUCCESS);
    }
    CUresult end() {
        CUgraph graph = nullptr;
        const CUresult result = DRIVER(cuStreamEndCapture)(stream_, &graph);
        EXPECT_EQ(graph == nullptr, result != CUDA_SUCCESS);
        if (graph != nullptr) {
            EXPECT_EQ(DRIVER(cuGraphDestroy)(graph), CUDA_SUCCESS);
        }
        return result;
    }
    CUstreamCaptureStatus status(CUstream stream) {
        CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;
        EXPECT_EQ(DRIVER(cuStreamIsCapturing)(stream, &found), CUDA_SUCCESS);
        return found;
    }
};

constexpr CUstreamCaptureMode kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
constexpr CUstreamCaptureMode kThread = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
constexpr CUstreamCaptureMode kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

TEST_F(CaptureTest, BeginsAndEnds) {
    EXPECT_EQ(DRIVER(cuStreamBeginCapture_v2)(nullptr, kGlobal), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(DRIVER(cuStreamBeginCapture_v2)(CU_STREAM_LEGACY, kRelaxed), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(DRIVER(cuStreamBeginCapture_v2)(stream_, unknown<CUstreamCaptureMode>(7)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(end(), CUDA_ERROR_ILLEGAL_STATE);
    begin(kGlobal);
    EXPECT_EQ(DRIVER(cuStreamBeginCapture_v2)(stream_, kGlobal), CUDA_ERROR_ILLEGAL_STATE);
    EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_EQ(DRIVER(cuStreamEndCapture)(stream_, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_NONE);
    begin(kThread);
    EXPECT_EQ(end(), CUDA_SUCCESS);
}

TEST_F(CaptureTest, NothingRunsWhileCaptured) {
    set(5);
    begin(kThread);
    EXPECT_EQ(end(), CUDA_SUCCESS);
    EXPECT_EQ(value(), 5U);
}

/// Calls that may wait for the GPU, and calls that don't.
TEST_F(CaptureTest, ForbidsCallsThatWait) {
    CUstream idle = nullptr;
    ASSERT_EQ(DRIVER(cuStreamCreate)(&idle, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CUevent done = nullptr;
    ASSERT_EQ(DRIVER(cuEventCreate)(&done, 0), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuEventRecord)(done, idle), CUDA_SUCCESS);
    CUgraph empty = nullptr;
    ASSERT_EQ(DRIVER(cuGraphCreate)(&empty, 0), CUDA_SUCCESS);
    CUgraphExec ready = nullptr;
    ASSERT_EQ(DRIVER(cuGraphInstantiateWithFlags)(&ready, empty, 0), CUDA_SUCCESS);
    CUdeviceptr address = 0;
    std::vector<unsigned> host(16);
    const std::vector<std::pair<const char*, std::function<CUresult()>>> waiting = {
        {"cuMemAlloc", [&] { return DRIVER(cuMemAlloc_v2)(&address, 64); }},
        {"cuMemHostAlloc",
         [&] {
             void* pointer = nullptr;
             return DRIVER(cuMemHostAlloc)(&pointer, 64, 0);
         }},
        {"cuMemAllocManaged", [&] { return DRIVER(cuMemAllocManaged)(&address, 64, CU_MEM_ATTACH_GLOBAL); }},
        {"cuMemAllocAsync", [&] { return DRIVER(cuMemAllocAsync)(&address, 64, idle); }},
        {"cuMemFree", [&] { return DRIVER(cuMemFree_v2)(out_); }},
        {"cuStreamSynchronize", [&] { return DRIVER(cuStreamSynchronize)(idle); }},
        {"cuStreamQuery", [&] { return DRIVER(cuStreamQuery)(idle); }},
        {"cuEventQuery", [&] { return DRIVER(cuEventQuery)(done); }},
        {"cuEventSynchronize", [&] { return DRIVER(cuEventSynchronize)(done); }},
        {"cuModuleUnload", [&] { return DRIVER(cuModuleUnload)(module_); }},
        {"cuCtxSetLimit", [&] { return DRIVER(cuCtxSetLimit)(CU_LIMIT_STACK_SIZE, 1024); }},
        {"cuGraphInstantiate",
         [&] {
             CUgraphExec made = nullptr;
             return DRIVER(cuGraphInstantiateWithFlags)(&made, empty, 0);
         }},
        {"cuGraphExecDestroy", [&] { return DRIVER(cuGraphExecDestroy)(ready); }},
    };
    for (const auto& [name, call] : waiting) {
        // In the thread of a capture, and in any thread beside a global one.
        begin(kThread);
        EXPECT_EQ(in_mode(kGlobal, call), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) << name;
        EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_INVALIDATED) << name;
        EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) << name;
        begin(kGlobal);
        EXPECT_EQ(elsewhere(kGlobal, call), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) << name;
        EXPECT_EQ(elsewhere(kGlobal, call), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) << name;
        EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) << name;
    }
    const std::vector<std::pair<const char*, std::function<CUresult()>>> harmless = {
        {"cuMemcpyHtoD", [&] { return DRIVER(cuMemcpyHtoD_v2)(out_, host.data(), 64); }},
        {"cuMemsetD32", [&] { return DRIVER(cuMemsetD32_v2)(out_, 0, 4); }},
        {"launch", [&] { return fill(3, idle); }},
        {"launch in the default stream", [&] { return fill(3, nullptr); }},
        {"cuEventRecord", [&] { return DRIVER(cuEventRecord)(done, idle); }},
        {"cuStreamWaitEvent", [&] { return DRIVER(cuStreamWaitEvent)(idle, done, 0); }},
        {"cuModuleLoadData",
         [&] {
             CUmodule module = nullptr;
             return DRIVER(cuModuleLoadData)(&module, kTestPtx);
         }},
        {"cuGraphLaunch", [&] { return DRIVER(cuGraphLaunch)(ready, idle); }},
        {"cuStreamCreate",
         [&] {
             CUstream made = nullptr;
             return DRIVER(cuStreamCreate)(&made, CU_STREAM_NON_BLOCKING);
         }},
    };
    for (const auto& [name, call] : harmless) {
        begin(kGlobal);
        EXPECT_EQ(in_mode(kGlobal, call), CUDA_SUCCESS) << name;
        EXPECT_EQ(elsewhere(kGlobal, call), CUDA_SUCCESS) << name;
        EXPECT_EQ(end(), CUDA_SUCCESS) << name;
    }
}

/// Who is forbidden to wait: thread's mode, capture's mode, same thread or another.
TEST_F(CaptureTest, ModesSayWhoIsForbidden) {
    const auto allocate = [&] {
        CUdeviceptr address = 0;
        return DRIVER(cuMemAlloc_v2)(&address, 64);
    };
    begin(kGlobal);
    EXPECT_EQ(elsewhere(kThread, allocate), CUDA_SUCCESS);
    EXPECT_EQ(elsewhere(kRelaxed, allocate), CUDA_SUCCESS);
    EXPECT_EQ(in_mode(kRelaxed, allocate), CUDA_SUCCESS);
    EXPECT_EQ(end(), CUDA_SUCCESS);
    begin(kThread);
    EXPECT_EQ(elsewhere(kGlobal, allocate), CUDA_SUCCESS);
    EXPECT_EQ(end(), CUDA_SUCCESS);
    begin(kRelaxed);
    EXPECT_EQ(in_mode(kGlobal, allocate), CUDA_SUCCESS);
    EXPECT_EQ(elsewhere(kGlobal, allocate), CUDA_SUCCESS);
    EXPECT_EQ(end(), CUDA_SUCCESS);
}

/// No mode allows this one: not even a relaxed thread beside a relaxed capture.
TEST_F(CaptureTest, AContextIsNeverWaitedFor) {
    begin(kRelaxed);
    EXPECT_EQ(elsewhere(kRelaxed, [] { return DRIVER(cuCtxSynchronize)(); }), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureTest, TheDefaultStreamWaitsForNoCapture) {
    CUstream blocking = nullptr;
    ASSERT_EQ(DRIVER(cuStreamCreate)(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    unsigned word = 0;
    const std::vector<std::function<CUresult()>> calls = {
        [&] { return fill(1, nullptr); },
        [&] { return DRIVER(cuMemcpyDtoH_v2)(&word, out_, 4); },
        [&] { return DRIVER(cuMemcpyHtoDAsync_v2)(out_, &word, 4, nullptr); },
        [&] { return DRIVER(cuMemsetD32_v2)(out_, 0, 1); },
        [&] { return DRIVER(cuStreamSynchronize)(nullptr); },
        [&] { return DRIVER(cuStreamQuery)(nullptr); },
    };
    for (const auto& call : calls) {
        ASSERT_EQ(DRIVER(cuStreamBeginCapture_v2)(blocking, kRelaxed), CUDA_SUCCESS);
        EXPECT_EQ(call(), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
        CUgraph graph = nullptr;
        EXPECT_EQ(DRIVER(cuStreamEndCapture)(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
}

TEST_F(CaptureTest, EventsJoinStreams) {
    begin(kThread);
    ASSERT_EQ(DRIVER(cuEventRecord)(first_, stream_), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuStreamWaitEvent)(other_, first_, 0), CUDA_SUCCESS);
    EXPECT_EQ(status(other_), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ASSERT_EQ(fill(2, other_), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuEventRecord)(second_, other_), CUDA_SUCCESS);
    ASSERT_EQ(fill(3, stream_), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuStreamWaitEvent)(stream_, second_, 0), CUDA_SUCCESS);

    CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t id = 0;
    CUgraph graph = nullptr;
    const CUgraphNode* nodes = nullptr;
    std::size_t count = 0;
    EXPECT_EQ(DRIVER(cuStreamGetCaptureInfo_v2)(stream_, &found, &id, &graph, &nodes, &count), CUDA_SUCCESS);
    EXPECT_EQ(count, 2U);
    EXPECT_NE(id, 0U);
    ASSERT_EQ(fill(4, stream_), CUDA_SUCCESS);
    CUgraph ended = nullptr;
    ASSERT_EQ(DRIVER(cuStreamEndCapture)(stream_, &ended), CUDA_SUCCESS);
    EXPECT_EQ(ended, graph);
    EXPECT_EQ(status(other_), CU_STREAM_CAPTURE_STATUS_NONE);
    const std::vector<CUgraphNode> all = nodes_of(graph);
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(dependencies(all[0]), 0U);
    EXPECT_EQ(dependencies(all[1]), 1U);
    EXPECT_EQ(dependencies(all[2]), 1U);
    EXPECT_EQ(dependencies(all[3]), 2U);
    EXPECT_EQ(run_once(graph), 4U);
}

TEST_F(CaptureTest, WorkHasToBeJoined) {
    begin(kThread);
    ASSERT_EQ(DRIVER(cuEventRecord)(first_, stream_), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuStreamWaitEvent)(other_, first_, 0), CUDA_SUCCESS);
    ASSERT_EQ(fill(2, other_), CUDA_SUCCESS);
    EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    EXPECT_EQ(status(other_), CU_STREAM_CAPTURE_STATUS_NONE);
    EXPECT_EQ(fill(2, other_), CUDA_SUCCESS);
    // A stream that did nothing needs no join.
    begin(kThread);
    ASSERT_EQ(DRIVER(cuEventRecord)(first_, stream_), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuStreamWaitEvent)(other_, first_, 0), CUDA_SUCCESS);
    EXPECT_EQ(end(), CUDA_SUCCESS);
    // The capture ends where it began.
    begin(kThread);
    ASSERT_EQ(DRIVER(cuEventRecord)(first_, stream_), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuStreamWaitEvent)(other_, first_, 0), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    EXPECT_EQ(DRIVER(cuStreamEndCapture)(other_, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureTest, EventsOfACaptureAreNoMoments) {
    for (const auto call : {DRIVER(cuEventQuery), DRIVER(cuEventSynchronize)}) {
        begin(kRelaxed);
        ASSERT_EQ(DRIVER(cuEventRecord)(first_, stream_), CUDA_SUCCESS);
        EXPECT_EQ(call(first_), CUDA_ERROR_CAPTURED_EVENT);
        EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
        EXPECT_EQ(call(first_), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        EXPECT_EQ(call(first_), CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(DRIVER(cuStreamWaitEvent)(other_, first_, 0), CUDA_ERROR_INVALID_VALUE);
    }
    // Never recorded: nothing to wait for. Recorded outside: a capture can't depend on it.
    begin(kThread);
    EXPECT_EQ(DRIVER(cuStreamWaitEvent)(stream_, second_, 0), CUDA_SUCCESS);
    EXPECT_EQ(end(), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuEventRecord)(second_, other_), CUDA_SUCCESS);
    begin(kThread);
    EXPECT_EQ(DRIVER(cuStreamWaitEvent)(stream_, second_, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    // Nor can the default stream depend on a capture, or two captures on each other.
    begin(kThread);
    ASSERT_EQ(DRIVER(cuEventRecord)(first_, stream_), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuStreamWaitEvent)(nullptr, first_, 0), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(kThread);
    ASSERT_EQ(DRIVER(cuEventRecord)(first_, stream_), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuStreamBeginCapture_v2)(other_, kThread), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuStreamWaitEvent)(other_, first_, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    CUgraph graph = nullptr;
    EXPECT_EQ(DRIVER(cuStreamEndCapture)(other_, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureTest, SomeOperationsCantBeCaptured) {
    const std::vector<std::function<CUresult()>> calls = {
        [&] { return DRIVER(cuStreamSynchronize)(stream_); },
        [&] { return DRIVER(cuStreamQuery)(stream_); },
        [&] {
            return DRIVER(cuStreamAddCallback)(
                stream_, [](CUstream, CUresult, void*) {}, nullptr, 0);
        },
        [&] { return DRIVER(cuStreamAttachMemAsync)(stream_, out_, 0, CU_MEM_ATTACH_SINGLE); },
    };
    for (const auto& call : calls) {
        begin(kRelaxed);
        EXPECT_EQ(call(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        EXPECT_EQ(fill(1, stream_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        EXPECT_EQ(DRIVER(cuEventRecord)(first_, stream_), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
    // A launch that is refused ends the capture, too.
    begin(kThread);
    void* parameters[] = {&out_, &word_, &count_};
    EXPECT_EQ(DRIVER(cuLaunchKernel)(fill_, 1, 1, 1, 4096, 1, 1, 0, stream_, parameters, nullptr),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureTest, BelongsToItsThread) {
    begin(kThread);
    EXPECT_EQ(elsewhere(kGlobal, [&] { return fill(2, stream_); }), CUDA_SUCCESS);
    EXPECT_EQ(elsewhere(kGlobal, [&] { return end(); }), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    EXPECT_EQ(status(stream_), CU_STREAM_CAPTURE_STATUS_NONE);
    EXPECT_EQ(end(), CUDA_ERROR_ILLEGAL_STATE);
    begin(kRelaxed);
    EXPECT_EQ(elsewhere(kGlobal, [&] { return end(); }), CUDA_SUCCESS);
}

TEST_F(CaptureTest, EndsWithItsStream) {
    CUstream gone = nullptr;
    ASSERT_EQ(DRIVER(cuStreamCreate)(&gone, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(DRIVER(cuStreamBeginCapture_v2)(gone, kGlobal), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuStreamDestroy_v2)(gone), CUDA_SUCCESS);
    EXPECT_EQ(DRIVER(cuCtxSynchronize)(), CUDA_SUCCESS);
}

}  // namespace
