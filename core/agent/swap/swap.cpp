// SPDX-License-Identifier: Apache-2.0
#include "agent/swap/swap.hpp"

#include "agent/drain/copy_maps.hpp"
#include "agent/driver/driver.hpp"
#include "agent/graphs/recorded.hpp"
#include "agent/kernels/constants.hpp"
#include "agent/kernels/copies.hpp"
#include "agent/kernels/inventory.hpp"
#include "agent/kernels/observe.hpp"
#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

using segment::add_relaxed;
using segment::load_relaxed;
using segment::store_relaxed;

constinit int captured_before = 0;

enum class Capture { none, active, unknown };

// Unknown: the legacy stream beside a capture (which a launch there would end), or the driver doesn't say.
Capture capture_of(CUstream stream, StreamForm form) {
    const Driver& real = driver();
    const auto ask = form == StreamForm::legacy ? real.cuStreamIsCapturing : real.cuStreamIsCapturing_ptsz;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (ask == nullptr)
        return Capture::none;
    if (ask(stream, &status) != CUDA_SUCCESS)
        return Capture::unknown;
    return status != CU_STREAM_CAPTURE_STATUS_NONE ? Capture::active : Capture::none;
}

// The application must be able to ask the node for its original.
bool may_be_recorded(const Copy& copy, CUfunction asked, const Place& place) {
    const OwnCalls own;
    return record_copy(copy, asked, place.context);
}

// Of the launches of a kernel that could run its copy, the first and then every N-th do. Two threads that launch at
// once take different turns.
bool has_its_turn(egpu_kernel_counters* counters) {
    const std::uint32_t one_in = load_relaxed(view().header().sample_launches);
    return one_in <= 1 || add_relaxed(counters->sample_turns, std::uint32_t{1}) % one_in == 0;
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

void count(egpu_kernel_counters* counters, const Choice& choice) {
    const std::uint64_t now = segment::monotonic_ns();
    if (add_relaxed(counters->launches, std::uint64_t{1}) == 0)
        store_relaxed(counters->first_launch_ns, now);
    store_relaxed(counters->last_launch_ns, now);
    if (choice.left_out)
        add_relaxed(counters->launches_left_out, std::uint64_t{1});
    if (!choice.is_copy)
        return;
    add_relaxed(counters->launches_instrumented, std::uint64_t{1});
    add_relaxed(choice.counters->launches, std::uint64_t{1});
    if (choice.banked)
        add_relaxed(choice.counters->launches_banked, std::uint64_t{1});
}

}  // namespace

namespace {

void say_reason(const Kernel& kernel, egpu_copy_reason reason) {
    store_relaxed(kernel.counters->copy_reason, std::uint32_t{reason});
}

// The copy that is there, or can be brought in without keeping anybody waiting for the GPU.
Copy* copy_in(const Kernel& kernel, Place* place) {
    if (place == nullptr) {
        if (__atomic_load_n(&kernel.image->copy_count, __ATOMIC_RELAXED) != 0)
            say_reason(kernel, EGPU_COPY_OTHER_CONTEXT);
        return nullptr;
    }
    const unsigned int index = index_of(*place);
    Copy* copy = current_copy(kernel, index);
    if (copy != nullptr || !copies_wait(*place) || !lacks_copies(*kernel.image, index))
        return copy;
    if (load_before_launch(place))
        return current_copy(kernel, index);
    say_reason(kernel, EGPU_COPY_LATE);
    return nullptr;
}

}  // namespace

void capture_begins() {
    __atomic_store_n(&captured_before, 1, __ATOMIC_RELAXED);
}

bool is_recorded(CUstream stream, StreamForm form) {
    return __atomic_load_n(&captured_before, __ATOMIC_RELAXED) != 0 && capture_of(stream, form) == Capture::active;
}

void graph_queued(CUstream stream, StreamForm form) {
    if (several_places())
        return everything_may_be_busy();  // its nodes may be of any context
    if (Place* place = place_of(stream); place != nullptr)
        work_queued(*place, stream, form);
}

Choice choose(CUfunction asked, const LaunchShape& shape) {
    if (!counting())
        return {asked};
    const Handle handle = handles().find(asked);
    Kernel* kernel = handle.kernel;
    Place* place = nullptr;
    if (kernel == nullptr || handle.context_free)
        place = place_of(shape.stream);  // as cuda.h says of a kernel of a library
    else if (kernel->home != kNoPlace)
        place = &place_at(kernel->home);
    bool recorded = shape.recorded || is_recorded(shape.stream, shape.form);
    Copy* copy = kernel != nullptr ? copy_in(*kernel, place) : nullptr;
    if (place != nullptr && !recorded)
        work_queued(*place, shape.stream, shape.form);
    if (kernel == nullptr) {
        if (!recorded)
            add_relaxed(view().header().launches_unknown, std::uint64_t{1});
        return {asked};
    }
    const Choice original{asked, kernel, false, recorded};
    if (copy == nullptr || mode() != Mode::observing || load_relaxed(view().header().enabled) == 0)
        return original;
    if (!keeps_residency(&copy->functions, shape.block)) {
        say_reason(*kernel, EGPU_COPY_FEWER_BLOCKS);
        return original;
    }
    // A copy in a graph that nobody knows of would be the application's to find: here the stream is always asked.
    const Capture capture = recorded ? Capture::active : capture_of(shape.stream, shape.form);
    if (capture == Capture::unknown)
        return original;
    recorded = capture == Capture::active;
    // A node stays what it is over all replays: it takes no turns, and its launches all run the copy.
    if (!recorded && !has_its_turn(kernel->counters))
        return {.function = asked, .kernel = kernel, .left_out = true};
    if (recorded && !may_be_recorded(*copy, asked, *place))
        return {.function = asked, .kernel = kernel, .recorded = recorded};
    const CUfunction banked = recorded ? nullptr : refreshed(copy, place, shape.block, shape.stream, shape.form);
    return {.function = banked != nullptr ? banked : copy->functions.copy,
            .kernel = kernel,
            .is_copy = true,
            .recorded = recorded,
            .place = index_of(*place),
            .counters = copy->counters,
            .banked = banked != nullptr};
}

Choice original_only(CUfunction asked) {
    if (!counting())
        return {asked};
    const Handle handle = handles().find(asked);
    if (handle.kernel == nullptr)
        add_relaxed(view().header().launches_unknown, std::uint64_t{1});
    return {asked, handle.kernel};
}

bool book(const Choice& choice, CUresult result) {
    if (choice.kernel == nullptr)
        return false;
    if (result == CUDA_SUCCESS) {
        if (!choice.recorded)
            count(choice.kernel->counters, choice);
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
        retire_copy(choice.kernel, choice.place, EGPU_COPY_LOAD_FAILED, copy_result);
}

}  // namespace egpu::agent
