// SPDX-License-Identifier: Apache-2.0
// What the simulated GPU has not got. Programs that link with the driver need the symbols to start; a call is answered
// with "not supported" and said once. cuGetProcAddress doesn't find these.
#include <atomic>
#include <string>

#include "gpu/simulated/libcuda/driver.hpp"

using namespace egpu::simulated;

namespace {

CUresult refuse(const char* name, std::atomic<bool>& said) noexcept {
    if (!said.exchange(true)) {
        try {
            report(std::string(name) + " was called; the simulated GPU has not got it");
        } catch (...) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

// Functions with a declaration in our header.
#define REFUSE(name, parameters)              \
    CUresult name parameters {                \
        static std::atomic<bool> said{false}; \
        return refuse(#name, said);           \
    }
REFUSE(cuLinkCreate_v2, (unsigned int, CUjit_option*, void**, CUlinkState*))
REFUSE(cuLinkAddData_v2, (CUlinkState, CUjitInputType, void*, size_t, const char*, unsigned int, CUjit_option*, void**))
REFUSE(cuLinkComplete, (CUlinkState, void**, size_t*))
REFUSE(cuLinkDestroy, (CUlinkState))
REFUSE(cuStreamBeginCaptureToGraph,
       (CUstream, CUgraph, const CUgraphNode*, const CUgraphEdgeData*, size_t, CUstreamCaptureMode))
REFUSE(cuStreamBeginCaptureToGraph_ptsz,
       (CUstream, CUgraph, const CUgraphNode*, const CUgraphEdgeData*, size_t, CUstreamCaptureMode))
REFUSE(cuTensorMapEncodeTiled,
       (CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
        const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill))

// Functions egpu itself has no use for: their arguments are not looked at.
#define REFUSE_ANY(name)                                                  \
    extern "C" __attribute__((visibility("default"))) CUresult name(...); \
    REFUSE(name, (...))
REFUSE_ANY(cuMipmappedArrayCreate)
REFUSE_ANY(cuTexObjectGetResourceViewDesc)
REFUSE_ANY(cuMipmappedArrayDestroy)
REFUSE_ANY(cuModuleGetTexRef)
REFUSE_ANY(cuModuleGetSurfRef)
REFUSE_ANY(cuLinkAddFile_v2)
REFUSE_ANY(cuIpcGetMemHandle)
REFUSE_ANY(cuIpcOpenMemHandle_v2)
REFUSE_ANY(cuIpcCloseMemHandle)
REFUSE_ANY(cuIpcGetEventHandle)
REFUSE_ANY(cuIpcOpenEventHandle)
REFUSE_ANY(cuMemAddressReserve)
REFUSE_ANY(cuMemAddressFree)
REFUSE_ANY(cuMemCreate)
REFUSE_ANY(cuMemRelease)
REFUSE_ANY(cuMemMap)
REFUSE_ANY(cuMemUnmap)
REFUSE_ANY(cuMemSetAccess)
REFUSE_ANY(cuMemGetAllocationGranularity)
REFUSE_ANY(cuMemPoolCreate)
REFUSE_ANY(cuMemPoolDestroy)
REFUSE_ANY(cuMemAllocFromPoolAsync)
REFUSE_ANY(cuDeviceGetDefaultMemPool)
REFUSE_ANY(cuCtxEnablePeerAccess)
REFUSE_ANY(cuCtxDisablePeerAccess)
REFUSE_ANY(cuGreenCtxCreate)
REFUSE_ANY(cuTensorMapEncodeIm2col)
REFUSE_ANY(cuStreamWriteValue32_v2)
REFUSE_ANY(cuStreamWaitValue32_v2)
REFUSE_ANY(cuStreamBatchMemOp_v2)
REFUSE_ANY(cuImportExternalMemory)
REFUSE_ANY(cuImportExternalSemaphore)
REFUSE_ANY(cuMulticastCreate)
