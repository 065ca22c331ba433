// SPDX-License-Identifier: Apache-2.0
// Programs that run once a grid: for the first thread of a launch and its last, and what happens to launches that meet.
#include <gtest/gtest.h>

#include "copy_run.hpp"

namespace egpu::inject {
namespace {

using testing::CopyRun;

/// A launch's first and last thread: one of each, whatever ways its threads leave by. Each launch here has the first
/// id, and so the same line.
constexpr std::uint64_t kGridOwner = 2, kLaunchLine = kGridHeadBytes + kGridLineBytes, kOther = 5 + kGridLines;

class OnceAGrid : public ::testing::TestWithParam<const char*> {
protected:
    OnceAGrid() { run_.attach("once_a_grid"); }
    void run() { run_.run(GetParam()); }
    std::uint64_t begun() { return run_.word("once_a_grid/launches", {7}, 0); }
    std::uint64_t ended() { return run_.word("once_a_grid/launches", {7}, 8); }
    std::uint64_t lost() { return run_.grids_word(0); }
    std::uint64_t owner() { return run_.grids_word(kLaunchLine); }
    std::uint64_t left() { return run_.grids_word(kLaunchLine + 8); }
    CopyRun run_;
};

TEST_P(OnceAGrid, FirstAndLast) {
    for (const std::uint32_t workers : {1u, 2u}) {
        CopyRun run;
        run.attach("once_a_grid");
        run.attach("bandwidth");
        run.run(GetParam(), workers);
        const auto of_launches = [&run](std::uint32_t byte) { return run.word("once_a_grid/launches", {7}, byte); };
        EXPECT_EQ(of_launches(0), 1u) << "begun";
        EXPECT_EQ(of_launches(8), 1u) << "ended";
        EXPECT_EQ(of_launches(16), 2u) << "lanes";
        EXPECT_LT(of_launches(24), 60'000'000'000u) << "elapsed, ns";
        EXPECT_EQ(run.grids_word(0), 0u) << "not followed";
        EXPECT_GT(run.grids_word(kLaunchLine + 16), 0u) << "when it began";
        EXPECT_EQ(run.grids_word(kLaunchLine), 0u) << "owner";
        EXPECT_EQ(run.grids_word(kLaunchLine + 8), 0u) << "left";
    }
}

/// The end is told to a kernel that has a program there alone.
TEST_P(OnceAGrid, TheLastAlone) {
    CopyRun run;
    run.attach("once_a_grid", "last_leaves");
    run.run(GetParam());
    EXPECT_EQ(run.word("once_a_grid/launches", {7}, 0), 0u);
    EXPECT_EQ(run.word("once_a_grid/launches", {7}, 8), 1u);
}

TEST_P(OnceAGrid, TwoAtOneLineAreGivenUp) {
    run_.set_grids_word(kLaunchLine, kOther);
    run_.set_grids_word(kLaunchLine + 8, 32);
    run();
    EXPECT_EQ(begun() + ended(), 0u);
    EXPECT_EQ(lost(), 2u);
    EXPECT_EQ(owner(), kGridDirty | kGridOwner);
}

TEST_P(OnceAGrid, TheNextMakesTheLineCleanAndIsGivenUp) {
    run_.set_grids_word(kLaunchLine, kGridDirty | kOther);
    run_.set_grids_word(kLaunchLine + 8, 32);
    run();
    EXPECT_EQ(begun() + ended(), 0u);
    EXPECT_EQ(lost(), 1u);
    EXPECT_EQ(owner(), kGridClean | kGridOwner);
    EXPECT_EQ(left(), 0u);
}

TEST_P(OnceAGrid, AnyOtherAfterThatHasTheLine) {
    run_.set_grids_word(kLaunchLine, kGridClean | kOther);
    run();
    EXPECT_EQ(begun(), 1u);
    EXPECT_EQ(ended(), 1u);
    EXPECT_EQ(lost(), 0u);
    EXPECT_EQ(owner(), 0u);
}

/// While one launch cleans the line, others are given up.
TEST_P(OnceAGrid, ALineThatIsBeingCleanedIsNobodys) {
    run_.set_grids_word(kLaunchLine, kGridCleaning | kOther);
    run();
    EXPECT_EQ(begun() + ended(), 0u);
    EXPECT_EQ(owner(), kGridCleaning | kOther);
}

/// A launch that was given up stays so, whatever is at its line later.
TEST_P(OnceAGrid, ALaunchIsGivenUpOnce) {
    for (const std::uint64_t flag : {kGridClean, kGridDirty, kGridCleaning}) {
        run_.set_grids_word(kLaunchLine, flag | kGridOwner);
        run();
        EXPECT_EQ(begun() + ended(), 0u);
        EXPECT_EQ(lost(), 0u);
        EXPECT_EQ(owner(), flag | kGridOwner);
    }
}
/// Launches of many blocks count in stripes: what became of that of block 1 is put there before.
class Stripes : public ::testing::TestWithParam<std::uint32_t> {
protected:
    static constexpr std::uint64_t kSet = kGridSetsAt + kGridStripes * kGridStripeBytes;  // of the first id
    static std::uint64_t stripe(std::uint64_t number) { return kSet + number * kGridStripeBytes; }

    Stripes() { run_.attach("once_a_grid"); }
    void run() {
        run_.run("early_return", 2, GetParam());
        for (std::uint32_t number = 0; number < kGridStripes; ++number) {
            if (number == 1)
                continue;
            EXPECT_EQ(run_.grids_word(stripe(number)), 0u) << number;
            EXPECT_EQ(run_.grids_word(stripe(number) + 8), 0u) << number;
        }
    }
    std::uint64_t begun() { return run_.word("once_a_grid/launches", {7}, 0); }
    std::uint64_t ended() { return run_.word("once_a_grid/launches", {7}, 8); }
    CopyRun run_;
};

TEST_P(Stripes, FirstAndLast) {
    run();
    EXPECT_EQ(begun(), 1u);
    EXPECT_EQ(ended(), 1u);
    EXPECT_EQ(run_.grids_word(0), 0u);
    EXPECT_EQ(run_.grids_word(kLaunchLine), 0u);
    EXPECT_EQ(run_.grids_word(kLaunchLine + 8), 0u);
    EXPECT_EQ(run_.grids_word(stripe(1)), 0u);
}

TEST_P(Stripes, OneThatAnotherHasGivesBothUp) {
    run_.set_grids_word(stripe(1), kOther);
    run_.set_grids_word(stripe(1) + 8, 32);
    run();
    EXPECT_LE(begun(), 1u);  // another block may have been the first before
    EXPECT_EQ(ended(), 0u);
    EXPECT_EQ(run_.grids_word(0), 2u);
    EXPECT_EQ(run_.grids_word(kLaunchLine), kGridDirty | kGridOwner);
    EXPECT_EQ(run_.grids_word(stripe(1)), kGridDirty | kGridOwner);
}

TEST_P(Stripes, TheNextMakesItClean) {
    run_.set_grids_word(stripe(1), kGridDirty | kOther);
    run_.set_grids_word(stripe(1) + 8, 32);
    run();
    EXPECT_EQ(ended(), 0u);
    EXPECT_EQ(run_.grids_word(0), 1u);
    EXPECT_EQ(run_.grids_word(stripe(1)), kGridClean | kGridOwner);
    EXPECT_EQ(run_.grids_word(stripe(1) + 8), 0u);
}

TEST_P(Stripes, AnyOtherAfterThatHasIt) {
    run_.set_grids_word(stripe(1), kGridClean | kOther);
    run();
    EXPECT_EQ(begun(), 1u);
    EXPECT_EQ(ended(), 1u);
    EXPECT_EQ(run_.grids_word(stripe(1)), 0u);
}
INSTANTIATE_TEST_SUITE_P(Run, Stripes, ::testing::Values(129, 256, 300),
                         [](const auto& information) { return fmt::format("Blocks{}", information.param); });

INSTANTIATE_TEST_SUITE_P(Run, OnceAGrid, ::testing::Values("early_return", "loops", "everything", "branches"),
                         [](const auto& information) { return std::string(information.param); });

}  // namespace
}  // namespace egpu::inject
