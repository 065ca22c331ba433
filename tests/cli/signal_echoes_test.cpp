// SPDX-License-Identifier: Apache-2.0
#include "cli/signal_echoes.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace egpu::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr bool kDirect = false, kPassedOn = true;
const SignalEchoes::Clock::time_point kStart{seconds(1000)};

TEST(SignalEchoes, OneToTheGroupComesTwiceAndIsOneInEitherOrder) {
    for (const bool first : {kDirect, kPassedOn}) {
        SignalEchoes echoes;
        EXPECT_TRUE(echoes.is_new(SIGINT, first, kStart));
        EXPECT_FALSE(echoes.is_new(SIGINT, !first, kStart + milliseconds(900))) << "a busy machine";
        EXPECT_TRUE(echoes.is_new(SIGINT, first, kStart + seconds(1)));
        EXPECT_FALSE(echoes.is_new(SIGINT, !first, kStart + seconds(2)));
    }
}

TEST(SignalEchoes, ThoseToTheSupervisorAloneAreOneEach) {
    SignalEchoes echoes;
    EXPECT_TRUE(echoes.is_new(SIGINT, kPassedOn, kStart));
    EXPECT_TRUE(echoes.is_new(SIGINT, kPassedOn, kStart));
    EXPECT_TRUE(echoes.is_new(SIGTERM, kPassedOn, kStart));
}

TEST(SignalEchoes, TwoToTheGroupMayComeOneWayBothFirst) {
    SignalEchoes echoes;
    EXPECT_TRUE(echoes.is_new(SIGINT, kDirect, kStart));
    EXPECT_TRUE(echoes.is_new(SIGINT, kDirect, kStart));
    EXPECT_FALSE(echoes.is_new(SIGINT, kPassedOn, kStart));
    EXPECT_FALSE(echoes.is_new(SIGINT, kPassedOn, kStart));
}

TEST(SignalEchoes, OneThatTookTheOtherInIsNotWaitedForForEver) {
    SignalEchoes echoes;
    EXPECT_TRUE(echoes.is_new(SIGINT, kDirect, kStart));
    EXPECT_TRUE(echoes.is_new(SIGINT, kPassedOn, kStart + seconds(6)));
}

}  // namespace
}  // namespace egpu::cli
