// SPDX-License-Identifier: Apache-2.0
// What the specialiser could get wrong, one thing at a time: each is found.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

#include "../specializer/programs.hpp"

namespace egpu::ebpf::testing {
namespace {

using ::testing::HasSubstr;

const std::string kLookUpArray = "mov %r2, %r10\nadd %r2, -4\nlddw %r1, " + map_address(0) + "\ncall 1\n";

/// A branch that the space decides, a sum on a static element, a value kept on the stack and one read back from it.
Object sums() {
    return assembled(
        "ldxw %r7, [%r1+36]\nldxw %r8, [%r1+88]\nstxdw [%r10-16], %r7\njeq %r8, 0, global\n"
        "mov %r9, 9\nja counted\nglobal:\nmov %r9, 5\ncounted:\n"
        "stw [%r10-4], 2\n" +
            kLookUpArray +
            "jeq %r0, 0, out\nlock add [%r0+16], %r9\nmov %r6, %r0\n"
            "ldxdw %r7, [%r10-16]\njgt %r7, 3, out\nstxdw [%r6+24], %r7\nadd %r7, 1\nstxdw [%r6+32], %r7\n"
            "out:\nmov %r0, 0\nexit\n",
        "gpu/load");
}

/// The index of an array is known at run time only; the loop keeps its counter.
Object bucket() {
    return assembled(
        "ldxw %r7, [%r1+36]\nmov %r8, 0\nagain:\nadd %r7, %r8\nadd %r8, 1\njlt %r8, 4, again\n"
        "and %r7, 7\nstxw [%r10-4], %r7\n" +
            kLookUpArray + "jeq %r0, 0, out\nmov %r1, 1\nlock add [%r0+8], %r1\nout:\nmov %r0, 0\nexit\n",
        "gpu/load");
}

/// The first reachable instruction of which `text` is the beginning.
std::uint32_t find(const SpecializedProgram& program, const std::string& text) {
    for (std::uint32_t at = 0; at < program.instructions.size(); ++at)
        if (program.facts[at].reachable && to_text(program.instructions[at]).starts_with(text))
            return at;
    ADD_FAILURE() << "no instruction " << text;
    return 0;
}

/// What is said once `spoil` has changed one thing of a program that was good.
std::string said_of(const Object& object, const std::function<void(SpecializedProgram&)>& spoil) {
    EXPECT_TRUE(verify(object, object.programs[0])) << to_text(verify(object, object.programs[0]).error());
    SpecializedProgram program = specialized(object);
    spoil(program);
    const auto checked = recheck(program, global_load());
    if (checked)
        return "nothing";
    EXPECT_EQ(checked.error().code, "EGPU-V059");
    EXPECT_THAT(checked.error().fix, HasSubstr("defect of egpu"));
    return checked.error().message;
}

TEST(Spoilt, NothingIsWrongWithTheProgramsAsTheyAre) {
    EXPECT_EQ(said_of(sums(), [](SpecializedProgram&) {}), "nothing");
    EXPECT_EQ(said_of(bucket(), [](SpecializedProgram&) {}), "nothing");
}

/// One site after the other: what has another outline than those before is walked, what has the same is not.
TEST(Spoilt, WhatIsNewIsCheckedAgain) {
    const Object object = sums();
    SpecializedProgram program = specialized(object);
    Recheck sites;
    EXPECT_TRUE(sites.check_new(program, global_load()));
    EXPECT_TRUE(sites.check_new(program, global_load()));
    program.facts[find(program, "*(u64 *)(r6 +24)")].needed = false;
    const auto checked = sites.check_new(program, global_load());
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, "EGPU-V059");
    EXPECT_FALSE(sites.check_new(program, global_load())) << "what was found wrong is not kept as good";
}

TEST(Spoilt, BranchFlipped) {
    EXPECT_THAT(said_of(sums(),
                        [](SpecializedProgram& program) {
                            auto& branch = program.facts[find(program, "if r8 == 0x0")].branch;
                            ASSERT_EQ(branch, true);
                            branch = false;
                        }),
                HasSubstr("wrong"));
}

TEST(Spoilt, BranchDecidedThatIsNot) {
    EXPECT_THAT(
        said_of(sums(),
                [](SpecializedProgram& program) { program.facts[find(program, "if r7 > 0x3")].branch = false; }),
        HasSubstr("never taken here may be taken"));
}

TEST(Spoilt, WrongConstant) {
    EXPECT_THAT(said_of(sums(),
                        [](SpecializedProgram& program) {
                            auto& facts = program.facts[find(program, "r9 = 5")];
                            facts.result = facts.destination_after.constant = 6;
                        }),
                HasSubstr("r9 is not what was counted on"));
}

TEST(Spoilt, ConstantOfAFieldOfTheSite) {
    EXPECT_THAT(
        said_of(sums(),
                [](SpecializedProgram& program) { program.facts[find(program, "r8 = *(u32 *)(r1 +88)")].result = 1; }),
        HasSubstr("taken for 1"));
}

TEST(Spoilt, ConstantThatIsNone) {
    EXPECT_THAT(said_of(bucket(),
                        [](SpecializedProgram& program) {
                            auto& facts = program.facts[find(program, "r8 += 1")];
                            facts.destination_after = specializer::Value::of(1);
                        }),
                HasSubstr("r8 is not what was counted on"));
}

TEST(Spoilt, ReachedAndCalledUnreachable) {
    EXPECT_THAT(
        said_of(sums(), [](SpecializedProgram& program) { program.facts[find(program, "r6 = r0")].reachable = false; }),
        HasSubstr("unreachable is reached"));
}

/// Leaves an instruction out as the specialiser would.
void leave_out(SpecializedProgram& program, std::uint32_t at) {
    program.facts[at].needed = false;
    const std::uint32_t next = at + 1 < program.onward.size() ? program.onward[at + 1] : SpecializedProgram::kEnd;
    std::ranges::replace(program.onward, at, next);
}

TEST(Spoilt, StoreToAMapLeftOut) {
    EXPECT_THAT(
        said_of(sums(), [](SpecializedProgram& program) { leave_out(program, find(program, "*(u64 *)(r6 +24)")); }),
        HasSubstr("a write to a map was left out"));
    EXPECT_THAT(said_of(sums(), [](SpecializedProgram& program) { leave_out(program, find(program, "lock")); }),
                HasSubstr("a write to a map was left out"));
}

TEST(Spoilt, StoreToTheStackLeftOut) {
    EXPECT_THAT(
        said_of(sums(), [](SpecializedProgram& program) { leave_out(program, find(program, "*(u64 *)(r10 -16)")); }),
        HasSubstr("a store to them was left out"));
    EXPECT_THAT(
        said_of(bucket(), [](SpecializedProgram& program) { leave_out(program, find(program, "*(u32 *)(r10 -4)")); }),
        HasSubstr("a store to them was left out"));
}

TEST(Spoilt, ArithmeticLeftOut) {
    EXPECT_THAT(said_of(bucket(), [](SpecializedProgram& program) { leave_out(program, find(program, "r8 += 1")); }),
                HasSubstr("r8 is read at run time"));
    EXPECT_THAT(said_of(sums(), [](SpecializedProgram& program) { leave_out(program, find(program, "r7 += 1")); }),
                HasSubstr("r7 is read at run time"));
}

TEST(Spoilt, ResultCalledNotNeeded) {
    const auto call = "call bpf_map_lookup_elem";
    EXPECT_THAT(said_of(bucket(),
                        [&](SpecializedProgram& program) { program.facts[find(program, call)].result_needed = false; }),
                HasSubstr("r0 is read at run time"));
}

TEST(Spoilt, ElementsByteMoved) {
    EXPECT_THAT(
        said_of(sums(), [](SpecializedProgram& program) { program.facts[find(program, "lock")].memory->byte += 8; }),
        HasSubstr("another element of a map"));
    EXPECT_THAT(said_of(sums(), [](SpecializedProgram& program) { program.accumulators.at(0).element.byte += 8; }),
                HasSubstr("a sum that may be kept in a register"));
    EXPECT_THAT(said_of(sums(), [](SpecializedProgram& program) { program.accumulators.at(0).constant = 4; }),
                HasSubstr("what is added to a sum"));
}

TEST(Spoilt, AnotherSlot) {
    EXPECT_THAT(
        said_of(sums(), [](SpecializedProgram& program) { program.facts[find(program, "lock")].memory->slot = 3; }),
        HasSubstr("another element of a map"));
    EXPECT_THAT(said_of(sums(), [](SpecializedProgram& program) { program.keys.at(0).bytes[0] = 3; }),
                HasSubstr("r0 is not what was counted on"));
    EXPECT_THAT(
        said_of(sums(),
                [](SpecializedProgram& program) { program.facts[find(program, "r6 = r0")].pointer_result->slot = 3; }),
        HasSubstr("an address that was taken for known"));
}

TEST(Spoilt, AccessesNotListed) {
    EXPECT_THAT(said_of(sums(), [](SpecializedProgram& program) { program.accesses.pop_back(); }),
                HasSubstr("is not listed"));
    EXPECT_THAT(said_of(sums(), [](SpecializedProgram& program) { program.accesses.at(0).byte = 8; }),
                HasSubstr("is listed as another one"));
    EXPECT_THAT(said_of(bucket(), [](SpecializedProgram& program) { program.accesses.at(0).slot = 1; }),
                HasSubstr("is listed as another one"));
}

TEST(Spoilt, FieldNotSupplied) {
    EXPECT_THAT(said_of(sums(), [](SpecializedProgram& program) { program.fields_read.clear(); }),
                HasSubstr("'lane' is read"));
}

TEST(Spoilt, PlacesOnTheStack) {
    EXPECT_THAT(said_of(sums(), [](SpecializedProgram& program) { program.stack.clear(); }),
                HasSubstr("have no place at run time"));
    EXPECT_THAT(said_of(sums(), [](SpecializedProgram& program) { program.stack.push_back(program.stack.front()); }),
                HasSubstr("is another's"));
    EXPECT_THAT(said_of(sums(), [](SpecializedProgram& program) { program.stack.front().bytes = 4; }),
                HasSubstr("have no place at run time"));
}

TEST(Spoilt, Order) {
    EXPECT_THAT(said_of(sums(), [](SpecializedProgram& program) { program.onward.front() = SpecializedProgram::kEnd; }),
                HasSubstr("what is executed next"));
    EXPECT_THAT(said_of(sums(), [](SpecializedProgram& program) { program.empty = true; }), HasSubstr("called empty"));
    // A jump left out whose sides do not do the same.
    EXPECT_THAT(said_of(sums(), [](SpecializedProgram& program) { leave_out(program, find(program, "if r7 > 0x3")); }),
                HasSubstr("what is executed next"));
}

TEST(Spoilt, MoreThanTheProgramMayCost) {
    const Object object = sums();
    const auto checked = recheck(specialized(object), global_load(), 3);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, "EGPU-V059");
}

/// The verifier calls a key that only a flag decides known at the site; the specialiser doesn't know it.
TEST(Confirmed, KeyThatOnlyAFlagDecides) {
    const Object object = assembled(
        "ldxw %r7, [%r1+36]\nmov %r8, 2\njgt %r7, 3, high\nmov %r8, 1\nhigh:\n"
        "stxw [%r10-4], %r8\n" +
            kLookUpArray + "jeq %r0, 0, out\nmov %r1, 1\nlock add [%r0+8], %r1\nout:\nmov %r0, 0\nexit\n",
        "gpu/load");
    EXPECT_EQ(said_of(object, [](SpecializedProgram&) {}), "nothing");
    EXPECT_THAT(said_of(object, [](SpecializedProgram& program) { leave_out(program, find(program, "r8 = 1")); }),
                HasSubstr("r8 is read at run time"));
}

/// A pointer moved by any number may be NULL, by way of an overflow.
TEST(Confirmed, PointerMovedFar) {
    const Object object = assembled("ldxdw %r7, [%r1+104]\nstw [%r10-4], 2\n" + kLookUpArray +
                                        "jeq %r0, 0, out\nmov %r6, %r0\nadd %r0, %r7\njeq %r0, 0, out\n"
                                        "mov %r1, 1\nlock add [%r6+8], %r1\nout:\nmov %r0, 0\nexit\n",
                                    "gpu/load");
    EXPECT_EQ(said_of(object, [](SpecializedProgram&) {}), "nothing");
}

/// Each copy of a function has facts of its own.
TEST(Confirmed, FunctionsWrittenOut) {
    const Object object = assembled(
        "mov %r1, 1\ncall local twice\nmov %r6, %r0\nmov %r1, %r6\ncall local twice\n"
        "mov %r7, %r0\nstw [%r10-4], 2\n" +
            kLookUpArray +
            "jeq %r0, 0, out\nlock add [%r0+8], %r7\nout:\nmov %r0, 0\nexit\n"
            "twice:\nmov %r6, %r1\nadd %r6, %r1\nmov %r0, %r6\nexit\n",
        "gpu/load");
    EXPECT_EQ(said_of(object,
                      [](SpecializedProgram& program) {
                          ASSERT_EQ(program.accumulators.size(), 1u);
                          EXPECT_EQ(program.accumulators[0].constant, 4u);
                      }),
              "nothing");
}

}  // namespace
}  // namespace egpu::ebpf::testing
