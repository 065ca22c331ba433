// SPDX-License-Identifier: Apache-2.0
// Captures begin; graphs are instantiated, changed, launched and destroyed.
#include "agent/drain/copy_maps.hpp"
#include "agent/driver/driver.hpp"
#include "agent/graphs/instances.hpp"
#include "agent/graphs/nodes.hpp"
#include "agent/hook/entry.hpp"
#include "agent/kernels/observe.hpp"
#include "agent/session/held.hpp"
#include "agent/session/session.hpp"
#include "agent/swap/swap.hpp"
#include "segment/access/shared.hpp"

using namespace egpu::agent;

namespace {

bool watched() {
    return counting() && !Forwarded::nested();
}

template <typename Real, typename... Arguments>
CUresult begin_capture(Real real, Arguments... arguments) {
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    capture_begins();
    const CUresult result = real(arguments...);
    if (result != CUDA_SUCCESS)
        capture_ended();
    return result;
}

template <typename Real>
CUresult end_capture(Real real, CUstream stream, CUgraph* graph) {
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(stream, graph);
    // After any other error it may go on.
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
        capture_ended();
    return result;
}

// Once more with originals where it may be a copy that the driver refused.
template <typename Call>
CUresult instantiate(CUgraphExec* instance, CUgraph graph, unsigned long long flags, const Call& call) {
    if (!watched())
        return call();
    CUresult result;
    {
        const Forwarded forwarded;
        result = call();
    }
    bool refused = false;
    if (result != CUDA_SUCCESS && !is_sticky(result)) {
        const Held held;
        const OwnCalls own;
        refused = put_originals_back(graph);
        if (refused)
            result = call();
    }
    if (result == CUDA_SUCCESS && instance != nullptr) {
        const Held held;
        const OwnCalls own;
        instance_made(*instance, graph, (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0);
        if (refused)
            instance_keeps_originals(*instance);
    }
    return result;
}

// The context is the node's, whichever is current.
CUfunction copy_for_node(CUfunction original, const CUDA_KERNEL_NODE_PARAMS& params) {
    const Driver& real = driver();
    CUcontext popped = nullptr;
    const bool pushed =
        several_places() && params.ctx != nullptr && real.cuCtxPushCurrent_v2(params.ctx) == CUDA_SUCCESS;
    LaunchShape shape;
    shape.block.threads = params.blockDimX * params.blockDimY * params.blockDimZ;
    shape.block.shared_bytes = params.sharedMemBytes;
    shape.recorded = true;
    const Choice choice = choose(original, shape);
    if (pushed)
        real.cuCtxPopCurrent_v2(&popped);
    return choice.is_copy ? choice.function : nullptr;
}

template <typename Real>
CUresult launch(Real real, StreamForm form, CUgraphExec instance, CUstream stream) {
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!watched())
        return real(instance, stream);
    const Capture capture = capture_of(stream, form);
    const bool now = capture == Capture::none;
    if (now)
        load_if_over(stream, form);
    // Probes came or went since the graph was instantiated.
    bool left_behind = now && instance_differs(instance);
    if (left_behind) {
        const Held held;
        const OwnCalls own;
        left_behind = !instance_follows(instance, {stream, form, context_idle(stream)}, copy_for_node);
    }
    if (now)
        graph_queued(stream, form);
    CUresult result;
    {
        const Forwarded forwarded;
        result = real(instance, stream);
    }
    if (result == CUDA_SUCCESS) {
        if (capture == Capture::unknown)
            egpu::segment::add_relaxed(view().header().graph_launches_partly, std::uint64_t{1});
        if (now)
            instance_launched(instance, stream);
        if (left_behind) {
            const OwnCalls own;
            mark_end_of_launch(instance, {stream, form, false});
        }
    } else if (is_sticky(result)) {
        report_lost_device(result);
        run_originals();
    }
    return result;
}

}  // namespace

CUresult cuStreamBeginCapture(CUstream hStream) {
    return begin_capture(real_driver().cuStreamBeginCapture, hStream);
}

CUresult cuStreamBeginCapture_ptsz(CUstream hStream) {
    return begin_capture(real_driver().cuStreamBeginCapture_ptsz, hStream);
}

CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode) {
    return begin_capture(real_driver().cuStreamBeginCapture_v2, hStream, mode);
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream hStream, CUstreamCaptureMode mode) {
    return begin_capture(real_driver().cuStreamBeginCapture_v2_ptsz, hStream, mode);
}

CUresult cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph, const CUgraphNode* dependencies,
                                     const CUgraphEdgeData* dependencyData, size_t numDependencies,
                                     CUstreamCaptureMode mode) {
    return begin_capture(real_driver().cuStreamBeginCaptureToGraph, hStream, hGraph, dependencies, dependencyData,
                         numDependencies, mode);
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream hStream, CUgraph hGraph, const CUgraphNode* dependencies,
                                          const CUgraphEdgeData* dependencyData, size_t numDependencies,
                                          CUstreamCaptureMode mode) {
    return begin_capture(real_driver().cuStreamBeginCaptureToGraph_ptsz, hStream, hGraph, dependencies, dependencyData,
                         numDependencies, mode);
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph* phGraph) {
    return end_capture(real_driver().cuStreamEndCapture, hStream, phGraph);
}

CUresult cuStreamEndCapture_ptsz(CUstream hStream, CUgraph* phGraph) {
    return end_capture(real_driver().cuStreamEndCapture_ptsz, hStream, phGraph);
}

CUresult cuGraphInstantiate(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode, char* logBuffer,
                            size_t bufferSize) {
    const auto real = real_driver().cuGraphInstantiate;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    return instantiate(phGraphExec, hGraph, 0,
                       [&] { return real(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize); });
}

CUresult cuGraphInstantiate_v2(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode, char* logBuffer,
                               size_t bufferSize) {
    const auto real = real_driver().cuGraphInstantiate_v2;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    return instantiate(phGraphExec, hGraph, 0,
                       [&] { return real(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize); });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph, unsigned long long flags) {
    const auto real = real_driver().cuGraphInstantiateWithFlags;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    return instantiate(phGraphExec, hGraph, flags, [&] { return real(phGraphExec, hGraph, flags); });
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* phGraphExec, CUgraph hGraph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams) {
    const auto real = real_driver().cuGraphInstantiateWithParams;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    return instantiate(phGraphExec, hGraph, instantiateParams != nullptr ? instantiateParams->flags : 0,
                       [&] { return real(phGraphExec, hGraph, instantiateParams); });
}

CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* phGraphExec, CUgraph hGraph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams) {
    const auto real = real_driver().cuGraphInstantiateWithParams_ptsz;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    return instantiate(phGraphExec, hGraph, instantiateParams != nullptr ? instantiateParams->flags : 0,
                       [&] { return real(phGraphExec, hGraph, instantiateParams); });
}

CUresult cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode* hErrorNode_out,
                           CUgraphExecUpdateResult* updateResult_out) {
    const auto real = real_driver().cuGraphExecUpdate;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(hGraphExec, hGraph, hErrorNode_out, updateResult_out);
    if (result == CUDA_SUCCESS && watched()) {
        const Held held;
        const OwnCalls own;
        instance_updated(hGraphExec, hGraph);
    }
    return result;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo* resultInfo) {
    const auto real = real_driver().cuGraphExecUpdate_v2;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(hGraphExec, hGraph, resultInfo);
    if (result == CUDA_SUCCESS && watched()) {
        const Held held;
        const OwnCalls own;
        instance_updated(hGraphExec, hGraph);
    }
    return result;
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph) {
    const auto real = real_driver().cuGraphExecChildGraphNodeSetParams;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(hGraphExec, hNode, childGraph);
    if (result == CUDA_SUCCESS && watched()) {
        const Held held;
        const OwnCalls own;
        instance_child_updated(hGraphExec, hNode, childGraph);
    }
    return result;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled) {
    const auto real = real_driver().cuGraphNodeSetEnabled;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(hGraphExec, hNode, isEnabled);
    if (result == CUDA_SUCCESS && watched())
        instance_node_enabled(hGraphExec, hNode, isEnabled != 0);
    return result;
}

CUresult cuGraphDestroy(CUgraph hGraph) {
    const auto real = real_driver().cuGraphDestroy;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (watched())
        graph_gone(hGraph);
    return real(hGraph);
}

CUresult cuGraphDestroyNode(CUgraphNode hNode) {
    const auto real = real_driver().cuGraphDestroyNode;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (watched())
        graph_node_changed(hNode);
    return real(hNode);
}

CUresult cuGraphExecDestroy(CUgraphExec hGraphExec) {
    const auto real = real_driver().cuGraphExecDestroy;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (watched())
        instance_gone(hGraphExec);
    return real(hGraphExec);
}

CUresult cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream) {
    return launch(real_driver().cuGraphLaunch, StreamForm::legacy, hGraphExec, hStream);
}

CUresult cuGraphLaunch_ptsz(CUgraphExec hGraphExec, CUstream hStream) {
    return launch(real_driver().cuGraphLaunch_ptsz, StreamForm::per_thread, hGraphExec, hStream);
}
