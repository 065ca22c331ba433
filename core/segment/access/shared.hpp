// SPDX-License-Identifier: Apache-2.0
// Words of the segment that another process may change at any moment: always through these, never plainly, so that
// each value is read once, whole, and then checked.
#pragma once

#include <cstdint>

namespace egpu::segment {

template <typename T>
T load_relaxed(const T& word) {
    return __atomic_load_n(&word, __ATOMIC_RELAXED);
}
template <typename T>
T load_acquire(const T& word) {
    return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}
template <typename T>
void store_relaxed(T& word, T value) {
    __atomic_store_n(&word, value, __ATOMIC_RELAXED);
}
template <typename T>
void store_release(T& word, T value) {
    __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}
template <typename T>
T add_relaxed(T& word, T value) {
    return __atomic_fetch_add(&word, value, __ATOMIC_RELAXED);
}
/// True where `word` was `expected` and now is `desired`.
template <typename T>
bool replace_if(T& word, T expected, T desired) {
    return __atomic_compare_exchange_n(&word, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
/// Raises a word that only grows; a smaller value is no change.
template <typename T>
void raise(T& word, T value) {
    T now = load_acquire(word);
    while (now < value && !__atomic_compare_exchange_n(&word, &now, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
}

/// Sleeps while `word` is `seen`, at most `timeout_ns`; may wake early. Between processes (no FUTEX_PRIVATE_FLAG).
void futex_wait(const std::uint32_t& word, std::uint32_t seen, std::uint64_t timeout_ns);
void futex_wake(const std::uint32_t& word);

/// CLOCK_MONOTONIC, which all processes of a machine share.
std::uint64_t monotonic_ns();

}  // namespace egpu::segment
