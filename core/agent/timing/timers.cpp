// SPDX-License-Identifier: Apache-2.0
#include "agent/timing/timers.hpp"

#include <cstdlib>
#include <new>

#include "agent/driver/driver.hpp"
#include "agent/session/session.hpp"
#include "agent/timing/logarithm.hpp"
#include "segment/access/copy_times.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

// A launch's events, and how far it is. `state` is written by the launching thread last.
enum HalfState : std::uint32_t { kPending = 0, kRecorded = 1, kLost = 2 };
struct TimedHalf {
    CUevent begin = nullptr, end = nullptr;
    std::uint32_t state = kPending;
    bool begun = false;  // of the launching thread
};

// A pair of launches. It belongs to the launches from next_turn() on until the collector has seen both of them end.
struct TimerSlot {
    TimedHalf half[2];
    std::uint32_t single = 0;  // another pair took its place: no second launch will come
    bool alone = false;        // no pair: one launch of a copy. This and the next four before others see it
    bool first_runs_copy = false;
    std::uint32_t copy = 0;
    std::uint64_t* place_of_word = nullptr;
    std::uint64_t word = 0;
    std::uint64_t since = 0;  // of the collector: when it first saw that the second launch is missing
};

namespace {

using segment::load_acquire;
using segment::load_relaxed;
using segment::store_relaxed;
using segment::store_release;

constexpr unsigned int kSlots = 256;  // pairs in flight between two drains; fewer than kNoSlot
constexpr unsigned int kAloneSlots = 64;
// Of a copy's launches, so many at the start and then one between two drains are timed: a short run is to have figures,
// a long one is not to notice.
constexpr std::uint64_t kFirstLaunches = 17;  // the first of all has to load the function: it is not timed
constexpr unsigned int kWord = 64;
constexpr std::uint64_t kLongestPair = 2'000'000'000;  // ns: so long a first launch waits for its second
static_assert(kSlots < kNoSlot && kSlots % kWord == 0);

struct Pool {
    std::uint64_t free[kSlots / kWord] = {};  // atomic; bit i: slot i is to be had
    unsigned int slots = 0;                   // that have all their events
    TimerSlot slot[kSlots];
};

constinit Pool* pools[kMostPlaces] = {};  // atomic; null: launches of the place take no turns
// The same memory for each context that the place has had; never freed: a launch may hold it.
constinit Pool* memory_of[kMostPlaces] = {};
constinit std::uint32_t drains = 1;  // atomic; raised by the collector

Pool* pool_of(const Place& place) {
    return load_acquire(pools[index_of(place)]);
}

bool make_events(TimerSlot& slot, bool for_pairs) {
    for (unsigned int i = 0; i < (for_pairs ? 2u : 1u); ++i)
        for (CUevent* event : {&slot.half[i].begin, &slot.half[i].end})
            if (driver().cuEventCreate(event, CU_EVENT_DEFAULT) != CUDA_SUCCESS)
                return false;
    return true;
}

unsigned int take_slot(Pool& pool) {
    for (unsigned int i = 0; i < kSlots / kWord; ++i) {
        std::uint64_t bits = load_relaxed(pool.free[i]);
        while (bits != 0) {
            const std::uint64_t lowest = bits & (~bits + 1);
            if (__atomic_compare_exchange_n(&pool.free[i], &bits, bits & ~lowest, true, __ATOMIC_ACQUIRE,
                                            __ATOMIC_RELAXED))
                return i * kWord + static_cast<unsigned int>(__builtin_ctzll(lowest));
        }
    }
    return kNoSlot;
}

// As it was taken: free slots are all alike, so that the collector never sees a former pair in one.
void give_slot_back(Pool& pool, unsigned int index) {
    TimerSlot& slot = pool.slot[index];
    slot.since = 0;
    slot.alone = false;
    store_relaxed(slot.single, 0u);
    for (TimedHalf& half : slot.half)
        store_relaxed(half.state, std::uint32_t{kPending});
    __atomic_fetch_or(&pool.free[index / kWord], std::uint64_t{1} << (index % kWord), __ATOMIC_RELEASE);
}

bool is_free(const Pool& pool, unsigned int index) {
    return (load_acquire(pool.free[index / kWord]) >> (index % kWord) & 1) != 0;
}

TimedLaunch launch_in(Pool& pool, unsigned int slot, unsigned int half) {
    return slot == kNoSlot ? TimedLaunch{} : TimedLaunch{&pool.slot[slot], half};
}

// The open pair of that shape, where there is one: it is the caller's to finish.
bool close_pair(Pairing& pairing, std::uint64_t key, OpenPair* open) {
    for (std::uint64_t& word : pairing.open) {
        const std::uint64_t seen = load_acquire(word);
        *open = OpenPair::of(seen);
        if (OpenPair::is_open(seen) && open->key == (key & OpenPair::kKey) &&
            segment::replace_if(word, seen, std::uint64_t{0}))
            return true;
    }
    return false;
}

// Where a pair may be opened; null: of as many as can be open at a time, none gives way. One in 16 times another does:
// shapes that come in turn are to find theirs again, and one that never comes again is not to stay for ever.
std::uint64_t* room_for_pair(Pairing& pairing) {
    constexpr std::uint64_t kOneIn = 16;
    for (std::uint64_t& word : pairing.open)
        if (!OpenPair::is_open(load_relaxed(word)))
            return &word;
    const std::uint64_t without = segment::add_relaxed(pairing.without_room, std::uint64_t{1});
    return mixed(without) % kOneIn == 0 ? &pairing.open[mixed(without) / kOneIn % Pairing::kOpen] : nullptr;
}

void begin_pair(Pool& pool, std::uint64_t* word, const OpenPair& open, std::uint32_t copy) {
    if (open.slot != kNoSlot) {
        TimerSlot& slot = pool.slot[open.slot];
        slot.first_runs_copy = open.first_runs_copy;
        slot.copy = copy;
        slot.place_of_word = word;
        slot.word = open.word();
    }
    const std::uint64_t before = __atomic_exchange_n(word, open.word(), __ATOMIC_ACQ_REL);
    const OpenPair ended = OpenPair::of(before);
    if (OpenPair::is_open(before) && ended.slot != kNoSlot)
        store_release(pool.slot[ended.slot].single, 1u);
}

// ---- the collector ----------------------------------------------------------------------------------------------

enum class Progress { done, running, lost };

Progress progress_of(const TimedHalf& half) {
    const CUresult result = driver().cuEventQuery(half.end);
    return result == CUDA_SUCCESS           ? Progress::done
           : result == CUDA_ERROR_NOT_READY ? Progress::running
                                            : Progress::lost;
}

Progress progress_of(const TimerSlot& slot) {
    const Progress first = progress_of(slot.half[0]);
    return first == Progress::done ? progress_of(slot.half[1]) : first;
}

// 0 where the driver doesn't say.
std::uint64_t nanoseconds(const TimedHalf& half) {
    float milliseconds = 0;
    if (driver().cuEventElapsedTime(&milliseconds, half.begin, half.end) != CUDA_SUCCESS || !(milliseconds > 0) ||
        milliseconds > 1e9f)
        return 0;
    return static_cast<std::uint64_t>(static_cast<double>(milliseconds) * 1e6);
}

void add_times(const TimerSlot& slot) {
    const std::uint64_t first = nanoseconds(slot.half[0]), second = nanoseconds(slot.half[1]);
    const auto times = view().copy_times();
    if (first == 0 || second == 0 || slot.copy >= times.size())
        return;
    segment::TimedPair pair{first, second, 0};
    if (slot.first_runs_copy)
        pair = {second, first, 0};
    pair.log_ratio =
        natural_logarithm(static_cast<double>(pair.instrumented_ns) / static_cast<double>(pair.original_ns));
    segment::add_pair(times[slot.copy], pair);
}

// True where the slot is done with.
bool collect_alone(TimerSlot& slot) {
    const TimedHalf& half = slot.half[0];
    if (load_acquire(half.state) == kLost)
        return true;
    const Progress progress = progress_of(half);
    const auto times = view().copy_times();
    if (progress == Progress::done && slot.copy < times.size())
        if (const std::uint64_t ns = nanoseconds(half); ns != 0)
            segment::add_single(times[slot.copy], ns);
    return progress != Progress::running;
}

// A first launch whose second doesn't come is given up, unless that happens just now.
bool gave_up_waiting(TimerSlot& slot, std::uint64_t now) {
    if (slot.since == 0)
        slot.since = now;
    return now - slot.since >= kLongestPair && segment::replace_if(*slot.place_of_word, slot.word, std::uint64_t{0});
}

// True where the slot is done with.
bool collect(TimerSlot& slot, std::uint64_t now) {
    const std::uint32_t first = load_acquire(slot.half[0].state), second = load_acquire(slot.half[1].state);
    if (first == kPending)
        return false;
    if (slot.alone)
        return collect_alone(slot);
    if (load_acquire(slot.single) != 0)
        return true;
    if (second == kPending)
        return gave_up_waiting(slot, now);
    if (first == kLost || second == kLost)
        return true;
    const Progress progress = progress_of(slot);
    if (progress == Progress::done)
        add_times(slot);
    return progress != Progress::running;
}

bool in_use(const Pool& pool) {
    for (unsigned int i = 0; i < pool.slots; ++i)
        if (!is_free(pool, i))
            return true;
    return false;
}

}  // namespace

void prepare_timers(const Place& place) {
    const egpu_segment_header& header = view().header();
    const Driver& real = driver();
    if (load_relaxed(header.time_launches) == 0 || load_relaxed(header.simulated) != 0 || pool_of(place) != nullptr ||
        view().copy_times().empty() || real.cuEventCreate == nullptr || real.cuEventRecord == nullptr ||
        real.cuEventQuery == nullptr || real.cuEventElapsedTime == nullptr)
        return;
    Pool*& memory = memory_of[index_of(place)];
    if (memory == nullptr)
        memory = static_cast<Pool*>(std::malloc(sizeof(Pool)));
    if (memory == nullptr)
        return;
    Pool* pool = new (memory) Pool;
    const bool for_pairs = load_relaxed(header.measure_overhead) != 0;
    const unsigned int wanted = for_pairs ? kSlots : kAloneSlots;
    while (pool->slots < wanted && make_events(pool->slot[pool->slots], for_pairs))
        ++pool->slots;
    for (unsigned int i = 0; i < pool->slots; ++i)
        give_slot_back(*pool, i);
    if (pool->slots != 0)
        store_release(pools[index_of(place)], pool);
}

bool has_timers(const Place& place) {
    return load_relaxed(pools[index_of(place)]) != nullptr;
}

Turn next_turn(const Place& place, Pairing* pairing, std::uint32_t copy, std::uint64_t key) {
    Pool* pool = pool_of(place);
    if (pool == nullptr)
        return {};
    OpenPair open;
    if (close_pair(*pairing, key, &open)) {
        store_relaxed(pairing->is_warm, 1u);
        return {!open.first_runs_copy, launch_in(*pool, open.slot, 1)};
    }
    // What runs for the first time has to be loaded first: that pair is not timed.
    const bool warm = load_relaxed(pairing->is_warm) != 0;
    std::uint64_t* room = room_for_pair(*pairing);
    open = {false, room != nullptr && warm ? take_slot(*pool) : kNoSlot, key};
    if (room == nullptr || (warm && open.slot == kNoSlot))
        return {};  // other shapes' pairs are open, or all timers are in use
    // And a kernel that is launched once runs its copy: its probes would miss it altogether.
    open.first_runs_copy = !warm || first_runs_copy(segment::add_relaxed(pairing->begun, std::uint64_t{1}));
    begin_pair(*pool, room, open, copy);
    return {open.first_runs_copy, launch_in(*pool, open.slot, 0)};
}

bool is_due(const Pairing& pairing) {
    return load_relaxed(pairing.begun) < kFirstLaunches || load_relaxed(pairing.timed_at_drain) != load_relaxed(drains);
}

TimedLaunch next_alone(const Place& place, Pairing* pairing, std::uint32_t copy) {
    if (load_relaxed(pairing->begun) < kFirstLaunches) {
        if (segment::add_relaxed(pairing->begun, std::uint64_t{1}) == 0)
            return {};
    } else {
        const std::uint32_t now = load_relaxed(drains);
        const std::uint32_t last = load_relaxed(pairing->timed_at_drain);
        if (last == now || !segment::replace_if(pairing->timed_at_drain, last, now))
            return {};
    }
    Pool* pool = pool_of(place);
    const unsigned int index = pool != nullptr ? take_slot(*pool) : kNoSlot;
    if (index == kNoSlot)
        return {};
    pool->slot[index].alone = true;
    pool->slot[index].copy = copy;
    return launch_in(*pool, index, 0);
}

namespace {

bool record(CUevent event, CUstream stream, StreamForm form) {
    const Driver& real = driver();
    const auto call = form == StreamForm::per_thread ? real.cuEventRecord_ptsz : real.cuEventRecord;
    const OwnCalls own;
    return call != nullptr && own.relaxed() && call(event, stream) == CUDA_SUCCESS;
}

}  // namespace

void record_begin(const TimedLaunch& launch, CUstream stream, StreamForm form) {
    TimedHalf& half = launch.slot->half[launch.half];
    half.begun = record(half.begin, stream, form);
}

void record_end(const TimedLaunch& launch, CUstream stream, StreamForm form, bool launched) {
    TimedHalf& half = launch.slot->half[launch.half];
    const bool timed = launched && half.begun && record(half.end, stream, form);
    store_release(half.state, std::uint32_t{timed ? kRecorded : kLost});
}

void collect_times() {
    const std::uint64_t now = segment::monotonic_ns();
    segment::add_relaxed(drains, 1u);
    for (unsigned int i = 0; i < places_used(); ++i) {
        const Place& place = place_at(i);
        Pool* pool = pool_of(place);
        if (pool == nullptr || !in_use(*pool) || driver().cuCtxSetCurrent(place.context) != CUDA_SUCCESS)
            continue;
        for (unsigned int slot = 0; slot < pool->slots; ++slot)
            if (!is_free(*pool, slot) && collect(pool->slot[slot], now))
                give_slot_back(*pool, slot);
    }
}

void forget_timers(const Place& place) {
    store_release(pools[index_of(place)], static_cast<Pool*>(nullptr));
}

}  // namespace egpu::agent
