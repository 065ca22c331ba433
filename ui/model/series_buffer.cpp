// SPDX-License-Identifier: Apache-2.0
#include "ui/model/series_buffer.hpp"

#include <algorithm>
#include <cmath>

namespace egpu::ui {

SeriesBuffer::SeriesBuffer(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 1)), pyramid_(capacity_) {}

void SeriesBuffer::append(Time time, double value) {
    if (end_ != 0)
        time = std::max(time, at(end_ - 1).time);
    if (ring_.size() < capacity_)
        ring_.push_back({time, value});
    else
        ring_[end_ % capacity_] = {time, value};
    pyramid_.append(value);
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
    const double span = static_cast<double>(end - begin);
    std::uint64_t from = lower_bound(begin);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const double share = static_cast<double>(i + 1) / static_cast<double>(columns.size());
        const std::uint64_t to = lower_bound(begin + static_cast<Time>(std::llround(span * share)), from);
        columns[i] = aggregate(from, to);
        from = to;
    }
}

}  // namespace egpu::ui
