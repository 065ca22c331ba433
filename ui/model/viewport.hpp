// SPDX-License-Identifier: Apache-2.0
// Viewport: which stretch of time all charts of a window show, and what zooming and panning do to it.
#pragma once

#include "ui/model/series_buffer.hpp"

namespace egpu::ui {

struct TimeRange {
    Time begin = 0;
    Time end = 1;
    Time span() const { return end - begin; }
    bool operator==(const TimeRange&) const = default;
};

/// Follows the newest data until somebody looks at something: then it stays there, and data goes on arriving.
class Viewport {
public:
    static constexpr Time kShortest = 1'000'000;                             ///< 1 ms
    static constexpr Time kShortestFit = 1'000'000'000;                      ///< of all data: less would be noise
    static constexpr Time kLongest = Time{400} * 24 * 3600 * 1'000'000'000;  ///< 400 days
    static constexpr Time kDefaultSpan = Time{30} * 1'000'000'000;

    const TimeRange& range() const { return range_; }
    bool following() const { return following_; }
    TimeRange data() const { return {first_, last_}; }

    /// Where data begins and ends now. A view that follows moves along.
    void set_data(Time first, Time last);
    /// Zooms so that `about` stays where it is in the picture. factor < 1 shows less. Stops following.
    void zoom(double factor, Time about);
    /// Moves the view; stops following.
    void pan(Time by);
    /// All data so far, and no less than a second; stops following, for what comes later would push the beginning out.
    void fit();
    /// Looks at the newest data and follows it, with the length that is set.
    void jump_to_now();
    /// Stays where it is.
    void pause() { following_ = false; }
    /// How much is shown; the newest stays where the view follows, else the middle.
    void set_span(Time span);
    void show(const TimeRange& range);
    /// How far the newest data is beyond the view; 0 where it is in it.
    Time behind() const { return last_ > range_.end ? last_ - range_.end : 0; }

private:
    void follow();

    TimeRange range_{-kDefaultSpan, 0};
    Time span_ = kDefaultSpan;
    Time first_ = 0, last_ = 0;
    bool following_ = true;
};

/// A stretch of time laid over pixels.
struct TimeScale {
    TimeRange range;
    double left = 0;
    double width = 1;

    double to_pixel(Time time) const {
        return left + static_cast<double>(time - range.begin) * width / static_cast<double>(range.span());
    }
    Time to_time(double pixel) const {
        return range.begin + static_cast<Time>((pixel - left) / width * static_cast<double>(range.span()));
    }
};

}  // namespace egpu::ui
