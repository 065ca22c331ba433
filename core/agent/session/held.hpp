// SPDX-License-Identifier: Apache-2.0
// Time that a thread of the application spends with us and not with its own work: waiting for the egpu process, for our
// locks, loading copies, copying maps a last time.
#pragma once

#include <cstdint>

namespace egpu::agent {

/// From here to its end the thread is held. Holds of over a millisecond are added up in the segment, with the longest;
/// one inside another is a part of that. Never on a launch that passes on at once.
class Held {
public:
    Held();
    ~Held();
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

private:
    std::uint64_t begin_;  // CLOCK_MONOTONIC, ns; 0: inside another one
};

}  // namespace egpu::agent
