// SPDX-License-Identifier: Apache-2.0
// The text of a firing: what stands in it and what doesn't.
#include <gmock/gmock.h>

#include "harness.hpp"

namespace egpu::inject::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

EmittedProbe emitted(Harness& harness, const Object& object) {
    auto probe = harness.emit(object);
    EXPECT_TRUE(probe) << (probe ? "" : to_text(probe.error()));
    return probe ? *probe : EmittedProbe{};
}

/// DESIGN 7: a thread's sums cost two integer additions an access and nothing else.
TEST(Bandwidth, IsTwoAddsAtAnUnguardedLoad) {
    const Object object = bundled("bandwidth");
    Harness harness(object);
    harness.keep({{0, 0, 0}, {0, 0, 8}});
    const auto probe = emitted(harness, object);
    EXPECT_EQ(probe.text, "\tadd.s64 %egpu_acc0, %egpu_acc0, 4;\n\tadd.s64 %egpu_acc1, %egpu_acc1, 1;\n");
    EXPECT_EQ(probe.instructions, 2u);
    EXPECT_TRUE(harness.table.entries().empty());
    EXPECT_EQ(harness.function.required.ptx_minor, 3u);
}

TEST(Bandwidth, AddsAmountsOrZeroAtAGuardedLoad) {
    const Object object = bundled("bandwidth");
    Harness harness(object);
    harness.keep({{0, 0, 0}, {0, 0, 8}});
    harness.site.guard = "%p1";
    const auto add = [](int accumulator, const char* amounts) {
        return fmt::format(
            "\t{{\n\t.reg .b32 %egpu_w<1>;\n\t.reg .b64 %egpu_d<1>;\n\tselp.b32 %egpu_w0, {1}, %p1;\n"
            "\tcvt.u64.u32 %egpu_d0, %egpu_w0;\n\tadd.s64 %egpu_acc{0}, %egpu_acc{0}, %egpu_d0;\n\t}}\n",
            accumulator, amounts);
    };
    EXPECT_EQ(emitted(harness, object).text, add(0, "4, 0") + add(1, "1, 0"));
    harness.site.guard_negated = true;
    EXPECT_EQ(emitted(harness, object).text, add(0, "0, 4") + add(1, "0, 1"));
}

TEST(Bandwidth, WithoutAccumulatorsAddsToTheMap) {
    const Object object = bundled("bandwidth");
    Harness harness(object);
    harness.site.guard = "%p1";
    const auto probe = emitted(harness, object);
    EXPECT_THAT(probe.text, HasSubstr("red.relaxed.gpu.global.add.u64"));
    EXPECT_EQ(count_of(probe.text, "ld.const.u64"), 1);
    EXPECT_THAT(probe.text, HasSubstr(", [egpu_table+0];"));
    EXPECT_EQ(count_of(probe.text, "%smid"), 1);
    EXPECT_THAT(probe.text, HasSubstr("and.b32 %egpu_w0, %egpu_w0, 3;")) << "4 shards";
    EXPECT_EQ(count_of(probe.text, "@%p1 red."), 2);
    EXPECT_THAT(probe.text, Not(HasSubstr("bra")));
    ASSERT_EQ(harness.table.entries().size(), 1u);
    EXPECT_EQ(harness.table.entries()[0].kind, TableEntry::Kind::map_element);
}

TEST(Bandwidth, ShardsThatAreNoPowerOfTwoNeedNoDivision) {
    const Object object = bundled("bandwidth");
    Harness harness(object, 75, 132);
    for (auto& layout : harness.layouts)
        layout.shards = 132;
    const auto probe = emitted(harness, object);
    EXPECT_THAT(probe.text, HasSubstr("mul.hi.u32 %egpu_w1, %egpu_w0, 32537632;"));
    EXPECT_THAT(probe.text, HasSubstr("mad.lo.s32 %egpu_w0, %egpu_w1, -132, %egpu_w0;"));
    EXPECT_THAT(probe.text, Not(HasSubstr("rem")));
}

TEST(Bandwidth, SessionNumberingOfMaps) {
    const Object object = bundled("bandwidth");
    Harness harness(object);
    harness.layouts.insert(harness.layouts.begin(), maps::make_layout(8, 4, false, 1));
    harness.keep({{1, 0, 8}});
    SlotGiver slots{&object, 1000, {}, 0};
    const auto program = ebpf::testing::confirmed(object, harness.constants(), slots);
    ASSERT_TRUE(program);
    const auto probe = emit_probe(*program, harness.site, 1, harness.function);
    ASSERT_TRUE(probe);
    EXPECT_THAT(probe->text, HasSubstr("add.s64 %egpu_acc0, %egpu_acc0, 1"));
    ASSERT_EQ(harness.table.entries().size(), 1u);
    EXPECT_EQ(harness.table.entries()[0].map, 1u);
}

TEST(Coalescing, LeaderAddsUnderItsPredicate) {
    const Object object = bundled("coalescing");
    Harness harness(object, 70);
    harness.keep({{0, 0, 0}, {0, 0, 8}, {0, 0, 16}});
    const auto probe = emitted(harness, object);
    EXPECT_THAT(probe.text, HasSubstr("activemask.b32"));
    EXPECT_THAT(probe.text, HasSubstr("match.any.sync.b64"));
    EXPECT_THAT(probe.text, Not(HasSubstr("bra")));
    EXPECT_EQ(count_of(probe.text, "add.s64 %egpu_acc"), 3);
    EXPECT_EQ(harness.function.required.ptx_major, 6u);
    EXPECT_EQ(harness.function.required.ptx_minor, 2u);
}

TEST(Latency, BranchesAroundForTheOtherLanes) {
    const Object object = bundled("latency");
    Harness harness(object);
    harness.site.latency = "%rd5";
    const auto probe = emitted(harness, object);
    EXPECT_THAT(probe.text, HasSubstr("bra $egpu_"));
    EXPECT_THAT(probe.text, Not(HasSubstr(".local")));
    EXPECT_EQ(count_of(probe.text, "red.relaxed.gpu.global.add.u64"), 1);
}

TEST(Latency, NeedsALatency) {
    const Object object = bundled("latency");
    Harness harness(object);
    const auto probe = harness.emit(object);
    ASSERT_FALSE(probe);
    EXPECT_EQ(probe.error().code, "EGPU-P224");
}

TEST(Refused, OldTargets) {
    const Object object = bundled("bandwidth");
    Harness harness(object, 52);
    const auto probe = harness.emit(object);
    ASSERT_FALSE(probe);
    EXPECT_EQ(probe.error().code, "EGPU-P220");
    EXPECT_THAT(probe.error().message, HasSubstr("sm_52"));
}

TEST(Refused, ArgumentsThatAreNotThere) {
    const std::string text =
        "mov %r2, 2\ncall 0x10005\nmov %r7, %r0\nstw [%r10-4], 2\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " +
        map_address(0) + "\ncall 1\njeq %r0, 0, out\nstxdw [%r0+0], %r7\nout:\nmov %r0, 0\nexit\n";
    const Object object = assembled(text);
    Harness harness(object);
    EXPECT_EQ(harness.emit(object).error().code, "EGPU-P227");
    harness.site.arguments.push_back({"big", 64});
    EXPECT_EQ(harness.emit(object).error().code, "EGPU-P227");
    harness.site.arguments.back() = {"count", 4};
    EXPECT_TRUE(harness.emit(object));
    harness.site.in_device_function = true;
    EXPECT_EQ(harness.emit(object).error().code, "EGPU-P227");
}

TEST(Refused, DeviceIsNotKnown) {
    const Object object =
        assembled("ldxw %r7, [%r1+20]\nstw [%r10-4], 2\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " + map_address(0) +
                  "\ncall 1\njeq %r0, 0, out\nstxdw [%r0+0], %r7\nout:\nmov %r0, 0\nexit\n");
    Harness harness(object);
    EXPECT_EQ(harness.emit(object).error().code, "EGPU-P225");
}

/// `ld.global.v2.f32 {_, %f2}`: nobody has the first part.
TEST(Refused, DiscardedPartsOfAValue) {
    for (const int size : {4, 8}) {
        const Object object = assembled(
            fmt::format("mov %r9, %r1\nmov %r2, %r10\nadd %r2, -16\nmov %r3, {}\ncall 0x10004\nldxw %r7, [%r10-16]\n"
                        "stw [%r10-4], 0\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, {}\ncall 1\njeq %r0, 0, out\n"
                        "stxdw [%r0+0], %r7\nout:\nmov %r0, 0\nexit\n",
                        size, map_address(0)),
            "gpu/load_return");
        Harness harness(object);
        harness.site.latency = "%rd5";
        harness.site.value_type = "f32";
        harness.site.values = {"_", "%f2"};
        const auto first = harness.emit(object);
        ASSERT_FALSE(first);
        EXPECT_EQ(first.error().code, "EGPU-P226");
        harness.site.values = {"%f1", "_"};
        EXPECT_EQ(bool(harness.emit(object)), size == 4);
    }
}

TEST(Accumulators, StartAndFlush) {
    const Object object = bundled("bandwidth");
    Harness harness(object);
    harness.keep({{0, 5, 0}, {0, 5, 8}});
    EXPECT_EQ(emit_accumulator_start(harness.function),
              "\t.reg .b64 %egpu_acc0;\n\t.reg .b64 %egpu_acc1;\n\tmov.u64 %egpu_acc0, 0;\n\tmov.u64 %egpu_acc1, 0;\n");
    const std::string flush = emit_accumulator_flush(harness.function, false);
    EXPECT_EQ(count_of(flush, "ld.const.u64"), 1);
    EXPECT_EQ(count_of(flush, "red.relaxed.gpu.global.add.u64"), 2) << "each lane its element";
    EXPECT_THAT(flush, Not(HasSubstr("mov.u64 %egpu_acc0, 0")));
    EXPECT_EQ(count_of(flush, "activemask.b32"), 1);
    EXPECT_EQ(count_of(flush, "vote.sync.all.pred"), 1);
    // Round a loop, lanes may be anywhere: each for itself.
    const std::string running = emit_accumulator_flush(harness.function, true);
    EXPECT_THAT(running, HasSubstr("mov.u64 %egpu_acc0, 0"));
    EXPECT_THAT(running, Not(HasSubstr("sync")));
    ASSERT_EQ(harness.table.entries().size(), 1u);
    EXPECT_EQ(harness.table.entries()[0].slot, 5u);
    harness.function.target.sm = 60;
    EXPECT_EQ(count_of(emit_accumulator_flush(harness.function, false), "red.global.add.u64"), 2);
    harness.function.target.sm = 80;
    EXPECT_EQ(count_of(emit_accumulator_flush(harness.function, false), "redux.sync.add.u32"), 6) << "any number";
    for (auto& accumulator : harness.function.accumulators)
        accumulator.counts_instructions = true;
    EXPECT_EQ(count_of(emit_accumulator_flush(harness.function, false), "redux.sync.add.u32"), 4) << "below 2^54";
}

TEST(Empty, EmitsNothing) {
    const Object object = assembled("mov %r0, 0\nexit\n");
    Harness harness(object);
    const auto probe = emitted(harness, object);
    EXPECT_EQ(probe.text, "");
    EXPECT_EQ(probe.instructions, 0u);
}

}  // namespace
}  // namespace egpu::inject::testing
