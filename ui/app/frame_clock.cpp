// SPDX-License-Identifier: Apache-2.0
#include "ui/app/frame_clock.hpp"

#include <algorithm>

namespace egpu::ui {
namespace {

constexpr int kFrameMs = 16, kHeavyMs = 33, kUnfocusedMs = 50, kHiddenMs = 1000;
constexpr double kTooLongMs = 12, kShortAgainMs = 8;
constexpr std::size_t kKept = 120;

}  // namespace

FrameClock::FrameClock(QObject* parent) : QObject(parent) {
    timer_.setTimerType(Qt::PreciseTimer);
    connect(&timer_, &QTimer::timeout, this, &FrameClock::tick);
    adapt();
}

void FrameClock::set_running(bool running) {
    if (running && !timer_.isActive()) {
        happened_at_.invalidate();  // what was before is no reason to look less often now
        timer_.start();
    }
    if (!running)
        timer_.stop();
}

void FrameClock::set_seen(Seen seen) {
    seen_ = seen;
    adapt();
}

void FrameClock::adapt() {
    const int wanted = seen_ == Seen::hidden      ? kHiddenMs
                       : still_                   ? kStillMs
                       : seen_ == Seen::unfocused ? kUnfocusedMs
                       : heavy_                   ? kHeavyMs
                                                  : kFrameMs;
    if (timer_.interval() != wanted)
        timer_.setInterval(wanted);
}

void FrameClock::add_look(bool happened) {
    if (happened || !happened_at_.isValid())
        happened_at_.start();
    const bool still = happened_at_.hasExpired(kStillAfterMs);
    if (still == still_)
        return;
    still_ = still;
    adapt();
}

void FrameClock::add_frame(double milliseconds) {
    last_ = milliseconds;
    if (frames_.size() < kKept)
        frames_.push_back(milliseconds);
    else
        frames_[next_] = milliseconds;
    next_ = (next_ + 1) % kKept;
    const double p95 = frame_ms_p95();
    heavy_ = heavy_ ? p95 > kShortAgainMs : p95 > kTooLongMs;
    adapt();
}

double FrameClock::frame_ms_p95() const {
    if (frames_.empty())
        return 0;
    std::vector<double> sorted = frames_;
    const auto at = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) * 95 / 100);
    std::nth_element(sorted.begin(), at, sorted.end());
    return *at;
}

}  // namespace egpu::ui
