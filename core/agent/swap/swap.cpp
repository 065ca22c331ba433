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
#include "agent/timing/timers.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

using segment::add_relaxed;
using segment::load_relaxed;
using segment::store_relaxed;

// Captures that were begun and not ended. One that ends with its stream stays in it: launches then ask for nothing.
constinit std::uint32_t captures_under_way = 0;

Capture ask_capture(CUstream stream, StreamForm form) {
    const Driver& real = driver();
    const auto ask = form == StreamForm::legacy ? real.cuStreamIsCapturing : real.cuStreamIsCapturing_ptsz;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (ask == nullptr)
        return Capture::none;  // a driver without it has no captures
    if (ask(stream, &status) != CUDA_SUCCESS)
        return Capture::unknown;
    return status != CU_STREAM_CAPTURE_STATUS_NONE ? Capture::active : Capture::none;
}

// The application must be able to ask the node for its original.
bool may_be_recorded(const Copy& copy, CUfunction asked, const Place& place) {
    const OwnCalls own;
    return record_copy(copy, asked, place.context);
}

// Of the launches of a kernel that could run its copy, those inside the window do: the first of them and then every
// N-th. Two threads that launch at once take different turns. Where the answer stays the same from now on, no turn is
// taken: the number never comes round.
[[gnu::noinline]] bool takes_its_turn(const egpu_segment_header& header, egpu_kernel_counters* counters) {
    const std::uint32_t skip = load_relaxed(header.launch_skip), count = load_relaxed(header.launch_count);
    const std::uint32_t one_in = load_relaxed(header.sample_launches);
    const std::uint32_t next = load_relaxed(counters->sample_turns);
    if (count != 0 && next >= skip + count)
        return false;
    if (count == 0 && one_in <= 1 && next >= skip)
        return true;
    const std::uint32_t turn = add_relaxed(counters->sample_turns, std::uint32_t{1});
    return turn >= skip && (count == 0 || turn < skip + count) && (one_in <= 1 || (turn - skip) % one_in == 0);
}

bool has_its_turn(const egpu_segment_header& header, egpu_kernel_counters* counters) {
    return load_relaxed(header.takes_turns) == 0 || takes_its_turn(header, counters);
}

TimedShape timed_shape(const LaunchShape& shape) {
    const BlockShape& block = shape.block;
    return {.grid = {shape.grid.x, shape.grid.y, shape.grid.z},
            .block = {shape.threads.x, shape.threads.y, shape.threads.z},
            .shared_bytes = block.shared_bytes,
            .cluster = {block.cluster[0], block.cluster[1], block.cluster[2]},
            .cooperative = block.cooperative};
}

std::uint32_t index_of(const Copy& copy) {
    return static_cast<std::uint32_t>(copy.counters - view().copies().data());
}

// While overhead is measured each launch's turn depends on the one before it of the same shape. Its time begins here:
// what is queued for a copy before it belongs to it.
[[gnu::noinline]] bool has_its_turn_in_pair(Copy* copy, const Place& place, const LaunchShape& shape,
                                            TimedLaunch* timed) {
    const Turn turn = next_turn(place, &copy->pairing, index_of(*copy), key_of(timed_shape(shape)));
    *timed = turn.timed;
    begin_time(*timed, shape.stream, shape.form);
    return turn.runs_copy;
}

// From here on nothing else is queued before the launch.
[[gnu::noinline]] void time_now_and_then(Copy* copy, const Place& place, const LaunchShape& shape, TimedLaunch* timed) {
    if (!may_follow_other_work(shape.block.config))
        return;
    *timed = next_alone(place, &copy->pairing, index_of(*copy));
    begin_time(*timed, shape.stream, shape.form);
}

bool runs_copy(const egpu_segment_header& header, const Kernel& kernel, Copy* copy, const Place& place,
               const LaunchShape& shape, TimedLaunch* timed) {
    if (has_timers(place) && load_relaxed(header.measure_overhead) != 0 && may_follow_other_work(shape.block.config))
        return has_its_turn_in_pair(copy, place, shape, timed);
    return has_its_turn(header, kernel.counters);
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

// Once each: what was, or may have been, recorded is counted when its graph is launched.
void count(const Choice& choice) {
    if (choice.capture == Capture::active)
        return;
    egpu_segment_header& header = view().header();
    if (choice.capture == Capture::unknown || choice.kernel == nullptr) {
        const bool unasked = choice.capture == Capture::unknown;
        add_relaxed(unasked ? header.launches_unasked : header.launches_unknown, std::uint64_t{1});
        return;
    }
    egpu_kernel_counters* counters = choice.kernel->counters;
    add_relaxed(counters->launches, std::uint64_t{1});
    if (choice.left_out)
        add_relaxed(counters->launches_left_out, std::uint64_t{1});
    if (!choice.is_copy)
        return;
    add_relaxed(counters->launches_instrumented, std::uint64_t{1});
    add_relaxed(choice.counters->launches, std::uint64_t{1});
    if (choice.banked)
        add_relaxed(choice.counters->launches_banked, std::uint64_t{1});
}

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
    if (copy == nullptr && load_relaxed(kernel.image->late) != 0)
        say_reason(kernel, EGPU_COPY_LATE);
    if (copy != nullptr || !copies_wait(*place) || !lacks_copies(*kernel.image, index))
        return copy;
    if (load_before_launch(place))
        return current_copy(kernel, index);
    say_reason(kernel, EGPU_COPY_LATE);
    return nullptr;
}

}  // namespace

void capture_begins() {
    __atomic_add_fetch(&captures_under_way, 1, __ATOMIC_SEQ_CST);
}

void capture_ended() {
    std::uint32_t now = load_relaxed(captures_under_way);
    while (now != 0 && !__atomic_compare_exchange_n(&captures_under_way, &now, now - 1, false, __ATOMIC_SEQ_CST,
                                                    __ATOMIC_RELAXED)) {
    }
}

Capture capture_of(CUstream stream, StreamForm form) {
    return load_relaxed(captures_under_way) == 0 ? Capture::none : ask_capture(stream, form);
}

void graph_queued(CUstream stream, StreamForm form) {
    if (several_places())
        return everything_may_be_busy();  // its nodes may be of any context
    if (Place* place = place_of(stream); place != nullptr)
        work_queued(*place, stream, form);
}

bool context_idle(CUstream stream) {
    const Place* place = several_places() ? nullptr : place_of(stream);
    return place != nullptr && is_idle(*place);
}

Choice choose(CUfunction asked, const LaunchShape& shape, TimedLaunch* timed) {
    const Mode now = mode();
    if (!is_counting(now))
        return {asked};
    const egpu_segment_header& header = view().header();
    const Handle handle = handles().find(asked);
    Kernel* kernel = handle.kernel;
    Place* place = nullptr;
    if (kernel == nullptr || handle.context_free)
        place = place_of(shape.stream);  // as cuda.h says of a kernel of a library
    else if (kernel->home != kNoPlace)
        place = &place_at(kernel->home);
    const Capture capture = shape.recorded ? Capture::active : capture_of(shape.stream, shape.form);
    Copy* copy = kernel != nullptr ? copy_in(*kernel, place) : nullptr;
    if (place != nullptr && capture != Capture::active)
        work_queued(*place, shape.stream, shape.form);
    const Choice original{.function = asked, .kernel = kernel, .counted = true, .capture = capture};
    if (copy == nullptr || now != Mode::observing || load_relaxed(header.enabled) == 0)
        return original;
    if (!keeps_residency(&copy->functions, shape.block)) {
        say_reason(*kernel, EGPU_COPY_FEWER_BLOCKS);
        return original;
    }
    // A copy in a graph that nobody knows of would be the application's to find.
    if (capture == Capture::unknown) {
        say_reason(*kernel, EGPU_COPY_CAPTURE_UNKNOWN);
        return original;
    }
    const bool recorded = capture == Capture::active;
    // A node stays what it is over all replays: it takes no turns, and its launches all run the copy.
    if (!recorded && !runs_copy(header, *kernel, copy, *place, shape, timed))
        return {.function = asked, .kernel = kernel, .counted = true, .left_out = true};
    if (recorded && !may_be_recorded(*copy, asked, *place))
        return original;
    const CUfunction banked = recorded ? nullptr : refreshed(copy, place, shape.block, shape.stream, shape.form);
    if (!recorded && has_timers(*place) && is_due(copy->pairing) && load_relaxed(header.measure_overhead) == 0)
        time_now_and_then(copy, *place, shape, timed);
    return {.function = banked != nullptr ? banked : copy->functions.copy,
            .kernel = kernel,
            .counted = true,
            .is_copy = true,
            .capture = capture,
            .place = index_of(*place),
            .counters = copy->counters,
            .banked = banked != nullptr};
}

Choice original_only(CUfunction asked) {
    if (!counting())
        return {asked};
    return {.function = asked, .kernel = handles().find(asked).kernel, .counted = true};
}

bool book(const Choice& choice, CUresult result) {
    if (!choice.counted)
        return false;
    if (result == CUDA_SUCCESS) {
        count(choice);
        return false;
    }
    if (choice.kernel == nullptr)
        return false;
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
