// SPDX-License-Identifier: Apache-2.0
#include "ui/model/pyramid.hpp"

#include <bit>

namespace egpu::ui {

MinMaxPyramid::MinMaxPyramid(std::size_t capacity) {
    // One bucket more than the ring fills, for the ring seldom starts where a bucket does, and the one being filled.
    for (unsigned level = 1; width(level) <= capacity; ++level) {
        const std::size_t buckets = std::bit_ceil(capacity / width(level) + 2);
        levels_.push_back({std::vector<Bucket>(buckets), std::vector<Time>(buckets)});
    }
}

void MinMaxPyramid::append(Time time, double value) {
    for (unsigned level = 1; level <= levels_.size(); ++level) {
        auto& own = levels_[level - 1];
        const std::size_t place = (appended_ >> (kShift * level)) & (own.ring.size() - 1);
        if ((appended_ & (width(level) - 1)) == 0) {
            own.ring[place] = Bucket();
            own.times[place] = time;
        }
        own.ring[place].add(value);
    }
    ++appended_;
}

}  // namespace egpu::ui
