// SPDX-License-Identifier: Apache-2.0
#include "ui/model/series_buffer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace egpu::ui {

SeriesBuffer::SeriesBuffer(std::size_t capacity)
    : capacity_(std::max<std::size_t>(capacity, 1)), mask_(std::bit_ceil(capacity_) - 1), pyramid_(capacity_) {}

void SeriesBuffer::append(Time time, double value) {
    if (end_ != 0)
        time = std::max(time, at(end_ - 1).time);
    if (ring_.size() <= mask_)
        ring_.push_back({time, value});
    else
        ring_[end_ & mask_] = {time, value};
    pyramid_.append(time, value);
    ++end_;
}

void SeriesBuffer::append_gap(Time time) {
    if (end_ != 0 && !std::isnan(at(end_ - 1).value))
        append(time, std::nan(""));
}

std::optional<Point> SeriesBuffer::last() const {
    return empty() ? std::nullopt : std::optional(at(end_ - 1));
}

std::uint64_t SeriesBuffer::lower_bound(Time time, std::uint64_t hint) const {
    std::uint64_t low = begin(), high = end_;
    hint = std::clamp(hint, low, high);
    // Steps that double, away from the hint: the answer is near it where columns are asked for in order.
    std::uint64_t step = 1;
    if (hint < high && at(hint).time < time) {
        low = hint + 1;
        while (low + step < high && at(low + step).time < time) {
            low += step + 1;
            step *= 2;
        }
        high = std::min(high, low + step);
    } else {
        high = hint;
        while (high > low + step && at(high - step).time >= time) {
            high -= step;
            step *= 2;
        }
        low = high > low + step ? high - step : low;
    }
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (at(middle).time < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

std::optional<Point> SeriesBuffer::nearest(Time time) const {
    if (empty())
        return std::nullopt;
    const std::uint64_t after = lower_bound(time);
    if (after == begin())
        return at(after);
    if (after == end_)
        return at(after - 1);
    const Point left = at(after - 1), right = at(after);
    return time - left.time <= right.time - time ? left : right;
}

Bucket SeriesBuffer::aggregate(std::uint64_t begin, std::uint64_t end) const {
    return pyramid_.aggregate(std::max(begin, this->begin()), std::min(end, end_),
                              [this](std::uint64_t number) { return at(number).value; });
}

void SeriesBuffer::columns(Time begin, Time end, std::span<Bucket> columns) const {
    std::fill(columns.begin(), columns.end(), Bucket());
    if (columns.empty() || end <= begin)
        return;
    const double width = static_cast<double>(end - begin) / static_cast<double>(columns.size());
    const double columns_per_ns = 1 / width;
    const auto column_of = [&](Time time) -> Bucket& {
        const auto column =
            static_cast<std::size_t>(static_cast<double>(std::max(time, begin) - begin) * columns_per_ns);
        return columns[std::min(column, columns.size() - 1)];
    };
    const std::uint64_t stop = lower_bound(end);
    std::uint64_t number = lower_bound(begin);
    while (number < stop) {
        unsigned level = pyramid_.level_at(number, stop);
        Time first = 0, next = 0;
        for (; level > 0; --level) {
            // Whole where it belongs to one column, or is so short that no eye sees to which of two.
            const std::uint64_t after = number + MinMaxPyramid::width(level);
            first = pyramid_.first_time(level, number);
            next = after < end_ ? pyramid_.first_time(level, after) : at(end_ - 1).time;
            if (&column_of(first) == &column_of(next) || static_cast<double>(next - first) <= width / 2)
                break;
        }
        if (level == 0) {
            const Point point = at(number);
            column_of(point.time).add(point.value);
        } else {
            column_of(first + (next - first) / 2).add(pyramid_.bucket(level, number));
        }
        number += MinMaxPyramid::width(level);
    }
}

}  // namespace egpu::ui
