// SPDX-License-Identifier: Apache-2.0
#include "ui/model/pyramid.hpp"

namespace egpu::ui {

MinMaxPyramid::MinMaxPyramid(std::size_t capacity) {
    // One bucket more than the ring fills, for the ring seldom starts where a bucket does, and the one being filled.
    for (std::size_t level = 1; width(level) <= capacity; ++level)
        levels_.push_back({std::vector<Bucket>(capacity / width(level) + 2)});
}

void MinMaxPyramid::append(double value) {
    for (std::size_t level = 1; level <= levels_.size(); ++level) {
        auto& ring = levels_[level - 1].ring;
        Bucket& bucket = ring[(appended_ >> (kShift * level)) % ring.size()];
        if ((appended_ & (width(level) - 1)) == 0)
            bucket = Bucket();
        bucket.add(value);
    }
    ++appended_;
}

}  // namespace egpu::ui
