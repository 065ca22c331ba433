// SPDX-License-Identifier: Apache-2.0
// Contexts begin (copies that had none may come in) and end (a last drain before, nothing of them touched after).
#include "agent/drain/drain.hpp"
#include "agent/driver/driver.hpp"
#include "agent/graphs/instances.hpp"
#include "agent/graphs/recorded.hpp"
#include "agent/hook/entry.hpp"
#include "agent/kernels/observe.hpp"
#include "agent/maps/places.hpp"
#include "agent/session/session.hpp"

using namespace egpu::agent;

namespace {

bool watched() {
    return counting() && !Forwarded::nested();
}

// From here on the context is not ours. `complete`: its maps were copied a last time.
void let_go(Place* place, const DrainPaused& drain, bool complete) {
    forget_recorded(place->context);
    instances_lose_context(place->context, index_of(*place));
    if (!complete && is_equipped(*place))
        maps_lost();
    if (context_ends(place, drain.is_paused()) && complete)
        mark_drained(EGPU_END_CONTEXT);
}

CUresult destroy(CUresult (*real)(CUcontext), CUcontext context) {
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    Place* place = watched() ? find_place(context) : nullptr;
    if (place == nullptr) {
        const Forwarded forwarded;
        return real(context);
    }
    const bool complete = final_copies(place);
    const DrainPaused drain;
    let_go(place, drain, complete);
    const Forwarded forwarded;
    return real(context);
}

bool primary_is_active(CUdevice device) {
    unsigned int flags = 0;
    int active = 0;
    const auto ask = driver().cuDevicePrimaryCtxGetState;
    return ask == nullptr || ask(device, &flags, &active) != CUDA_SUCCESS || active != 0;
}

Place* primary_place(CUdevice device) {
    for (unsigned int i = 0; i < places_used(); ++i)
        if (find_place(place_at(i).context) != nullptr && place_at(i).primary && place_at(i).device == device)
            return &place_at(i);
    return nullptr;
}

// Release and reset: a release of one of several references leaves the context as it is.
CUresult end_primary(CUresult (*real)(CUdevice), CUdevice device, bool certain) {
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    Place* place = watched() ? primary_place(device) : nullptr;
    if (place == nullptr) {
        const Forwarded forwarded;
        return real(device);
    }
    const bool complete = final_copies(place);
    const DrainPaused drain;
    if (certain)
        let_go(place, drain, complete);
    CUresult result;
    {
        const Forwarded forwarded;
        result = real(device);
    }
    if (!certain && result == CUDA_SUCCESS && !primary_is_active(device))
        let_go(place, drain, complete);
    return result;
}

}  // namespace

CUresult cuCtxCreate_v2(CUcontext* pctx, unsigned int flags, CUdevice dev) {
    const auto real = real_driver().cuCtxCreate_v2;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(pctx, flags, dev);
    if (result == CUDA_SUCCESS && watched())
        context_began(*pctx, dev, false);
    return result;
}

CUresult cuCtxCreate_v3(CUcontext* pctx, CUexecAffinityParam* paramsArray, int numParams, unsigned int flags,
                        CUdevice dev) {
    const auto real = real_driver().cuCtxCreate_v3;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(pctx, paramsArray, numParams, flags, dev);
    if (result == CUDA_SUCCESS && watched())
        context_began(*pctx, dev, false);
    return result;
}

CUresult cuCtxCreate_v4(CUcontext* pctx, CUctxCreateParams* ctxCreateParams, unsigned int flags, CUdevice dev) {
    const auto real = real_driver().cuCtxCreate_v4;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(pctx, ctxCreateParams, flags, dev);
    if (result == CUDA_SUCCESS && watched())
        context_began(*pctx, dev, false);
    return result;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
    const auto real = real_driver().cuDevicePrimaryCtxRetain;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(pctx, dev);
    if (result == CUDA_SUCCESS && watched())
        context_began(*pctx, dev, true);
    return result;
}

CUresult cuCtxDestroy(CUcontext ctx) {
    return destroy(real_driver().cuCtxDestroy, ctx);
}

CUresult cuCtxDestroy_v2(CUcontext ctx) {
    return destroy(real_driver().cuCtxDestroy_v2, ctx);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev) {
    return end_primary(real_driver().cuDevicePrimaryCtxRelease, dev, false);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
    return end_primary(real_driver().cuDevicePrimaryCtxRelease_v2, dev, false);
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev) {
    return end_primary(real_driver().cuDevicePrimaryCtxReset, dev, true);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
    return end_primary(real_driver().cuDevicePrimaryCtxReset_v2, dev, true);
}
