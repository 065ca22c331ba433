// SPDX-License-Identifier: Apache-2.0
// What egpu top draws, and what it makes of keys: no terminal is needed for either.
#include "cli/top_screen.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "cli/terminal.hpp"

namespace egpu::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

constexpr Style kPlain{.utf8 = true, .colour = false};
constexpr Style kAscii{.utf8 = false, .colour = false};

TopRow row(std::string name, std::optional<double> launches, std::optional<double> read,
           std::optional<double> written) {
    TopRow made;
    made.name = std::move(name);
    made.state = "instrumented (PTX)";
    made.rates = {launches, read, written, false};
    return made;
}

/// TARGETS E6.10.
TopView vecadd() {
    TopView view;
    view.session = view.pid = 48213;
    view.program = "vecadd";
    view.device = "NVIDIA H200";
    view.seconds = 42.7;
    view.egpu_memory = std::uint64_t{12} << 20;
    view.samples_per_second = 20;
    view.total = {15'770, 2.12e12, 1.06e12, false};
    for (const double share : {0.2, 0.6, 0.9, 1.0, 1.0}) {
        view.read_history.emplace_back(2.12e12 * share);
        view.written_history.emplace_back(1.06e12 * share);
    }
    view.rows = {row("vector_add", 15'770, 2.12e12, 1.06e12)};
    view.rows[0].each_ns = 63'400;
    view.rows[0].busy = 0.998;
    return view;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines)
        text += line + "\n";
    return text;
}

TEST(TopScreen, IsThatOfTheTargets) {
    const auto lines = draw_top(vecadd(), {}, {24, 120}, kPlain);
    ASSERT_THAT(lines, SizeIs(24));
    EXPECT_THAT(lines[0], testing::StartsWith("vecadd  pid 48213  NVIDIA H200  0:42  egpu 12 MiB  dropped 0 "));
    EXPECT_THAT(lines[0], testing::EndsWith("\u25cf live, 20 Hz"));
    EXPECT_THAT(lines[1], HasSubstr("requested  read 2.12 TB/s"));
    EXPECT_THAT(lines[1], HasSubstr("\u2582\u2585\u2588\u2588\u2588  written 1.06 TB/s"));
    EXPECT_THAT(lines[1], HasSubstr("DRAM n/a   window 1 s"));
    EXPECT_THAT(lines[3],
                testing::MatchesRegex("vector_add +15 770 +\u2264 63.4 us +\u2264 100 % +2.12 TB/s +1.06 TB/s  "
                                      "instrumented .PTX."));
    EXPECT_THAT(lines[23], HasSubstr("q quit   s sort   / filter   p probes   space pause   ? help"));
}

TEST(TopScreen, UnknownIsNotZero) {
    TopView view = vecadd();
    view.total = {};
    view.rows = {row("scan", 3.25, std::nullopt, std::nullopt), row("idle", 0, 0, 0)};
    const std::string text = joined(draw_top(view, {}, {24, 120}, kPlain));
    EXPECT_THAT(text, HasSubstr("read n/a"));
    EXPECT_THAT(text, testing::ContainsRegex("scan +3.2 +n/a +n/a +n/a +n/a"));
    EXPECT_THAT(text, testing::ContainsRegex("idle +0 +n/a +n/a +0 B/s +0 B/s"));
}

TEST(TopScreen, AtLeastIsSaid) {
    TopView view = vecadd();
    view.rows[0].rates.at_least = view.total.at_least = true;
    EXPECT_THAT(joined(draw_top(view, {}, {24, 120}, kPlain)), HasSubstr("\u2265 2.12 TB/s"));
    EXPECT_THAT(joined(draw_top(view, {}, {24, 120}, kAscii)), HasSubstr(">= 2.12 TB/s"));
}

TEST(TopScreen, FitsAnyTerminal) {
    TopView view = vecadd();
    view.state_text = "ended: its egpu process is gone";
    view.probes = {
        {.name = "bandwidth", .state = "attached", .remark = {}, .sites = 3, .kernels = 1, .attached = true}};
    for (int i = 0; i < 50; ++i)
        view.rows.push_back(
            row("void cutlass::gemm_" + std::to_string(i) + "<float, \u00e4\u00f6\u00fc>", i, 1e9, 1e8));
    for (const bool live : {true, false})
        for (const TopMode mode : {TopMode::kernels, TopMode::probes, TopMode::help})
            for (std::size_t rows = 1; rows < 60; rows += rows < 8 ? 1 : 13)
                for (std::size_t columns = 1; columns < 200; columns += columns < 30 ? 1 : 11)
                    for (const Style& style : {kPlain, kAscii}) {
                        view.live = live;
                        TopControls controls;
                        controls.mode = mode;
                        controls.message =
                            rows % 2 == 0 ? "probe bandwidth taken off; original code runs in 1 kernel" : "";
                        const auto lines = draw_top(view, controls, {rows, columns}, style);
                        ASSERT_THAT(lines, SizeIs(rows));
                        for (const auto& line : lines)
                            ASSERT_LE(display_width(line), columns) << rows << " x " << columns << ": " << line;
                    }
}

TEST(TopScreen, ControlCharactersOfNamesDoNotReachTheTerminal) {
    TopView view = vecadd();
    view.program = view.rows[0].name = "a\x1b[2J\nb";
    EXPECT_THAT(joined(draw_top(view, {}, {10, 120}, kPlain)), Not(HasSubstr("\x1b")));
    EXPECT_THAT(draw_top(view, {}, {10, 120}, kPlain), testing::Each(Not(HasSubstr("\n"))));
}

TEST(TopScreen, ScrollsAndFilters) {
    TopView view = vecadd();
    view.rows.clear();
    for (int i = 0; i < 100; ++i)
        view.rows.push_back(row("k" + std::to_string(i), 100 - i, std::nullopt, std::nullopt));
    TopControls controls;
    controls.scroll = 90;
    EXPECT_THAT(draw_top(view, controls, {24, 80}, kPlain)[3], testing::StartsWith("k90 "));
    controls.scroll = 1000;
    EXPECT_THAT(draw_top(view, controls, {24, 80}, kPlain)[3], testing::StartsWith("k99 "));
    controls = {};
    controls.filter = "nothing";
    EXPECT_THAT(joined(draw_top(view, controls, {24, 80}, kPlain)), HasSubstr("no kernel's name holds 'nothing'"));
}

TEST(Arrange, UnknownsAreLast) {
    const auto names = [](const std::vector<TopRow>& rows) {
        std::vector<std::string> all;
        for (const auto& each : rows)
            all.push_back(each.name);
        return all;
    };
    const std::vector<TopRow> rows = {row("b", 9, std::nullopt, std::nullopt), row("c", 1, 5, 5), row("a", 2, 0, 0),
                                      row("d", 3, std::nullopt, 100)};
    EXPECT_THAT(names(arrange(rows, TopSort::traffic, "")), ElementsAre("d", "c", "a", "b"));
    EXPECT_THAT(names(arrange(rows, TopSort::launches, "")), ElementsAre("b", "d", "a", "c"));
    EXPECT_THAT(names(arrange(rows, TopSort::name, "")), ElementsAre("a", "b", "c", "d"));
    EXPECT_THAT(names(arrange({row("vector_add", 1, 1, 1), row("Gemm<float>", 1, 1, 1)}, TopSort::name, "gemm")),
                ElementsAre("Gemm<float>"));
    EXPECT_THAT(names(arrange({row("vector_add", 1, 1, 1), row("add", 1, 1, 1)}, TopSort::name, "ADD*")),
                ElementsAre("add"));
}

TEST(Bars, ScaleAndGaps) {
    EXPECT_EQ(bars({0.0, 50.0, 100.0, std::nullopt, 100.0}, 100, 5, kPlain), "\u2581\u2585\u2588 \u2588");
    EXPECT_EQ(bars({0.0, 50.0, 100.0, std::nullopt, 100.0}, 100, 5, kAscii), "_=# #");
    EXPECT_EQ(bars({1.0, 2.0}, 2, 4, kAscii), "  =#") << "the newest are at the right";
    EXPECT_EQ(bars({1.0, 2.0, 3.0}, 3, 2, kAscii), "+#");
    EXPECT_EQ(bars({0.0, 0.0}, 0, 2, kAscii), "__");
}

TEST(Keys, OneByOne) {
    std::string input = "q\x1b[A\x1b[5~\xc3\xa4\x03\x7f\r ";
    const auto next = [&] { return take_key(input, false)->kind; };
    EXPECT_EQ(take_key(input, false)->text, "q");
    EXPECT_EQ(next(), KeyKind::up);
    EXPECT_EQ(next(), KeyKind::page_up);
    EXPECT_EQ(take_key(input, false)->text, "\u00e4");
    EXPECT_EQ(next(), KeyKind::interrupt);
    EXPECT_EQ(next(), KeyKind::backspace);
    EXPECT_EQ(next(), KeyKind::enter);
    EXPECT_EQ(take_key(input, false)->text, " ");
    EXPECT_FALSE(take_key(input, true));
}

TEST(Keys, UnfinishedSequencesWait) {
    for (std::string input : {"\x1b", "\x1b[", "\x1b[1;5", "\xe2\x96"}) {
        EXPECT_FALSE(take_key(input, false));
        EXPECT_TRUE(take_key(input, true)) << "nothing more came: it is over";
        EXPECT_TRUE(input.empty());
    }
    std::string alone = "\x1b";
    EXPECT_EQ(take_key(alone, true)->kind, KeyKind::escape);
}

TEST(Keys, AnyBytesComeToAnEnd) {
    std::mt19937 random(20261130);
    for (int run = 0; run < 2000; ++run) {
        std::string input;
        for (unsigned i = 0; i < random() % 20; ++i)
            input += static_cast<char>(random() % 3 == 0 ? 0x1b : random());
        for (std::size_t last = input.size() + 1; !input.empty();) {
            ASSERT_LT(input.size(), last);
            last = input.size();
            ASSERT_TRUE(take_key(input, true));
        }
    }
}

TEST(Fit, CutsBetweenCharacters) {
    EXPECT_EQ(fit("vector_add", 10, kPlain), "vector_add");
    EXPECT_EQ(fit("vector_add", 6, kPlain), "vecto\u2026");
    EXPECT_EQ(fit("vector_add", 6, kAscii), "vecto~");
    EXPECT_EQ(fit("\u00e4\u00f6\u00fc\u00df", 3, kPlain), "\u00e4\u00f6\u2026");
    EXPECT_EQ(fit("abc", 0, kPlain), "");
    EXPECT_EQ(pad("abc", 5, kPlain), "abc  ");
}

}  // namespace
}  // namespace egpu::cli
