// SPDX-License-Identifier: Apache-2.0
// What is left of a program at one site: static keys, needed instructions, accumulators, accesses in their way.
#include <gmock/gmock.h>

#include "programs.hpp"

namespace egpu::ebpf::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(Bundled, BandwidthIsTwoConstantAdds) {
    const Object object = bundled("bandwidth");
    SlotGiver slots{&object, 1000, {}, 0};
    const auto program = confirmed(object, global_load(), slots);
    ASSERT_TRUE(program) << to_text(program.error());
    ASSERT_EQ(program->accumulators.size(), 2u);
    EXPECT_EQ(program->accumulators[0].element, (StaticElement{0, 0, 0}));
    EXPECT_EQ(program->accumulators[0].constant, 4u);
    EXPECT_EQ(program->accumulators[1].element, (StaticElement{0, 0, 8}));
    EXPECT_EQ(program->accumulators[1].constant, 1u);
    EXPECT_EQ(needed(*program).size(), 2u);
    EXPECT_THAT(program->accesses, IsEmpty());
    EXPECT_THAT(program->fields_read, IsEmpty());
    EXPECT_EQ(program->stack_bytes, 0u);
    EXPECT_EQ(slots.calls, 1u);
    // The key is the struct of kernel 3, space global, access load.
    const auto& key = slots.given.begin()->first.second;
    EXPECT_EQ(key, (std::vector<std::byte>{std::byte{3}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}));
}

TEST(Bundled, CoalescingReadsTwoFields) {
    const Object object = bundled("coalescing");
    const auto program = specialized(object);
    EXPECT_THAT(program.fields_read, UnorderedElementsAre("sectors", "bytes"));
    ASSERT_EQ(program.accumulators.size(), 3u);
    EXPECT_EQ(program.accumulators[0].constant, 1u);
    EXPECT_FALSE(program.accumulators[1].constant);
    EXPECT_EQ(program.stack_bytes, 0u);
}

TEST(Bundled, LatencyAddsToASlotKnownAtRunTime) {
    const Object object = bundled("latency");
    const auto program = specialized(object);
    EXPECT_THAT(program.fields_read, UnorderedElementsAre("latency"));
    EXPECT_THAT(program.accumulators, IsEmpty());
    ASSERT_EQ(program.accesses.size(), 1u);
    EXPECT_EQ(program.accesses[0].slot, 0u);
    EXPECT_FALSE(program.accesses[0].byte);
    EXPECT_TRUE(program.accesses[0].is_commuting_add);
    EXPECT_EQ(program.stack_bytes, 0u);
}

TEST(StaticKeys, FullMapGivesNull) {
    const Object object = bundled("bandwidth");
    SlotGiver slots{&object, 0, {}, 0};
    const auto program = confirmed(object, global_load(), slots);
    ASSERT_TRUE(program);
    EXPECT_TRUE(program->empty);
    EXPECT_EQ(program->full_maps, 1u);
    EXPECT_THAT(program->accumulators, IsEmpty());
}

TEST(StaticKeys, EachKeyIsAskedForOnce) {
    const Object object = assembled(
        "stdw [%r10-8], 5\n"
        "mov %r2, %r10\nadd %r2, -8\nlddw %r1, " +
        map_address(1) +
        "\ncall 0x10003\n"
        "jeq %r0, 0, out\nmov %r6, %r0\n"
        "mov %r2, %r10\nadd %r2, -8\nlddw %r1, " +
        map_address(1) +
        "\ncall 0x10003\n"
        "jeq %r0, 0, out\nmov %r1, 1\nlock add [%r6+0], %r1\nlock add [%r0+8], %r1\n"
        "out:\nmov %r0, 0\nexit\n");
    SlotGiver slots{&object, 1000, {}, 0};
    const auto program = confirmed(object, global_load(), slots);
    ASSERT_TRUE(program) << to_text(program.error());
    EXPECT_EQ(slots.calls, 1u);
    ASSERT_EQ(program->accumulators.size(), 2u);
    EXPECT_EQ(program->accumulators[1].element, (StaticElement{1, 0, 8}));
}

TEST(StaticKeys, NestedLookupBehindAFullMapIsNotMade) {
    const Object object = assembled(
        "stdw [%r10-8], 5\n"
        "mov %r2, %r10\nadd %r2, -8\nlddw %r1, " +
        map_address(1) +
        "\ncall 0x10003\n"
        "jeq %r0, 0, out\n"
        "stw [%r10-12], 2\nmov %r2, %r10\nadd %r2, -12\nlddw %r1, " +
        map_address(0) +
        "\ncall 1\njeq %r0, 0, out\nmov %r1, 1\nlock add [%r0+0], %r1\n"
        "out:\nmov %r0, 0\nexit\n");
    SlotGiver slots{&object, 0, {}, 0};
    const auto program = confirmed(object, global_load(), slots);
    ASSERT_TRUE(program) << to_text(program.error());
    EXPECT_EQ(slots.calls, 1u);
    EXPECT_TRUE(program->empty);
}

TEST(StaticKeys, ArrayIndexOutsideIsNull) {
    const Object object = assembled("stw [%r10-4], 8\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " + map_address(0) +
                                    "\ncall 1\njeq %r0, 0, out\nmov %r1, 1\nlock add [%r0+0], %r1\n"
                                    "out:\nmov %r0, 0\nexit\n");
    const auto program = specialized(object);
    EXPECT_TRUE(program.empty);
    EXPECT_EQ(program.full_maps, 0u);
}

TEST(Loops, StayLoopsAndAddsInThemAreCandidates) {
    const Object object =
        assembled("ldxw %r7, [%r1+36]\nstw [%r10-4], 2\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " + map_address(0) +
                  "\ncall 1\njeq %r0, 0, out\nmov %r1, 3\n"
                  "again:\nlock add [%r0+16], %r1\nadd %r7, -1\njgt %r7, 5, again\n"
                  "out:\nmov %r0, 0\nexit\n");
    const auto program = specialized(object);
    ASSERT_EQ(program.accumulators.size(), 1u);
    EXPECT_EQ(program.accumulators[0].element, (StaticElement{0, 2, 16}));
    EXPECT_EQ(program.accumulators[0].constant, 3u);
    EXPECT_THAT(program.fields_read, UnorderedElementsAre("lane"));
}

TEST(Loops, KeyThatChangesIsNotStatic) {
    const Object object =
        assembled("mov %r7, 0\nagain:\nstxw [%r10-4], %r7\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " + map_address(0) +
                  "\ncall 1\njeq %r0, 0, next\nmov %r1, 1\nlock add [%r0+0], %r1\n"
                  "next:\nadd %r7, 1\njlt %r7, 4, again\nmov %r0, 0\nexit\n");
    const auto program = specialized(object);
    EXPECT_THAT(program.accumulators, IsEmpty());
    ASSERT_EQ(program.accesses.size(), 1u);
    EXPECT_FALSE(program.accesses[0].slot);
    EXPECT_EQ(program.accesses[0].byte, 0u);
    // The index is kept in a register: nothing takes the slot's address.
    ASSERT_EQ(program.stack.size(), 1u);
    EXPECT_FALSE(program.stack[0].in_memory);
}

TEST(Effects, ProgramThatOnlyLooksIsEmpty) {
    EXPECT_TRUE(specialized(assembled("ldxw %r2, [%r1+36]\njgt %r2, 3, more\nmov %r0, 1\nexit\n"
                                      "more:\nstxdw [%r10-8], %r2\nmov %r0, 0\nexit\n"))
                    .empty);
}

TEST(Effects, JumpAroundNothingIsDropped) {
    const Object object = assembled(
        "ldxw %r7, [%r1+36]\njgt %r7, 3, more\nmov %r8, 1\nmore:\n"
        "stw [%r10-4], 2\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " +
        map_address(0) +
        "\ncall 1\njeq %r0, 0, out\nmov %r1, 3\nlock add [%r0+16], %r1\n"
        "out:\nmov %r0, 0\nexit\n");
    const auto program = specialized(object);
    EXPECT_EQ(needed(program).size(), 1u);
    EXPECT_THAT(program.fields_read, IsEmpty());
}

TEST(InTheWay, OnlyWhatCouldSeeOrChangeTheElement) {
    const StaticElement element{4, 2, 8};
    MapAccess load{4, 2, 8, 8, true, false, false, 0};
    EXPECT_TRUE(stands_in_the_way(load, element));
    load.byte = 16;
    EXPECT_FALSE(stands_in_the_way(load, element));
    load.byte = 12;
    load.bytes = 4;
    EXPECT_TRUE(stands_in_the_way(load, element));
    load.slot = 3;
    EXPECT_FALSE(stands_in_the_way(load, element));
    load.slot.reset();
    EXPECT_TRUE(stands_in_the_way(load, element));
    load.byte.reset();
    EXPECT_TRUE(stands_in_the_way(load, element));
    load.map = 5;
    EXPECT_FALSE(stands_in_the_way(load, element));
    load.map = kAnyMap;
    EXPECT_TRUE(stands_in_the_way(load, element));
    load.is_commuting_add = true;
    EXPECT_FALSE(stands_in_the_way(load, element));
}

/// egpu_max: an element that it changes is in no register meanwhile.
TEST(InTheWay, ExtremesOfAnElement) {
    const std::string text = "stw [%r10-4], 2\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " + map_address(0) +
                             "\ncall 1\njeq %r0, 0, out\nmov %r6, %r0\nmov %r1, 3\nlock add [%r6+16], %r1\n"
                             "mov %r1, %r6\nadd %r1, OFFSET\nmov %r2, 9\nmov %r3, 4\ncall 0x10007\n"
                             "out:\nmov %r0, 0\nexit\n";
    for (const std::uint32_t offset : {20u, 24u}) {
        std::string with_offset = text;
        with_offset.replace(text.find("OFFSET"), 6, std::to_string(offset));
        const Object object = assembled(with_offset);
        const auto program = specialized(object);
        ASSERT_EQ(program.accumulators.size(), 1u);
        ASSERT_EQ(program.accesses.size(), 1u);
        EXPECT_TRUE(program.accesses[0].reads && program.accesses[0].writes);
        EXPECT_EQ(program.accesses[0].byte, offset);
        EXPECT_EQ(program.accesses[0].bytes, 4u);
        EXPECT_EQ(stands_in_the_way(program.accesses[0], program.accumulators[0].element), offset == 20);
    }
}

/// What all lanes find out needs to know which they are; nothing where the result isn't used.
TEST(Effects, AskingAllLanesReadsTheirMask) {
    const std::string text =
        "ldxw %r1, [%r1+36]\ncall 0x10008\nmov %r7, %r0\nstw [%r10-4], 2\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " +
        map_address(0) + "\ncall 1\njeq %r0, 0, out\n";
    const Object used = assembled(text + "stxdw [%r0+0], %r7\nout:\nmov %r0, 0\nexit\n");
    EXPECT_THAT(specialized(used).fields_read, UnorderedElementsAre("lane", "active_mask"));
    const Object unused = assembled(text + "stdw [%r0+0], 7\nout:\nmov %r0, 0\nexit\n");
    EXPECT_THAT(specialized(unused).fields_read, IsEmpty());
}

TEST(LocalCalls, AreWrittenOut) {
    const Object object = assembled(
        "stw [%r10-4], 2\nmov %r6, %r10\nadd %r6, -4\nmov %r1, %r6\ncall local count\n"
        "mov %r1, %r6\ncall local count\nmov %r0, 0\nexit\n"
        "count:\nmov %r6, %r1\nmov %r2, %r6\nlddw %r1, " +
        map_address(0) +
        "\ncall 1\njeq %r0, 0, out\nmov %r1, 1\nlock add [%r0+8], %r1\n"
        "out:\nexit\n");
    const auto program = specialized(object);
    ASSERT_EQ(program.accumulators.size(), 2u);
    EXPECT_EQ(program.accumulators[0].element, (StaticElement{0, 2, 8}));
    EXPECT_EQ(program.accumulators[1].element, (StaticElement{0, 2, 8}));
}

TEST(Joins, DifferentElementsOfOneMap) {
    const Object object = assembled(
        "ldxw %r7, [%r1+36]\nstw [%r10-4], 2\njgt %r7, 3, more\nstw [%r10-4], 3\nmore:\n"
        "mov %r2, %r10\nadd %r2, -4\nlddw %r1, " +
        map_address(0) +
        "\ncall 1\njeq %r0, 0, out\nmov %r1, 3\nlock add [%r0+16], %r1\n"
        "out:\nmov %r0, 0\nexit\n");
    const auto program = specialized(object);
    EXPECT_THAT(program.accumulators, IsEmpty());
    ASSERT_EQ(program.accesses.size(), 1u);
    EXPECT_EQ(program.accesses[0].map, 0u);
    EXPECT_FALSE(program.accesses[0].slot);
}

}  // namespace
}  // namespace egpu::ebpf::testing
