// SPDX-License-Identifier: Apache-2.0
#include "ui/app/options.hpp"

#include <gtest/gtest.h>

namespace egpu::ui {
namespace {

TEST(Options, AllOfThem) {
    const auto options = parse_options(
        {"egpu-ui", "run.egpu", "--theme", "light", "--screenshot", "a.png", "--size", "800x600", "--after", "1.5"});
    ASSERT_TRUE(options);
    EXPECT_EQ(options->what, "run.egpu");
    EXPECT_EQ(options->theme, ThemeName::light);
    EXPECT_EQ(options->screenshot, "a.png");
    EXPECT_EQ(options->size, QSize(800, 600));
    EXPECT_EQ(options->after_s, 1.5);
    EXPECT_FALSE(options->demo);
}

TEST(Options, WhatMeansNothingIsRefused) {
    const QList<QStringList> kBad = {{"--theme", "blue"}, {"--size", "10x10"}, {"--size", "big"},
                                     {"--nonsense"},      {"a", "b"},          {"--demo", "a"},
                                     {"--after", "3"},    {"--screenshot"},    {"--screenshot", "x", "--after", "-1"},
                                     {"--screenshot", ""}};
    for (const auto& words : kBad) {
        const auto options = parse_options(QStringList{"egpu-ui"} + words);
        ASSERT_FALSE(options) << words.join(' ').toStdString();
        EXPECT_EQ(options.error().code, "EGPU-X080");
    }
}

}  // namespace
}  // namespace egpu::ui
