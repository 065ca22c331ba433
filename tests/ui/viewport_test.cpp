// SPDX-License-Identifier: Apache-2.0
#include "ui/model/viewport.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace egpu::ui {
namespace {

constexpr Time kSecond = 1'000'000'000;

TEST(Viewport, FollowsTheNewestData) {
    Viewport view;
    view.set_data(0, 100 * kSecond);
    EXPECT_EQ(view.range(), (TimeRange{70 * kSecond, 100 * kSecond}));
    view.set_data(0, 101 * kSecond);
    EXPECT_EQ(view.range().end, 101 * kSecond);
    EXPECT_EQ(view.behind(), 0);
}

TEST(Viewport, ZoomKeepsThePointUnderTheCursorWhileDataArrives) {
    Viewport view;
    view.set_data(0, 100 * kSecond);
    for (const double factor : {0.8, 0.8, 1.25, 0.1, 7.0}) {
        const TimeScale before{view.range(), 80, 900};
        const double pixel = 321;
        const Time under = before.to_time(pixel);
        view.zoom(factor, under);
        view.set_data(0, view.data().end + kSecond);  // streaming goes on
        const TimeScale after{view.range(), 80, 900};
        EXPECT_NEAR(after.to_pixel(under), pixel, 0.01) << factor;
    }
    EXPECT_FALSE(view.following());
    EXPECT_GT(view.behind(), 0);
}

TEST(Viewport, PauseHoldsAndNowFollowsWithTheSameLength) {
    Viewport view;
    view.set_data(0, 100 * kSecond);
    view.pause();
    const TimeRange held = view.range();
    view.set_data(0, 160 * kSecond);
    EXPECT_EQ(view.range(), held);
    EXPECT_EQ(view.behind(), 60 * kSecond);
    view.jump_to_now();
    EXPECT_EQ(view.range().end, 160 * kSecond);
    EXPECT_EQ(view.range().span(), held.span());
    EXPECT_TRUE(view.following());
}

TEST(Viewport, FitShowsAllData) {
    Viewport view;
    view.set_data(5 * kSecond, 500 * kSecond);
    view.fit();
    EXPECT_EQ(view.range(), (TimeRange{5 * kSecond, 500 * kSecond}));
}

TEST(Viewport, FitShowsNoLessThanASecond) {
    Viewport view;
    view.set_data(70'000'000, 72'000'000);
    view.fit();
    EXPECT_EQ(view.range(), (TimeRange{70'000'000, 70'000'000 + kSecond}));
}

TEST(Viewport, LengthsStayWithinBounds) {
    Viewport view;
    view.set_data(0, kSecond);
    for (int i = 0; i < 200; ++i)
        view.zoom(0.5, kSecond / 2);
    EXPECT_EQ(view.range().span(), Viewport::kShortest);
    for (int i = 0; i < 200; ++i)
        view.zoom(4, kSecond / 2);
    EXPECT_EQ(view.range().span(), Viewport::kLongest);
    view.zoom(std::nan(""), 0);
    view.zoom(0, 0);
    EXPECT_EQ(view.range().span(), Viewport::kLongest);
    view.set_span(0);
    EXPECT_EQ(view.range().span(), Viewport::kShortest);
}

TEST(Viewport, PanMovesAndStopsFollowing) {
    Viewport view;
    view.set_data(0, 100 * kSecond);
    view.pan(-10 * kSecond);
    EXPECT_EQ(view.range(), (TimeRange{60 * kSecond, 90 * kSecond}));
    EXPECT_FALSE(view.following());
}

}  // namespace
}  // namespace egpu::ui
