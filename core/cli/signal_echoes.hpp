// SPDX-License-Identifier: Apache-2.0
// Who signals a whole group reaches egpu and its supervisor, which passes it on: that is one signal that comes twice,
// however late the second time is. What was sent to the supervisor alone comes once, passed on.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>

namespace egpu::cli {

class SignalEchoes {
public:
    using Clock = std::chrono::steady_clock;

    /// True for a signal that has not come the other way before.
    bool is_new(int signal, bool passed_on, Clock::time_point now) {
        Counts& counts = counts_[signal];
        // One that is pending takes another of its kind in: then the other way's never comes.
        if (now - counts.last > kLatest)
            counts.direct = counts.passed_on = 0;
        counts.last = now;
        const int before = std::max(counts.direct, counts.passed_on);
        ++(passed_on ? counts.passed_on : counts.direct);
        return std::max(counts.direct, counts.passed_on) > before;
    }

private:
    static constexpr std::chrono::seconds kLatest{5};
    struct Counts {
        int direct = 0, passed_on = 0;
        Clock::time_point last{};
    };
    std::map<int, Counts> counts_;
};

}  // namespace egpu::cli
