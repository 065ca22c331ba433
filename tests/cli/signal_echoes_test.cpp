// SPDX-License-Identifier: Apache-2.0
#include "cli/signal_echoes.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <vector>

namespace egpu::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr bool kDirect = false, kPassedOn = true;
const SignalEchoes::Clock::time_point kStart{1000s};

struct Arrival {
    bool passed_on;
    milliseconds after;
    bool is_new;
};
struct Case {
    const char* what;
    std::vector<Arrival> arrivals;
};

TEST(SignalEchoes, CountEachSignalOnce) {
    const Case cases[] = {
        {"two to the group, on a busy machine",
         {{kDirect, 0ms, true}, {kPassedOn, 900ms, false}, {kDirect, 1000ms, true}, {kPassedOn, 2000ms, false}}},
        {"two to the group, passed on first",
         {{kPassedOn, 0ms, true}, {kDirect, 900ms, false}, {kPassedOn, 1000ms, true}, {kDirect, 2000ms, false}}},
        {"two to the group, both one way first",
         {{kDirect, 0ms, true}, {kDirect, 0ms, true}, {kPassedOn, 0ms, false}, {kPassedOn, 0ms, false}}},
        {"two to the supervisor alone", {{kPassedOn, 0ms, true}, {kPassedOn, 0ms, true}}},
        {"one that took its other way in, and one to the supervisor",
         {{kDirect, 0ms, true}, {kPassedOn, 6000ms, true}}},
    };
    for (const auto& [what, arrivals] : cases) {
        SignalEchoes echoes;
        for (const auto& [passed_on, after, is_new] : arrivals)
            EXPECT_EQ(echoes.is_new(SIGINT, passed_on, kStart + after), is_new)
                << what << ", " << after.count() << " ms";
        EXPECT_TRUE(echoes.is_new(SIGTERM, kPassedOn, kStart)) << "another signal";
    }
}

}  // namespace
}  // namespace egpu::cli
