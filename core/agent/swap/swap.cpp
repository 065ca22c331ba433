// SPDX-License-Identifier: Apache-2.0
#include "agent/swap/swap.hpp"

#include "agent/drain/copy_maps.hpp"
#include "agent/driver/driver.hpp"
#include "agent/kernels/copies.hpp"
#include "agent/kernels/inventory.hpp"
#include "agent/kernels/observe.hpp"
#include "agent/maps/device_maps.hpp"
#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

using segment::add_relaxed;
using segment::load_relaxed;
using segment::store_relaxed;

constexpr unsigned int kWarp = 32;
constinit int launched_before = 0;

bool is_capturing(const LaunchShape& shape) {
    const Driver& real = driver();
    const auto ask = shape.form == StreamForm::legacy ? real.cuStreamIsCapturing : real.cuStreamIsCapturing_ptsz;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    // An error is the legacy stream beside a capture: whether it belongs to it can't be told.
    return ask != nullptr && (ask(shape.stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE);
}

bool in_observed_context() {
    CUcontext current = nullptr;
    return driver().cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != nullptr && current == home_context();
}

bool keeps_residency(const Kernel& kernel, unsigned int threads) {
    const unsigned int warps = (threads + kWarp - 1) / kWarp;
    return warps >= 1 && warps <= 32 && ((kernel.resident_warps >> (warps - 1)) & 1) != 0;
}

bool fails_without_harm(CUresult result) {
    switch (result) {
        case CUDA_ERROR_INVALID_VALUE:
        case CUDA_ERROR_INVALID_IMAGE:
        case CUDA_ERROR_INVALID_CONTEXT:
        case CUDA_ERROR_NO_BINARY_FOR_GPU:
        case CUDA_ERROR_INVALID_PTX:
        case CUDA_ERROR_INVALID_HANDLE:
        case CUDA_ERROR_OUT_OF_MEMORY:
        case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
        case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
        case CUDA_ERROR_INVALID_CLUSTER_SIZE:
        case CUDA_ERROR_NOT_SUPPORTED:
            return true;
        default:
            return false;
    }
}

void count(egpu_kernel_counters* counters, bool instrumented) {
    const std::uint64_t now = segment::monotonic_ns();
    if (add_relaxed(counters->launches, std::uint64_t{1}) == 0)
        store_relaxed(counters->first_launch_ns, now);
    store_relaxed(counters->last_launch_ns, now);
    if (instrumented)
        add_relaxed(counters->launches_instrumented, std::uint64_t{1});
}

}  // namespace

Choice choose(CUfunction asked, const LaunchShape& shape) {
    if (!counting())
        return {asked};
    // Before the very first launch the context is idle: copies that had no context may come in now.
    if (__atomic_load_n(&launched_before, __ATOMIC_RELAXED) == 0) {
        quiet_moment();
        __atomic_store_n(&launched_before, 1, __ATOMIC_RELAXED);
    }
    const Handle handle = handles().find(asked);
    if (handle.kernel == nullptr) {
        add_relaxed(view().header().launches_unknown, std::uint64_t{1});
        return {asked};
    }
    Kernel* kernel = handle.kernel;
    const CUfunction copy = __atomic_load_n(&kernel->copy, __ATOMIC_ACQUIRE);
    Choice original{asked, kernel};
    if (copy == nullptr || mode() != Mode::observing || load_relaxed(view().header().enabled) == 0)
        return original;
    if (handle.other_context || (handle.context_free && !in_observed_context())) {
        store_relaxed(kernel->counters->copy_reason, std::uint32_t{EGPU_COPY_OTHER_CONTEXT});
        return original;
    }
    if (!keeps_residency(*kernel, shape.block_threads)) {
        store_relaxed(kernel->counters->copy_reason, std::uint32_t{EGPU_COPY_FEWER_BLOCKS});
        return original;
    }
    if (is_capturing(shape)) {
        original.captured = true;
        return original;
    }
    return {copy, kernel, true};
}

bool book(const Choice& choice, CUresult result) {
    if (choice.kernel == nullptr)
        return false;
    if (result == CUDA_SUCCESS) {
        count(choice.kernel->counters, choice.is_copy);
        if (choice.captured) {
            add_relaxed(choice.kernel->counters->launches_captured, std::uint64_t{1});
            add_relaxed(view().header().launches_captured, std::uint64_t{1});
        }
        return false;
    }
    if (is_sticky(result)) {
        report_lost_device(result);
        run_originals();
        return false;
    }
    return choice.is_copy && fails_without_harm(result);
}

void original_took_over(const Choice& choice, CUresult copy_result, CUresult original_result) {
    // Where the original fails as well, it was the call, not the copy.
    if (original_result == CUDA_SUCCESS)
        retire_copy(choice.kernel, EGPU_COPY_LOAD_FAILED, copy_result);
}

}  // namespace egpu::agent
