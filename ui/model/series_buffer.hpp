// SPDX-License-Identifier: Apache-2.0
// SeriesBuffer: the newest points of one line of a chart, with their pyramid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ui/model/pyramid.hpp"

namespace egpu::ui {

struct Point {
    Time time = 0;
    double value = 0;  ///< NaN: a gap; unknown is never 0
};

/// A ring: the oldest points make way. Times never go back.
class SeriesBuffer {
public:
    static constexpr std::size_t kDefaultCapacity = std::size_t{1} << 17;  ///< 1.8 h at 20 points a second

    explicit SeriesBuffer(std::size_t capacity = kDefaultCapacity);

    /// A time before the last one is taken as the last one: a clock that steps back may not undo the order.
    void append(Time time, double value);
    /// A gap, unless there is one already or nothing was appended so far.
    void append_gap(Time time);

    std::uint64_t begin() const { return end_ > capacity_ ? end_ - capacity_ : 0; }  ///< number of the oldest point
    std::uint64_t end() const { return end_; }                                       ///< one past the newest
    bool empty() const { return end_ == 0; }
    /// Any point that is no gap.
    bool has_value() const { return !empty() && !aggregate(begin(), end()).empty(); }
    Point at(std::uint64_t number) const { return ring_[number & mask_]; }
    std::optional<Point> last() const;

    /// The first point at or after a time; `hint`: where to look first.
    std::uint64_t lower_bound(Time time, std::uint64_t hint) const;
    std::uint64_t lower_bound(Time time) const { return lower_bound(time, begin()); }
    /// The point whose time is nearest; nullopt where there is none.
    std::optional<Point> nearest(Time time) const;

    /// The points of [begin, end) as one.
    Bucket aggregate(std::uint64_t begin, std::uint64_t end) const;
    /// One bucket for each column of a picture: columns[i] takes the times from begin + i x span / columns on. Each
    /// point is in one column; where a column has many, buckets are taken whole, and some points of them may be in the
    /// column beside theirs: by a quarter of its width. (Single points lie all over the memory of a line, and waiting
    /// for it was half of a frame.)
    void columns(Time begin, Time end, std::span<Bucket> columns) const;

private:
    std::size_t capacity_;
    std::uint64_t mask_;       ///< the ring is a power of two, so that no look into it divides
    std::vector<Point> ring_;  ///< grows as points come
    MinMaxPyramid pyramid_;
    std::uint64_t end_ = 0;
};

}  // namespace egpu::ui
