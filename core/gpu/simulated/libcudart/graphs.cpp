// SPDX-License-Identifier: Apache-2.0
// Stream capture and graphs. Handles are the driver's; a kernel's node is named by its host function, so that a node
// whose kernel this runtime did not load has no name here: cudaErrorInvalidDeviceFunction, as on a GPU.
#include "gpu/simulated/libcudart/entry.hpp"

using namespace egpu::simulated::runtime;

namespace {

cudaError_t begin_capture(CUstream stream, CUstreamCaptureMode mode) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuStreamBeginCapture(stream, mode); });
}

cudaError_t end_capture(CUstream stream, CUgraph* graph) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuStreamEndCapture(stream, graph); });
}

cudaError_t capture_info(CUstream stream, CUstreamCaptureStatus* status, unsigned long long* id, CUgraph* graph,
                         const CUgraphNode** dependencies, const CUgraphEdgeData** edges, size_t* count) {
    return call_driver([&](const DriverCalls& driver) {
        return driver.cuStreamGetCaptureInfo(stream, status, reinterpret_cast<cuuint64_t*>(id), graph, dependencies,
                                             edges, count);
    });
}

/// The driver's parameters for a node, its kernel named by the host function.
cudaError_t to_driver(Runtime& state, const cudaKernelNodeParams* given, CUDA_KERNEL_NODE_PARAMS& parameters) {
    if (given == nullptr) {
        return cudaErrorInvalidValue;
    }
    parameters = {};
    parameters.gridDimX = given->gridDim.x;
    parameters.gridDimY = given->gridDim.y;
    parameters.gridDimZ = given->gridDim.z;
    parameters.blockDimX = given->blockDim.x;
    parameters.blockDimY = given->blockDim.y;
    parameters.blockDimZ = given->blockDim.z;
    parameters.sharedMemBytes = given->sharedMemBytes;
    parameters.kernelParams = given->kernelParams;
    parameters.extra = given->extra;
    return kernel_of(state, given->func, &parameters.kern);
}

/// Runs a body with parameters that the driver understands.
template <typename Body>
cudaError_t with_kernel_node(const cudaKernelNodeParams* given, const Body& body) {
    return call([&](Runtime& state) {
        CUDA_KERNEL_NODE_PARAMS parameters{};
        const cudaError_t error = to_driver(state, given, parameters);
        return error != cudaSuccess ? error : from_driver(body(state.driver, parameters));
    });
}

CUDA_MEMSET_NODE_PARAMS to_driver(const cudaMemsetParams& given) {
    return {reinterpret_cast<CUdeviceptr>(given.dst),
            given.pitch,
            given.value,
            given.elementSize,
            given.width,
            given.height};
}

/// A copy of bytes as a node has it.
cudaError_t to_driver(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, CUDA_MEMCPY3D& copy) {
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
        return cudaErrorInvalidMemcpyDirection;
    }
    const bool to_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
    const bool from_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
    const bool unified = kind == cudaMemcpyDefault;
    copy = {};
    copy.dstMemoryType = unified ? CU_MEMORYTYPE_UNIFIED : to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.srcMemoryType = unified ? CU_MEMORYTYPE_UNIFIED : from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    if (to_host) {
        copy.dstHost = to;
    } else {
        copy.dstDevice = reinterpret_cast<CUdeviceptr>(to);
    }
    if (from_host) {
        copy.srcHost = from;
    } else {
        copy.srcDevice = reinterpret_cast<CUdeviceptr>(from);
    }
    copy.WidthInBytes = bytes;
    copy.Height = 1;
    copy.Depth = 1;
    return cudaSuccess;
}

/// Nodes of copies and fills belong to a context: the calling thread's.
template <typename Body>
cudaError_t in_context(const Body& body) {
    return call_driver([&](const DriverCalls& driver) {
        CUcontext context = nullptr;
        const CUresult error = driver.cuCtxGetCurrent(&context);
        return error != CUDA_SUCCESS ? error : body(driver, context);
    });
}

cudaError_t launch(CUgraphExec instance, CUstream stream) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuGraphLaunch(instance, stream); });
}

cudaError_t upload(CUgraphExec instance, CUstream stream) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuGraphUpload(instance, stream); });
}

}  // namespace

/// A function that passes its arguments on to the driver's of the same name.
#define PASS(name, parameters, driver_name, arguments)                                               \
    ENTRY cudaError_t name parameters {                                                              \
        return call_driver([&](const DriverCalls& driver) { return driver.driver_name arguments; }); \
    }

ENTRY cudaError_t cudaStreamBeginCapture(cudaStream_t stream, CUstreamCaptureMode mode) {
    return begin_capture(stream, mode);
}
ENTRY cudaError_t cudaStreamBeginCapture_ptsz(cudaStream_t stream, CUstreamCaptureMode mode) {
    return begin_capture(own_default(stream), mode);
}
ENTRY cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    return end_capture(stream, graph);
}
ENTRY cudaError_t cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t* graph) {
    return end_capture(own_default(stream), graph);
}
ENTRY cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, CUstreamCaptureStatus* status, unsigned long long* id,
                                           cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                           const CUgraphEdgeData** edges, size_t* count) {
    return capture_info(stream, status, id, graph, dependencies, edges, count);
}
ENTRY cudaError_t cudaStreamGetCaptureInfo_ptsz(cudaStream_t stream, CUstreamCaptureStatus* status,
                                                unsigned long long* id, cudaGraph_t* graph,
                                                const cudaGraphNode_t** dependencies, const CUgraphEdgeData** edges,
                                                size_t* count) {
    return capture_info(own_default(stream), status, id, graph, dependencies, edges, count);
}
PASS(cudaThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), cuThreadExchangeStreamCaptureMode, (mode))

PASS(cudaGraphCreate, (cudaGraph_t * graph, unsigned flags), cuGraphCreate, (graph, flags))
PASS(cudaGraphDestroy, (cudaGraph_t graph), cuGraphDestroy, (graph))
PASS(cudaGraphClone, (cudaGraph_t * clone, cudaGraph_t graph), cuGraphClone, (clone, graph))
PASS(cudaGraphNodeFindInClone, (cudaGraphNode_t * found, cudaGraphNode_t node, cudaGraph_t clone),
     cuGraphNodeFindInClone, (found, node, clone))
PASS(cudaGraphDestroyNode, (cudaGraphNode_t node), cuGraphDestroyNode, (node))
PASS(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count), cuGraphGetNodes,
     (graph, nodes, count))
PASS(cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count), cuGraphGetRootNodes,
     (graph, nodes, count))
PASS(cudaGraphGetEdges,
     (cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, CUgraphEdgeData* data, size_t* count),
     cuGraphGetEdges, (graph, from, to, data, count))
PASS(cudaGraphNodeGetType, (cudaGraphNode_t node, CUgraphNodeType* type), cuGraphNodeGetType, (node, type))
PASS(cudaGraphNodeGetDependencies, (cudaGraphNode_t node, cudaGraphNode_t* nodes, CUgraphEdgeData* data, size_t* count),
     cuGraphNodeGetDependencies, (node, nodes, data, count))
PASS(cudaGraphNodeGetDependentNodes,
     (cudaGraphNode_t node, cudaGraphNode_t* nodes, CUgraphEdgeData* data, size_t* count), cuGraphNodeGetDependentNodes,
     (node, nodes, data, count))
PASS(cudaGraphAddDependencies,
     (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, const CUgraphEdgeData* data,
      size_t count),
     cuGraphAddDependencies, (graph, from, to, data, count))
PASS(cudaGraphRemoveDependencies,
     (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, const CUgraphEdgeData* data,
      size_t count),
     cuGraphRemoveDependencies, (graph, from, to, data, count))
PASS(cudaGraphAddEmptyNode,
     (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count),
     cuGraphAddEmptyNode, (node, graph, dependencies, count))
PASS(cudaGraphAddChildGraphNode,
     (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count, cudaGraph_t child),
     cuGraphAddChildGraphNode, (node, graph, dependencies, count, child))
PASS(cudaGraphChildGraphNodeGetGraph, (cudaGraphNode_t node, cudaGraph_t* graph), cuGraphChildGraphNodeGetGraph,
     (node, graph))
PASS(cudaGraphAddHostNode,
     (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
      const cudaHostNodeParams* parameters),
     cuGraphAddHostNode, (node, graph, dependencies, count, parameters))
PASS(cudaGraphHostNodeGetParams, (cudaGraphNode_t node, cudaHostNodeParams* parameters), cuGraphHostNodeGetParams,
     (node, parameters))
PASS(cudaGraphHostNodeSetParams, (cudaGraphNode_t node, const cudaHostNodeParams* parameters), cuGraphHostNodeSetParams,
     (node, parameters))

ENTRY cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                         size_t count, const cudaKernelNodeParams* given) {
    return with_kernel_node(given, [&](const DriverCalls& driver, const CUDA_KERNEL_NODE_PARAMS& parameters) {
        return driver.cuGraphAddKernelNode(node, graph, dependencies, count, &parameters);
    });
}

ENTRY cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
    return call([&](Runtime& state) -> cudaError_t {
        CUDA_KERNEL_NODE_PARAMS told{};
        if (parameters == nullptr) {
            return cudaErrorInvalidValue;
        }
        if (const CUresult error = state.driver.cuGraphKernelNodeGetParams(node, &told); error != CUDA_SUCCESS) {
            return from_driver(error);
        }
        const void* const function = host_function_of(state, told.kern);
        if (function == nullptr) {
            return cudaErrorInvalidDeviceFunction;
        }
        *parameters = {const_cast<void*>(function),
                       {told.gridDimX, told.gridDimY, told.gridDimZ},
                       {told.blockDimX, told.blockDimY, told.blockDimZ},
                       told.sharedMemBytes,
                       told.kernelParams,
                       told.extra};
        return cudaSuccess;
    });
}

ENTRY cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* given) {
    return with_kernel_node(given, [&](const DriverCalls& driver, const CUDA_KERNEL_NODE_PARAMS& parameters) {
        return driver.cuGraphKernelNodeSetParams(node, &parameters);
    });
}

ENTRY cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t instance, cudaGraphNode_t node,
                                                   const cudaKernelNodeParams* given) {
    return with_kernel_node(given, [&](const DriverCalls& driver, const CUDA_KERNEL_NODE_PARAMS& parameters) {
        return driver.cuGraphExecKernelNodeSetParams(instance, node, &parameters);
    });
}

ENTRY cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                           const cudaGraphNode_t* dependencies, size_t count, void* to,
                                           const void* from, size_t bytes, cudaMemcpyKind kind) {
    CUDA_MEMCPY3D copy{};
    if (const cudaError_t error = to_driver(to, from, bytes, kind, copy); error != cudaSuccess) {
        return remember(error);
    }
    return in_context([&](const DriverCalls& driver, CUcontext context) {
        return driver.cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, context);
    });
}

ENTRY cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t instance, cudaGraphNode_t node, void* to,
                                                     const void* from, size_t bytes, cudaMemcpyKind kind) {
    CUDA_MEMCPY3D copy{};
    if (const cudaError_t error = to_driver(to, from, bytes, kind, copy); error != cudaSuccess) {
        return remember(error);
    }
    return in_context([&](const DriverCalls& driver, CUcontext context) {
        return driver.cuGraphExecMemcpyNodeSetParams(instance, node, &copy, context);
    });
}

ENTRY cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                         size_t count, const cudaMemsetParams* given) {
    return in_context([&](const DriverCalls& driver, CUcontext context) {
        if (given == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const CUDA_MEMSET_NODE_PARAMS parameters = to_driver(*given);
        return driver.cuGraphAddMemsetNode(node, graph, dependencies, count, &parameters, context);
    });
}

ENTRY cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t instance, cudaGraphNode_t node,
                                                   const cudaMemsetParams* given) {
    return in_context([&](const DriverCalls& driver, CUcontext context) {
        if (given == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const CUDA_MEMSET_NODE_PARAMS parameters = to_driver(*given);
        return driver.cuGraphExecMemsetNodeSetParams(instance, node, &parameters, context);
    });
}

PASS(cudaGraphInstantiate, (cudaGraphExec_t * instance, cudaGraph_t graph, unsigned long long flags),
     cuGraphInstantiateWithFlags, (instance, graph, flags))
PASS(cudaGraphInstantiateWithFlags, (cudaGraphExec_t * instance, cudaGraph_t graph, unsigned long long flags),
     cuGraphInstantiateWithFlags, (instance, graph, flags))
PASS(cudaGraphExecGetFlags, (cudaGraphExec_t instance, unsigned long long* flags), cuGraphExecGetFlags,
     (instance, reinterpret_cast<cuuint64_t*>(flags)))
PASS(cudaGraphExecHostNodeSetParams,
     (cudaGraphExec_t instance, cudaGraphNode_t node, const cudaHostNodeParams* parameters),
     cuGraphExecHostNodeSetParams, (instance, node, parameters))
PASS(cudaGraphNodeSetEnabled, (cudaGraphExec_t instance, cudaGraphNode_t node, unsigned enabled), cuGraphNodeSetEnabled,
     (instance, node, enabled))
PASS(cudaGraphNodeGetEnabled, (cudaGraphExec_t instance, cudaGraphNode_t node, unsigned* enabled),
     cuGraphNodeGetEnabled, (instance, node, enabled))
PASS(cudaGraphExecUpdate, (cudaGraphExec_t instance, cudaGraph_t graph, CUgraphExecUpdateResultInfo* info),
     cuGraphExecUpdate, (instance, graph, info))
PASS(cudaGraphExecDestroy, (cudaGraphExec_t instance), cuGraphExecDestroy, (instance))

ENTRY cudaError_t cudaGraphLaunch(cudaGraphExec_t instance, cudaStream_t stream) {
    return launch(instance, stream);
}
ENTRY cudaError_t cudaGraphLaunch_ptsz(cudaGraphExec_t instance, cudaStream_t stream) {
    return launch(instance, own_default(stream));
}
ENTRY cudaError_t cudaGraphUpload(cudaGraphExec_t instance, cudaStream_t stream) {
    return upload(instance, stream);
}
ENTRY cudaError_t cudaGraphUpload_ptsz(cudaGraphExec_t instance, cudaStream_t stream) {
    return upload(instance, own_default(stream));
}
