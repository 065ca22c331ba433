// SPDX-License-Identifier: Apache-2.0
// Captures begin; graphs are instantiated, changed, launched and destroyed.
#include "agent/drain/copy_maps.hpp"
#include "agent/driver/driver.hpp"
#include "agent/graphs/instances.hpp"
#include "agent/graphs/nodes.hpp"
#include "agent/hook/entry.hpp"
#include "agent/session/session.hpp"
#include "agent/swap/swap.hpp"

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
    return real(arguments...);
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
        const OwnCalls own;
        refused = put_originals_back(graph);
        if (refused)
            result = call();
    }
    if (result == CUDA_SUCCESS && instance != nullptr) {
        const OwnCalls own;
        instance_made(*instance, graph, (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0);
        if (refused)
            instance_keeps_originals(*instance);
    }
    return result;
}

CUfunction copy_for_node(CUfunction original, const CUDA_KERNEL_NODE_PARAMS& params) {
    LaunchShape shape;
    shape.block.threads = params.blockDimX * params.blockDimY * params.blockDimZ;
    shape.block.shared_bytes = params.sharedMemBytes;
    shape.recorded = true;
    const Choice choice = choose(original, shape);
    return choice.is_copy ? choice.function : nullptr;
}

// Probes came or went since the graph was instantiated. Its nodes follow where its last launch is known to be over:
// that was on the same stream, and the stream has nothing to do.
void follow(CUgraphExec instance, CUstream stream, StreamForm form) {
    CUstream last = nullptr;
    const OwnCalls own;
    const auto query = form == StreamForm::legacy ? driver().cuStreamQuery : driver().cuStreamQuery_ptsz;
    if (last_stream(instance, &last) && (last != stream || query == nullptr || query(stream) != CUDA_SUCCESS))
        return;
    instance_follows(instance, copy_for_node);
}

template <typename Real>
CUresult launch(Real real, StreamForm form, CUgraphExec instance, CUstream stream) {
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!watched())
        return real(instance, stream);
    const bool recorded = is_recorded(stream, form);
    if (!recorded && instance_differs(instance))
        follow(instance, stream, form);
    if (!recorded)
        graph_queued(stream, form);
    CUresult result;
    {
        const Forwarded forwarded;
        result = real(instance, stream);
    }
    if (result == CUDA_SUCCESS) {
        if (!recorded)
            instance_launched(instance, stream);
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
