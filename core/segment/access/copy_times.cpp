// SPDX-License-Identifier: Apache-2.0
#include "segment/access/copy_times.hpp"

#include "segment/access/shared.hpp"

namespace egpu::segment {

namespace {

constexpr int kTries = 100;  // a writer is done within a microsecond, or it was stopped

double load_relaxed(const double& word) {
    double value = 0;
    __atomic_load(&word, &value, __ATOMIC_RELAXED);
    return value;
}

void add(double& word, double value) {
    value += load_relaxed(word);
    __atomic_store(&word, &value, __ATOMIC_RELAXED);
}

void add(std::uint64_t& word, std::uint64_t value) {
    store_relaxed(word, segment::load_relaxed(word) + value);
}

// Readers that see the number odd, or another one afterwards, try again.
std::uint64_t begin_change(egpu_copy_times& times) {
    const std::uint64_t sequence = segment::load_relaxed(times.sequence) | 1;
    store_relaxed(times.sequence, sequence);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return sequence;
}

}  // namespace

void add_single(egpu_copy_times& times, std::uint64_t nanoseconds) {
    const std::uint64_t sequence = begin_change(times);
    add(times.single_launches, 1);
    add(times.single_ns, nanoseconds);
    store_release(times.sequence, sequence + 1);
}

void add_pair(egpu_copy_times& times, const TimedPair& pair) {
    const std::uint64_t sequence = begin_change(times);
    add(times.pairs, 1);
    add(times.original_ns, pair.original_ns);
    add(times.instrumented_ns, pair.instrumented_ns);
    add(times.log_ratio, pair.log_ratio);
    add(times.log_ratio_squares, pair.log_ratio * pair.log_ratio);
    store_release(times.sequence, sequence + 1);
}

std::optional<CopyTimes> read_times(const egpu_copy_times& times) {
    for (int i = 0; i < kTries; ++i) {
        const std::uint64_t before = load_acquire(times.sequence);
        const CopyTimes sums{segment::load_relaxed(times.pairs),           segment::load_relaxed(times.original_ns),
                             segment::load_relaxed(times.instrumented_ns), load_relaxed(times.log_ratio),
                             load_relaxed(times.log_ratio_squares),        segment::load_relaxed(times.single_launches),
                             segment::load_relaxed(times.single_ns)};
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if ((before & 1) == 0 && segment::load_relaxed(times.sequence) == before)
            return sums;
    }
    return std::nullopt;
}

}  // namespace egpu::segment
