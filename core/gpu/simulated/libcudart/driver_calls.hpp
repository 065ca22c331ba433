// SPDX-License-Identifier: Apache-2.0
// The driver as the runtime reaches it: libcuda.so.1 by dlopen, cuGetProcAddress_v2 by dlsym, everything else through
// that. Hooks that stand between the two see what they see with NVIDIA's runtime.
#pragma once

#include "gpu/simulated/libcudart/runtime_types.h"

namespace egpu::simulated::runtime {

/// Name asked for, its prototype's exported name.
#define EGPU_RUNTIME_DRIVER_FUNCTIONS(F)                                                                          \
    F(cuDriverGetVersion, cuDriverGetVersion)                                                                     \
    F(cuInit, cuInit)                                                                                             \
    F(cuModuleGetLoadingMode, cuModuleGetLoadingMode)                                                             \
    F(cuDeviceGetCount, cuDeviceGetCount)                                                                         \
    F(cuDeviceGet, cuDeviceGet)                                                                                   \
    F(cuDeviceGetName, cuDeviceGetName)                                                                           \
    F(cuDeviceTotalMem, cuDeviceTotalMem_v2)                                                                      \
    F(cuDeviceGetUuid, cuDeviceGetUuid_v2)                                                                        \
    F(cuDeviceGetAttribute, cuDeviceGetAttribute)                                                                 \
    F(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer)                                                               \
    F(cuCtxGetCurrent, cuCtxGetCurrent)                                                                           \
    F(cuCtxSetCurrent, cuCtxSetCurrent)                                                                           \
    F(cuCtxGetLimit, cuCtxGetLimit)                                                                               \
    F(cuCtxSetLimit, cuCtxSetLimit)                                                                               \
    F(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange)                                                   \
    F(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                                                         \
    F(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2)                                                    \
    F(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2)                                                        \
    F(cuLibraryLoadData, cuLibraryLoadData)                                                                       \
    F(cuLibraryUnload, cuLibraryUnload)                                                                           \
    F(cuLibraryGetKernel, cuLibraryGetKernel)                                                                     \
    F(cuLibraryGetGlobal, cuLibraryGetGlobal)                                                                     \
    F(cuLibraryGetManaged, cuLibraryGetManaged)                                                                   \
    F(cuKernelGetFunction, cuKernelGetFunction)                                                                   \
    F(cuKernelGetAttribute, cuKernelGetAttribute)                                                                 \
    F(cuKernelSetAttribute, cuKernelSetAttribute)                                                                 \
    F(cuKernelSetCacheConfig, cuKernelSetCacheConfig)                                                             \
    F(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags) \
    F(cuOccupancyAvailableDynamicSMemPerBlock, cuOccupancyAvailableDynamicSMemPerBlock)                           \
    F(cuLaunchKernel, cuLaunchKernel)                                                                             \
    F(cuLaunchKernelEx, cuLaunchKernelEx)                                                                         \
    F(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel)                                                       \
    F(cuLaunchHostFunc, cuLaunchHostFunc)                                                                         \
    F(cuMemGetInfo, cuMemGetInfo_v2)                                                                              \
    F(cuMemAlloc, cuMemAlloc_v2)                                                                                  \
    F(cuMemAllocPitch, cuMemAllocPitch_v2)                                                                        \
    F(cuMemFree, cuMemFree_v2)                                                                                    \
    F(cuMemAllocAsync, cuMemAllocAsync)                                                                           \
    F(cuMemFreeAsync, cuMemFreeAsync)                                                                             \
    F(cuMemHostAlloc, cuMemHostAlloc)                                                                             \
    F(cuMemFreeHost, cuMemFreeHost)                                                                               \
    F(cuMemHostRegister, cuMemHostRegister_v2)                                                                    \
    F(cuMemHostUnregister, cuMemHostUnregister)                                                                   \
    F(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2)                                                    \
    F(cuMemAllocManaged, cuMemAllocManaged)                                                                       \
    F(cuMemPrefetchAsync, cuMemPrefetchAsync_v2)                                                                  \
    F(cuPointerGetAttributes, cuPointerGetAttributes)                                                             \
    F(cuMemcpyAsync, cuMemcpyAsync)                                                                               \
    F(cuMemcpy, cuMemcpy)                                                                                         \
    F(cuMemcpyHtoD, cuMemcpyHtoD_v2)                                                                              \
    F(cuMemcpyDtoH, cuMemcpyDtoH_v2)                                                                              \
    F(cuMemcpyDtoD, cuMemcpyDtoD_v2)                                                                              \
    F(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2)                                                                    \
    F(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2)                                                                    \
    F(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)                                                                    \
    F(cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2)                                                                \
    F(cuMemcpy2DAsync, cuMemcpy2DAsync_v2)                                                                        \
    F(cuMemcpy3DAsync, cuMemcpy3DAsync_v2)                                                                        \
    F(cuArray3DCreate, cuArray3DCreate_v2)                                                                        \
    F(cuArray3DGetDescriptor, cuArray3DGetDescriptor_v2)                                                          \
    F(cuArrayDestroy, cuArrayDestroy)                                                                             \
    F(cuTexObjectCreate, cuTexObjectCreate)                                                                       \
    F(cuTexObjectDestroy, cuTexObjectDestroy)                                                                     \
    F(cuSurfObjectCreate, cuSurfObjectCreate)                                                                     \
    F(cuSurfObjectDestroy, cuSurfObjectDestroy)                                                                   \
    F(cuMemsetD8Async, cuMemsetD8Async)                                                                           \
    F(cuMemsetD8, cuMemsetD8_v2)                                                                                  \
    F(cuMemsetD2D8Async, cuMemsetD2D8Async)                                                                       \
    F(cuStreamCreateWithPriority, cuStreamCreateWithPriority)                                                     \
    F(cuStreamDestroy, cuStreamDestroy_v2)                                                                        \
    F(cuStreamSynchronize, cuStreamSynchronize)                                                                   \
    F(cuStreamQuery, cuStreamQuery)                                                                               \
    F(cuStreamWaitEvent, cuStreamWaitEvent)                                                                       \
    F(cuStreamAddCallback, cuStreamAddCallback)                                                                   \
    F(cuStreamGetFlags, cuStreamGetFlags)                                                                         \
    F(cuStreamGetPriority, cuStreamGetPriority)                                                                   \
    F(cuStreamBeginCapture, cuStreamBeginCapture_v2)                                                              \
    F(cuStreamEndCapture, cuStreamEndCapture)                                                                     \
    F(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v3)                                                          \
    F(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode)                                       \
    F(cuGraphCreate, cuGraphCreate)                                                                               \
    F(cuGraphDestroy, cuGraphDestroy)                                                                             \
    F(cuGraphClone, cuGraphClone)                                                                                 \
    F(cuGraphNodeFindInClone, cuGraphNodeFindInClone)                                                             \
    F(cuGraphDestroyNode, cuGraphDestroyNode)                                                                     \
    F(cuGraphGetNodes, cuGraphGetNodes)                                                                           \
    F(cuGraphGetRootNodes, cuGraphGetRootNodes)                                                                   \
    F(cuGraphGetEdges, cuGraphGetEdges_v2)                                                                        \
    F(cuGraphNodeGetType, cuGraphNodeGetType)                                                                     \
    F(cuGraphNodeGetDependencies, cuGraphNodeGetDependencies_v2)                                                  \
    F(cuGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes_v2)                                              \
    F(cuGraphAddDependencies, cuGraphAddDependencies_v2)                                                          \
    F(cuGraphRemoveDependencies, cuGraphRemoveDependencies_v2)                                                    \
    F(cuGraphAddEmptyNode, cuGraphAddEmptyNode)                                                                   \
    F(cuGraphAddChildGraphNode, cuGraphAddChildGraphNode)                                                         \
    F(cuGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph)                                               \
    F(cuGraphAddHostNode, cuGraphAddHostNode)                                                                     \
    F(cuGraphHostNodeGetParams, cuGraphHostNodeGetParams)                                                         \
    F(cuGraphHostNodeSetParams, cuGraphHostNodeSetParams)                                                         \
    F(cuGraphAddKernelNode, cuGraphAddKernelNode_v2)                                                              \
    F(cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams_v2)                                                  \
    F(cuGraphKernelNodeSetParams, cuGraphKernelNodeSetParams_v2)                                                  \
    F(cuGraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams_v2)                                          \
    F(cuGraphAddMemcpyNode, cuGraphAddMemcpyNode)                                                                 \
    F(cuGraphExecMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams)                                             \
    F(cuGraphAddMemsetNode, cuGraphAddMemsetNode)                                                                 \
    F(cuGraphExecMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams)                                             \
    F(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags)                                                   \
    F(cuGraphExecGetFlags, cuGraphExecGetFlags)                                                                   \
    F(cuGraphExecHostNodeSetParams, cuGraphExecHostNodeSetParams)                                                 \
    F(cuGraphNodeSetEnabled, cuGraphNodeSetEnabled)                                                               \
    F(cuGraphNodeGetEnabled, cuGraphNodeGetEnabled)                                                               \
    F(cuGraphExecUpdate, cuGraphExecUpdate_v2)                                                                    \
    F(cuGraphExecDestroy, cuGraphExecDestroy)                                                                     \
    F(cuGraphLaunch, cuGraphLaunch)                                                                               \
    F(cuGraphUpload, cuGraphUpload)                                                                               \
    F(cuStreamIsCapturing, cuStreamIsCapturing)                                                                   \
    F(cuEventCreate, cuEventCreate)                                                                               \
    F(cuEventRecord, cuEventRecord)                                                                               \
    F(cuEventRecordWithFlags, cuEventRecordWithFlags)                                                             \
    F(cuEventQuery, cuEventQuery)                                                                                 \
    F(cuEventSynchronize, cuEventSynchronize)                                                                     \
    F(cuEventDestroy, cuEventDestroy_v2)                                                                          \
    F(cuEventElapsedTime, cuEventElapsedTime_v2)                                                                  \
    F(cuCtxSynchronize, cuCtxSynchronize)                                                                         \
    F(cuProfilerStart, cuProfilerStart)                                                                           \
    F(cuProfilerStop, cuProfilerStop)

struct DriverCalls {
#define EGPU_MEMBER(name, prototype) decltype(&::prototype) name = nullptr;
    EGPU_RUNTIME_DRIVER_FUNCTIONS(EGPU_MEMBER)
#undef EGPU_MEMBER
    decltype(&::cuGetProcAddress_v2) cuGetProcAddress = nullptr;
};

/// Fills in the functions; false where there is no driver or one that lacks a function.
bool open_driver(DriverCalls& calls);

}  // namespace egpu::simulated::runtime
