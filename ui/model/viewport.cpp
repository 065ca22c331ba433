// SPDX-License-Identifier: Apache-2.0
#include "ui/model/viewport.hpp"

#include <algorithm>
#include <cmath>

namespace egpu::ui {

void Viewport::follow() {
    range_ = {last_ - span_, last_};
}

void Viewport::set_data(Time first, Time last) {
    first_ = first;
    last_ = last;
    if (following_)
        follow();
}

void Viewport::zoom(double factor, Time about) {
    if (!(factor > 0) || !std::isfinite(factor))
        return;
    following_ = false;
    const double old_span = static_cast<double>(range_.span());
    const Time span =
        static_cast<Time>(std::clamp(old_span * factor, static_cast<double>(kShortest), static_cast<double>(kLongest)));
    const double share = static_cast<double>(about - range_.begin) / old_span;
    const Time begin = about - static_cast<Time>(std::llround(share * static_cast<double>(span)));
    range_ = {begin, begin + span};
    span_ = span;
}

void Viewport::pan(Time by) {
    following_ = false;
    range_ = {range_.begin + by, range_.end + by};
}

void Viewport::fit() {
    const Time span = std::clamp(last_ - first_, kShortestFit, kLongest);
    // A margin on the right would hide nothing and show nothing: the view ends where data does, unless there is less
    // than a second of it.
    const Time begin = last_ - first_ < kShortestFit ? first_ : last_ - span;
    range_ = {begin, begin + span};
    span_ = span;
    following_ = false;
}

void Viewport::jump_to_now() {
    following_ = true;
    follow();
}

void Viewport::set_span(Time span) {
    span_ = std::clamp(span, kShortest, kLongest);
    if (following_)
        return follow();
    const Time middle = range_.begin + range_.span() / 2;
    range_ = {middle - span_ / 2, middle - span_ / 2 + span_};
}

void Viewport::show(const TimeRange& range) {
    following_ = false;
    span_ = std::clamp(range.span(), kShortest, kLongest);
    range_ = {range.begin, range.begin + span_};
}

}  // namespace egpu::ui
