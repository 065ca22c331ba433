// SPDX-License-Identifier: Apache-2.0
// Programs at the events that look at instructions, on the simulated GPU: the copy computes what its original does, and
// the counts are those that follow from the kernel's text, worked out below.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include "copy_run.hpp"

namespace egpu::inject {
namespace {

using testing::CopyRun, testing::kAll, testing::kBlocks, testing::kElements;

/// Keys of the map `executed` (tests/data/ebpf/inject/instructions.bpf.c).
enum Kind : std::uint32_t { adds, all, barriers, branches, calls, products, blocks, parameters, returns, taken, kinds };

struct Executed {
    std::uint64_t threads = 0, warps = 0;
};

/// The threads of a warp that go through a place together, lane by lane.
class Expected {
public:
    void add(Kind kind, std::uint64_t lanes) {
        counts_[kind].threads += lanes;
        counts_[kind].warps += lanes > 0 ? 1 : 0;
    }
    const Executed& operator[](Kind kind) const { return counts_[kind]; }

private:
    Executed counts_[kinds];
};

/// What one warp does in tests/data/ptx/inject/run/instructions.ptx. Where lanes come to a place at different times
/// (the function's end in another order than its start is not among them: it is left by a return that joins them), the
/// number of warps is not predicted.
Expected expected_counts() {
    Expected counts;
    for (std::uint32_t warp = 0; warp < kAll / 32; ++warp) {
        const auto lanes = [&](auto holds) {
            std::uint64_t count = 0;
            for (std::uint32_t thread = warp * 32; thread < warp * 32 + 32; ++thread)
                count += holds(thread) ? 1 : 0;
            return count;
        };
        const auto everyone = [](std::uint32_t) { return true; };
        const auto odd = [](std::uint32_t thread) { return thread % 2 == 1; };
        const auto calling = [](std::uint32_t thread) { return thread < kElements; };
        const auto run = [&](auto who, std::initializer_list<Kind> which) {
            counts.add(all, lanes(who));
            for (const Kind kind : which)
                counts.add(kind, lanes(who));
        };
        const auto block = [&](auto who) { counts.add(blocks, lanes(who)); };
        const auto times = [&](std::uint32_t number, auto who, std::initializer_list<Kind> which = {}) {
            for (std::uint32_t i = 0; i < number; ++i)
                run(who, which);
        };

        block(everyone);
        times(4, everyone);
        run(everyone, {parameters});
        times(2, everyone);
        run(everyone, {adds});
        times(5, everyone);
        for (std::uint32_t round = 0; round < 4; ++round) {
            const auto here = [round](std::uint32_t thread) { return thread % 4 >= round; };
            const auto goes_on = [round](std::uint32_t thread) { return thread % 4 > round; };
            const auto leaves = [round](std::uint32_t thread) { return thread % 4 == round; };
            block(here);
            run(here, {});
            run(leaves, {taken});               // the guarded branch is executed by the lanes that take it ...
            counts.add(branches, lanes(here));  // ... and seen by all that come to it
            block(goes_on);
            run(goes_on, {adds});
            run([&](std::uint32_t thread) { return goes_on(thread) && odd(thread); }, {adds});
            run(goes_on, {branches, taken});
        }
        block(everyone);
        run(everyone, {barriers});
        run(everyone, {});
        const bool third = warp % 3 == 2;
        run([&](std::uint32_t) { return third; }, {taken});
        counts.add(branches, 32);
        block([&](std::uint32_t) { return !third; });
        run([&](std::uint32_t) { return !third; }, {barriers});
        block(everyone);
        run(everyone, {parameters});
        run(everyone, {});
        run([&](std::uint32_t thread) { return !calling(thread); }, {taken});
        counts.add(branches, 32);
        block(calling);
        run(calling, {parameters});  // st.param
        run([&](std::uint32_t thread) { return calling(thread) && odd(thread); }, {adds});
        run(calling, {calls});
        block(calling);  // the function
        run(calling, {parameters});
        times(2, calling);
        run([&](std::uint32_t thread) { return calling(thread) && !odd(thread); }, {taken});
        counts.add(branches, lanes(calling));
        block([&](std::uint32_t thread) { return calling(thread) && odd(thread); });
        run([&](std::uint32_t thread) { return calling(thread) && odd(thread); }, {adds});
        block(calling);
        run(calling, {});
        run(calling, {parameters});
        run(calling, {returns});
        run(calling, {parameters});  // ld.param of the result
        run(calling, {adds});
        block(everyone);
        times(2, everyone);
        const auto third_thread = [](std::uint32_t thread) { return thread % 3 == 0; };
        run(third_thread, {calls});
        block(third_thread);
        run(third_thread, {returns});
        run(everyone, {});
        run(odd, {returns});
        block([&](std::uint32_t thread) { return !odd(thread); });
        run([&](std::uint32_t thread) { return !odd(thread); }, {});
    }
    return counts;
}

void expect_counts(CopyRun& run) {
    const Expected counts = expected_counts();
    for (const Kind kind : {adds, all, barriers, branches, calls, products, blocks, parameters, returns, taken}) {
        SCOPED_TRACE(fmt::format("kind {}", static_cast<std::uint32_t>(kind)));
        EXPECT_EQ(run.word("instructions/executed", {kind}, 0), counts[kind].threads);
        EXPECT_EQ(run.word("instructions/executed", {kind}, 8), counts[kind].warps);
        EXPECT_EQ(run.word("instructions/executed", {kind}, 16), counts[kind].threads);
    }
}

class Events : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Events, AtInstructionsOfEveryKind) {
    CopyRun run;
    run.attach("instructions");
    run.set_budget(GetParam());
    run.run("instructions");
    expect_counts(run);
}

/// Beside programs at memory, at the entry and at the exits: each still counts what it did alone.
TEST_P(Events, BesideOtherPrograms) {
    CopyRun run;
    run.attach("entry_exit");
    run.attach("instructions");
    run.attach("bandwidth");
    run.set_budget(GetParam());
    run.run("instructions");
    expect_counts(run);
    EXPECT_EQ(run.word("bandwidth/traffic", {7, 0, 1}, 0), 4 * kAll);
    EXPECT_EQ(run.word("entry_exit/ends", {7}, 0), kAll);
    EXPECT_EQ(run.word("entry_exit/ends", {7}, 8), kAll);
}

INSTANTIATE_TEST_SUITE_P(Run, Events, ::testing::Values(0, 1, 4, 16),
                         [](const auto& information) { return fmt::format("Registers{}", information.param); });

TEST_P(Events, AtomicsWhenTheirValueIsThere) {
    CopyRun run;
    run.attach("atomics");
    run.attach("bandwidth");
    run.set_budget(GetParam());
    run.run("atomics");
    EXPECT_EQ(run.word("atomics/atomics", {0}, 0), kAll + kElements);
    // Both words are counted up from what they hold at first: the sum of what came back is the same in any order.
    const std::uint64_t first = CopyRun::initial_word(0);
    EXPECT_EQ(run.word("atomics/atomics", {0}, 8),
              kAll * first + kAll * (kAll - 1) / 2 + kElements * first + 3 * (kElements * (kElements - 1) / 2));
    EXPECT_EQ(run.word("atomics/atomics", {0}, 16), kAll / 32 + (kElements + 31) / 32);
    EXPECT_EQ(run.word("atomics/atomics", {0}, 24), kAll + kElements);
    EXPECT_GT(run.word("atomics/atomics", {0}, 32), 0u);
    EXPECT_EQ(run.word("bandwidth/traffic", {7, 0, 2}, 8), 2 * kAll + kElements);
}

/// Every branch, block and barrier of kernels that other tests are about: the results stay the same.
TEST(Events, LeaveOtherKernelsAsTheyAre) {
    for (const char* kernel : {"branches", "loops", "everything", "early_return"}) {
        SCOPED_TRACE(kernel);
        CopyRun run;
        run.attach("instructions");
        run.run(kernel);
        EXPECT_GT(run.word("instructions/executed", {all}, 0), kAll);
        EXPECT_GE(run.word("instructions/executed", {blocks}, 0), kAll);
        EXPECT_EQ(run.word("instructions/executed", {all}, 0), run.word("instructions/executed", {all}, 16));
    }
}

}  // namespace
}  // namespace egpu::inject
