// SPDX-License-Identifier: Apache-2.0
// MinMaxPyramid: what a run of points looks like from afar. Level k keeps {min, max, last, count} of each 16^k points
// in a row, so that a question about any range costs as much as the range has levels, not points.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace egpu::ui {

/// Nanoseconds since the session began, or since any other moment that all lines of a window share.
using Time = std::int64_t;

/// Points in a row as one. A point that is not a number (a gap) counts in `points` only.
struct Bucket {
    double min = std::numeric_limits<double>::infinity();
    double max = -std::numeric_limits<double>::infinity();
    double last = std::numeric_limits<double>::quiet_NaN();  ///< the last point that is a number
    std::uint32_t count = 0;                                 ///< points that are numbers
    std::uint32_t points = 0;

    bool empty() const { return count == 0; }
    bool has_gap() const { return count < points; }
    void add(double value);
    void add(const Bucket& later);
};

/// The levels above a ring of `capacity` points that are numbered from 0 on; the ring itself is not here.
class MinMaxPyramid {
public:
    static constexpr unsigned kShift = 4;  ///< 16 points, or buckets, to a bucket

    explicit MinMaxPyramid(std::size_t capacity);

    /// The point after the last.
    void append(Time time, double value);

    /// Points [begin, end), all of them still in the ring. `value_at(number)` reads the ring.
    template <typename ValueAt>
    Bucket aggregate(std::uint64_t begin, std::uint64_t end, const ValueAt& value_at) const;

    /// Points that a bucket of a level has; a bucket of level 0 is a point.
    static std::uint64_t width(unsigned level) { return std::uint64_t{1} << (kShift * level); }
    /// The highest level with a bucket that begins with this point and ends before or at `end`.
    unsigned level_at(std::uint64_t point, std::uint64_t end) const;
    /// The bucket that holds this point, level 1 or higher, and when its first point is.
    const Bucket& bucket(unsigned level, std::uint64_t point) const {
        const auto& ring = levels_[level - 1].ring;
        return ring[(point >> (kShift * level)) & (ring.size() - 1)];
    }
    Time first_time(unsigned level, std::uint64_t point) const {
        const auto& ring = levels_[level - 1].times;
        return ring[(point >> (kShift * level)) & (ring.size() - 1)];
    }

private:
    struct Level {
        std::vector<Bucket> ring;  ///< bucket b at b % size, which is a power of two
        std::vector<Time> times;   ///< of each bucket's first point
    };

    std::vector<Level> levels_;  ///< levels_[0] is level 1
    std::uint64_t appended_ = 0;
};

inline void Bucket::add(double value) {
    ++points;
    if (value != value)
        return;
    ++count;
    min = value < min ? value : min;
    max = value > max ? value : max;
    last = value;
}

inline void Bucket::add(const Bucket& later) {
    points += later.points;
    if (later.count == 0)
        return;
    count += later.count;
    min = later.min < min ? later.min : min;
    max = later.max > max ? later.max : max;
    last = later.last;
}

inline unsigned MinMaxPyramid::level_at(std::uint64_t point, std::uint64_t end) const {
    unsigned level = 0;
    while (level < levels_.size() && (point & (width(level + 1) - 1)) == 0 && point + width(level + 1) <= end)
        ++level;
    return level;
}

template <typename ValueAt>
Bucket MinMaxPyramid::aggregate(std::uint64_t begin, std::uint64_t end, const ValueAt& value_at) const {
    Bucket result;
    while (begin < end) {
        const unsigned level = level_at(begin, end);
        if (level == 0)
            result.add(value_at(begin));
        else
            result.add(bucket(level, begin));
        begin += width(level);
    }
    return result;
}

}  // namespace egpu::ui
