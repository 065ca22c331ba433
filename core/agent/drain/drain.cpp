// SPDX-License-Identifier: Apache-2.0
#include "agent/drain/drain.hpp"

#include <pthread.h>
#include <signal.h>

#include <climits>

#include "agent/commands/commands.hpp"
#include "agent/drain/copy_maps.hpp"
#include "agent/driver/driver.hpp"
#include "agent/kernels/observe.hpp"
#include "agent/maps/places.hpp"
#include "agent/maps/records.hpp"
#include "agent/session/held.hpp"
#include "agent/session/lock.hpp"
#include "agent/session/session.hpp"
#include "agent/timing/timers.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

using segment::futex_wait;
using segment::futex_wake;
using segment::load_acquire;
using segment::load_relaxed;
using segment::monotonic_ns;

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kFinalLimit = 200 * kMillisecond;
constexpr std::uint64_t kGap = 10 * kMillisecond;  // between two drains, however often the application synchronises
constexpr std::uint32_t kShortestInterval = 1'000, kLongestInterval = 1'000'000;  // us
constexpr std::size_t kStackBytes = 512 * 1024;                                   // the driver's copy calls run on it

constinit int running = 0;
constinit int sleeping = 0;
constinit std::uint32_t synchronised = 0;
constinit std::uint32_t final_wanted = 0;  // number of final drains asked for
constinit std::uint32_t final_done = 0;    // the last of them that came through
constinit int final_complete = 0;          // whether that one copied all maps
constinit int lost = 0;                    // a context ended without its last copy
constinit Place* final_place = nullptr;    // whose end is waited for; null: of all
constinit Mutex asking_lock;               // one final drain is asked for at a time
constinit Mutex device_lock;               // held while the drain is inside the driver

template <typename T>
T get(const T& word) {
    return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}
template <typename T>
void set(T& word, T value) {
    __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

std::uint64_t interval_ns() {
    std::uint32_t us = load_relaxed(view().header().drain_interval_us);
    us = us < kShortestInterval ? kShortestInterval : us > kLongestInterval ? kLongestInterval : us;
    return std::uint64_t{us} * 1000;
}

CUresult settle(const Place& place) {
    if (!is_equipped(place) || driver().cuCtxSynchronize == nullptr)
        return CUDA_SUCCESS;
    const CUresult result = driver().cuCtxSetCurrent(place.context);
    return result == CUDA_SUCCESS ? driver().cuCtxSynchronize() : result;
}

// Maps, and times of launches.
CUresult copy_all(bool last = false) {
    const CUresult result = copy_all_maps(last);
    if (result == CUDA_SUCCESS)
        collect_times();
    return result;
}

CUresult drain_once() {
    const Lock lock(device_lock);
    const OwnCalls own;
    return own.relaxed() ? copy_all() : CUDA_ERROR_NOT_READY;
}

// Copies what is there, lets the contexts finish what was launched, copies again.
CUresult drain_finally() {
    const Lock lock(device_lock);
    const OwnCalls own;
    CUresult result = own.relaxed() ? copy_all() : CUDA_ERROR_NOT_READY;
    for (unsigned int i = 0; i < places_used() && result == CUDA_SUCCESS; ++i)
        if (get(final_place) == nullptr || get(final_place) == &place_at(i))
            result = settle(place_at(i));
    if (result == CUDA_SUCCESS)
        result = copy_all(true);
    // The egpu process makes room as it reads: what did not fit may then.
    const std::uint64_t deadline = monotonic_ns() + kFinalLimit / 2;
    while (result == CUDA_SUCCESS && records_are_behind() && monotonic_ns() < deadline && host_alive(false)) {
        futex_wait(final_wanted, get(final_wanted), kMillisecond);
        result = copy_all(true);
    }
    return result;
}

void after(CUresult result) {
    if (!is_sticky(result))
        return;
    report_lost_device(result);
    run_originals();
}

// Sleeps until the interval is over, the egpu process asks, or the application synchronised or ends. One futex word for
// all of it: the egpu process's own; wakes from inside come without a change of it.
void sleep_until_needed(std::uint32_t seen_request, std::uint32_t seen_synchronised) {
    set(sleeping, 1);
    if (get(final_wanted) == get(final_done) && get(synchronised) == seen_synchronised)
        futex_wait(view().header().drain_request, seen_request, interval_ns());
    set(sleeping, 0);
}

void look_after_host() {
    if (mode() != Mode::observing)
        return;
    if (!host_alive(false))
        run_originals();
}

void* drain_thread(void*) {
    std::uint64_t last = 0;
    while (mode() != Mode::silent) {
        egpu_segment_header& header = view().header();
        const std::uint32_t request = load_acquire(header.drain_request), synchronisations = get(synchronised);
        const std::uint32_t wanted = get(final_wanted);
        const bool last_one = wanted != get(final_done);
        const std::uint64_t now = monotonic_ns();
        if (!last_one && now - last < kGap) {
            // Woken again at once: gather what else comes.
            futex_wait(final_wanted, wanted, kGap - (now - last));
            continue;
        }
        last = now;
        look_after_host();
        take_commands();
        segment::store_relaxed(header.agent_heartbeat_ns, now);
        bool complete = false;
        if (mode() == Mode::observing && last_one) {
            const CUresult result = drain_finally();
            complete = result == CUDA_SUCCESS;
            after(result);
        } else if (mode() == Mode::observing && !load_in_progress()) {
            after(drain_once());
            take_in_late_answers();
        }
        if (last_one) {
            set(final_complete, complete ? 1 : 0);
            set(final_done, wanted);
            futex_wake(final_done);
            continue;
        }
        if (!records_are_waiting())
            sleep_until_needed(request, synchronisations);
    }
    return nullptr;
}

void wake() {
    futex_wake(view().header().drain_request);
    futex_wake(final_wanted);
}

// Whether the drain thread finished final drain number `mine` in time.
bool wait_for_final(std::uint32_t mine) {
    const std::uint64_t deadline = monotonic_ns() + kFinalLimit;
    for (std::uint32_t done = get(final_done); static_cast<std::int32_t>(done - mine) < 0; done = get(final_done)) {
        const std::uint64_t now = monotonic_ns();
        if (now >= deadline)
            return false;
        wake();  // again and again: it may have been on its way to sleep
        futex_wait(final_done, done, 5 * kMillisecond);
    }
    return true;
}

}  // namespace

bool start_drain() {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    const bool made = pthread_create(&thread, &attributes, drain_thread, nullptr) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (made)
        pthread_setname_np(thread, "egpu-drain");
    set(running, made ? 1 : 0);
    return made;
}

void application_synchronised() {
    if (mode() != Mode::observing)
        return;
    __atomic_add_fetch(&synchronised, 1, __ATOMIC_ACQ_REL);
    if (get(sleeping) != 0)
        futex_wake(view().header().drain_request);
}

bool final_copies(Place* place) {
    if (mode() != Mode::observing || !is_own_process() || get(running) == 0)
        return false;
    if (!any_equipped())
        return true;
    const Held held;
    if (!asking_lock.lock_within(kFinalLimit))
        return false;
    set(final_place, place);
    const std::uint32_t mine = __atomic_add_fetch(&final_wanted, 1, __ATOMIC_ACQ_REL);
    const bool came = wait_for_final(mine) && get(final_complete) != 0;
    asking_lock.unlock();
    return came && load_relaxed(view().header().agent_error) == 0;
}

void maps_lost() {
    set(lost, 1);
}

void mark_drained(egpu_end_reason reason) {
    egpu_segment_header& header = view().header();
    if (get(lost) != 0)
        return;
    if (segment::load_acquire(header.state) >= EGPU_SESSION_DRAINED && !any_equipped() && reason != EGPU_END_CONTEXT)
        return;  // the end of the last context was it
    segment::store_relaxed(header.end_reason, static_cast<std::uint32_t>(reason));
    segment::raise(header.state, std::uint32_t{EGPU_SESSION_DRAINED});
}

DrainPaused::DrainPaused() {
    const Held held;
    locked_ = device_lock.lock_within(kFinalLimit);
}

DrainPaused::~DrainPaused() {
    if (locked_)
        device_lock.unlock();
}

}  // namespace egpu::agent
