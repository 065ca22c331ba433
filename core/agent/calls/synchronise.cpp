// SPDX-License-Identifier: Apache-2.0
// Calls after which the application's kernels are done: what they counted can be fetched now.
#include "agent/drain/copy_maps.hpp"
#include "agent/drain/drain.hpp"
#include "agent/driver/driver.hpp"
#include "agent/hook/entry.hpp"
#include "agent/kernels/observe.hpp"
#include "agent/maps/idle.hpp"
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

bool watched() {
    return mode() == Mode::observing && !Forwarded::nested();
}

// What is known to run in the context is waited for: a load stalls nobody.
CUresult waited(Synchronising& waiting, Place* place, CUresult result) {
    if (waiting.ended(result == CUDA_SUCCESS))
        quiet_moment(place);
    return synchronised(result);
}

template <typename Call>
CUresult context_synchronised(const Call& real) {
    if (!watched())
        return synchronised(real());
    Place* place = current_place();
    Synchronising waiting = Synchronising::context(place);
    return waited(waiting, place, real());
}

template <typename Call>
CUresult stream_synchronised(CUstream stream, StreamForm form, const Call& real) {
    if (!watched())
        return synchronised(real());
    Place* place = current_place();
    Synchronising waiting = Synchronising::stream(place, stream, form);
    return waited(waiting, place, real());
}

}  // namespace

CUresult cuCtxSynchronize(void) {
    const auto real = real_driver().cuCtxSynchronize;
    return real == nullptr ? CUDA_ERROR_NOT_SUPPORTED : context_synchronised([&] { return real(); });
}

// Of any context: copies are loaded where it is the current one.
CUresult cuCtxSynchronize_v2(CUcontext ctx) {
    const auto real = real_driver().cuCtxSynchronize_v2;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!watched())
        return synchronised(real(ctx));
    Place* current = current_place();
    Place* place = ctx == nullptr ? current : find_place(ctx);
    Synchronising waiting = Synchronising::context(place);
    return waited(waiting, place == current ? place : nullptr, real(ctx));
}

CUresult cuStreamSynchronize(CUstream hStream) {
    const auto real = real_driver().cuStreamSynchronize;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    return stream_synchronised(hStream, StreamForm::legacy, [&] { return real(hStream); });
}

CUresult cuStreamSynchronize_ptsz(CUstream hStream) {
    const auto real = real_driver().cuStreamSynchronize_ptsz;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    return stream_synchronised(hStream, StreamForm::per_thread, [&] { return real(hStream); });
}

CUresult cuEventSynchronize(CUevent hEvent) {
    const auto real = real_driver().cuEventSynchronize;
    return real == nullptr ? CUDA_ERROR_NOT_SUPPORTED : synchronised(real(hEvent));
}

// As a synchronisation of the legacy stream, in whose order it is.
CUresult cuMemcpyDtoH_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
    const auto real = real_driver().cuMemcpyDtoH_v2;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    return stream_synchronised(nullptr, StreamForm::legacy, [&] { return real(dstHost, srcDevice, ByteCount); });
}

CUresult cuMemcpyDtoH_v2_ptds(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
    const auto real = real_driver().cuMemcpyDtoH_v2_ptds;
    return real == nullptr ? CUDA_ERROR_NOT_SUPPORTED : synchronised(real(dstHost, srcDevice, ByteCount));
}
