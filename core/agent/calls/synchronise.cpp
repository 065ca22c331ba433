// SPDX-License-Identifier: Apache-2.0
// Calls after which the application's kernels are done: what they counted can be fetched now.
#include "agent/drain/copy_maps.hpp"
#include "agent/drain/drain.hpp"
#include "agent/driver/driver.hpp"
#include "agent/hook/entry.hpp"
#include "agent/kernels/observe.hpp"
#include "agent/session/session.hpp"

using namespace egpu::agent;

namespace {

CUresult synchronised(CUresult result) {
    if (!counting() || Forwarded::nested())
        return result;
    if (result == CUDA_SUCCESS) {
        application_synchronised();
    } else if (is_sticky(result)) {
        report_lost_device(result);
        run_originals();
    }
    return result;
}

// The whole context is idle: a load stalls nobody.
CUresult idle(CUresult result) {
    if (result == CUDA_SUCCESS && !Forwarded::nested())
        quiet_moment();
    return synchronised(result);
}

}  // namespace

CUresult cuCtxSynchronize(void) {
    const auto real = real_driver().cuCtxSynchronize;
    return real == nullptr ? CUDA_ERROR_NOT_SUPPORTED : idle(real());
}

CUresult cuCtxSynchronize_v2(CUcontext ctx) {
    const auto real = real_driver().cuCtxSynchronize_v2;
    return real == nullptr ? CUDA_ERROR_NOT_SUPPORTED : idle(real(ctx));
}

CUresult cuStreamSynchronize(CUstream hStream) {
    const auto real = real_driver().cuStreamSynchronize;
    return real == nullptr ? CUDA_ERROR_NOT_SUPPORTED : synchronised(real(hStream));
}

CUresult cuStreamSynchronize_ptsz(CUstream hStream) {
    const auto real = real_driver().cuStreamSynchronize_ptsz;
    return real == nullptr ? CUDA_ERROR_NOT_SUPPORTED : synchronised(real(hStream));
}

CUresult cuEventSynchronize(CUevent hEvent) {
    const auto real = real_driver().cuEventSynchronize;
    return real == nullptr ? CUDA_ERROR_NOT_SUPPORTED : synchronised(real(hEvent));
}

CUresult cuMemcpyDtoH_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
    const auto real = real_driver().cuMemcpyDtoH_v2;
    return real == nullptr ? CUDA_ERROR_NOT_SUPPORTED : synchronised(real(dstHost, srcDevice, ByteCount));
}

CUresult cuMemcpyDtoH_v2_ptds(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
    const auto real = real_driver().cuMemcpyDtoH_v2_ptds;
    return real == nullptr ? CUDA_ERROR_NOT_SUPPORTED : synchronised(real(dstHost, srcDevice, ByteCount));
}
