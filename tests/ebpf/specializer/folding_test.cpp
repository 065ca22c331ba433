// SPDX-License-Identifier: Apache-2.0
// Constants through registers, stack, context and read-only data.
#include <gmock/gmock.h>

#include "ebpf/isa/semantics.hpp"
#include "programs.hpp"

namespace egpu::ebpf::testing {
namespace {

/// The value that a program, known in full, stores to array[2] at byte 0.
std::optional<std::uint64_t> stored(const std::string& text, const SiteConstants& constants = global_load()) {
    const Object object = assembled("mov %r9, %r1\nstw [%r10-504], 2\nmov %r2, %r10\nadd %r2, -504\nlddw %r1, " +
                                    map_address(0) + "\ncall 1\njne %r0, 0, go\nexit\ngo:\nmov %r8, %r0\n" + text +
                                    "stxdw [%r8+0], %r0\nmov %r0, 0\nexit\n");
    const auto program = specialized(object, constants);
    for (std::size_t at = 0; at < program.instructions.size(); ++at) {
        const auto& facts = program.facts[at];
        if (facts.needed && facts.memory == StaticElement{0, 2, 0})
            return facts.source_before.is_constant() ? std::optional(facts.source_before.constant) : std::nullopt;
    }
    ADD_FAILURE() << "no store left of\n" << text;
    return std::nullopt;
}

TEST(Folding, SiteFields) {
    EXPECT_EQ(stored("ldxw %r0, [%r9+0]\n"), 3u);
    EXPECT_EQ(stored("ldxw %r0, [%r9+4]\n"), 7u);
    EXPECT_EQ(stored("ldxw %r0, [%r9+96]\n"), 4u);
    EXPECT_EQ(stored("ldxw %r0, [%r9+36]\n"), std::nullopt);
    SiteConstants constants = global_load();
    constants.fields["bytes_per_lane"] = 0x12345680;
    EXPECT_EQ(stored("ldxb %r0, [%r9+97]\n", constants), 0x56u);
    EXPECT_EQ(stored("ldxh %r0, [%r9+98]\n", constants), 0x1234u);
    EXPECT_EQ(stored("ldxsb %r0, [%r9+96]\n", constants), 0xffffffffffffff80u);
}

/// The smallest and the largest of one number is that number; how many lanes there are is read where it counts.
TEST(Folding, NumbersOfAllLanes) {
    EXPECT_EQ(stored("mov %r1, 5\ncall 0x10009\n"), 5u);
    EXPECT_EQ(stored("mov %r1, -5\ncall 0x1000a\n"), static_cast<std::uint64_t>(-5));
    EXPECT_EQ(stored("mov %r1, 5\ncall 0x10008\n"), std::nullopt);
    EXPECT_EQ(stored("ldxw %r1, [%r9+36]\ncall 0x10009\n"), std::nullopt);
}

TEST(Folding, StackBytes) {
    EXPECT_EQ(stored("lddw %r1, 0x1122334455667788\nstxdw [%r10-8], %r1\nldxh %r0, [%r10-6]\n"), 0x5566u);
    EXPECT_EQ(stored("stw [%r10-8], 0x11223344\nstw [%r10-4], -1\nldxdw %r0, [%r10-8]\n"), 0xffffffff11223344u);
    EXPECT_EQ(stored("ldxw %r1, [%r9+36]\nstdw [%r10-8], 0\nstxb [%r10-8], %r1\nldxw %r0, [%r10-4]\n"), 0u);
    EXPECT_EQ(stored("ldxw %r1, [%r9+36]\nstdw [%r10-8], 0\nstxb [%r10-8], %r1\nldxw %r0, [%r10-8]\n"), std::nullopt);
    // A pointer kept on the stack is still known.
    EXPECT_EQ(stored("stxdw [%r10-8], %r9\nldxdw %r1, [%r10-8]\nldxw %r0, [%r1+4]\n"), 7u);
    // An index known only at run time may have overwritten anything.
    EXPECT_EQ(stored("stdw [%r10-8], 5\nstdw [%r10-16], 5\nldxw %r1, [%r9+36]\nand %r1, 8\nmov %r2, %r10\n"
                     "add %r2, -16\nadd %r2, %r1\nstdw [%r2+0], 6\nldxdw %r0, [%r10-8]\n"),
              std::nullopt);
}

TEST(Folding, AtomicsOnTheStack) {
    EXPECT_EQ(stored("stdw [%r10-8], 40\nmov %r1, 2\nlock add [%r10-8], %r1\nldxdw %r0, [%r10-8]\n"), 42u);
    EXPECT_EQ(stored("stdw [%r10-8], 40\nmov %r1, 2\nlock fetch add [%r10-8], %r1\nmov %r0, %r1\n"), 40u);
    EXPECT_EQ(stored("stdw [%r10-8], 40\nmov %r1, 2\nmov %r0, 40\nlock cmpxchg [%r10-8], %r1\nldxdw %r0, [%r10-8]\n"),
              2u);
}

TEST(Folding, BranchesAndEqualities) {
    EXPECT_EQ(stored("ldxw %r1, [%r9+88]\njeq %r1, 0, global\nmov %r0, 1\nja on\nglobal:\nmov %r0, 9\non:\n"), 9u);
    // On the way where lane == 5 it is a constant.
    EXPECT_EQ(stored("ldxw %r0, [%r9+36]\njeq %r0, 5, on\nmov %r0, 5\non:\n"), 5u);
}

TEST(Folding, ReadOnlyData) {
    Object object = assembled("stw [%r10-4], 2\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " + map_address(0) +
                              "\ncall 1\njeq %r0, 0, out\nlddw %r1, 0x0\nldxw %r2, [%r1+4]\nlock add [%r0+0], %r2\n"
                              "out:\nmov %r0, 0\nexit\n");
    for (std::size_t at = 0; at < object.programs[0].instructions.size(); ++at) {
        auto& i = object.programs[0].instructions[at];
        if (i.opcode == kLoadImmediate64 && i.source == 0) {
            i.source = kPseudoMapValue;
            i.immediate = static_cast<std::int32_t>(Object::kConstantsMap);
        }
    }
    object.constants = {std::byte{1}, {}, {}, {}, std::byte{77}, {}, {}, {}};
    const auto program = specialized(object);
    ASSERT_EQ(program.accumulators.size(), 1u);
    EXPECT_EQ(program.accumulators[0].constant, 77u);
}

struct AluCase {
    const char* text;
    std::uint64_t expected;
};

/// RFC 9669 4.1 and 4.2, with operands where other machines differ.
TEST(Folding, Arithmetic) {
    const AluCase cases[] = {
        {"mov %r0, 7\nmov %r1, 0\ndiv %r0, %r1\n", 0},
        {"mov %r0, 7\nmov %r1, 0\nmod %r0, %r1\n", 7},
        {"lddw %r0, 0xffffffff00000007\nmov %r1, 0\nmod32 %r0, %r1\n", 7},
        {"lddw %r0, 0x8000000000000000\nmov %r1, -1\nsdiv %r0, %r1\n", 0x8000000000000000},
        {"lddw %r0, 0x8000000000000000\nmov %r1, -1\nsmod %r0, %r1\n", 0},
        {"mov %r0, -13\nmov %r1, 4\nsdiv %r0, %r1\n", static_cast<std::uint64_t>(-3)},
        {"mov %r0, -13\nmov %r1, 4\nsmod %r0, %r1\n", static_cast<std::uint64_t>(-1)},
        {"lddw %r0, 0x100000000\nlddw %r1, 0x200000000\nsmod %r0, %r1\n", 0x100000000},
        {"mov %r0, 1\nmov %r1, 65\nlsh %r0, %r1\n", 2},
        {"mov %r0, 1\nmov %r1, 33\nlsh32 %r0, %r1\n", 2},
        {"mov %r0, -8\narsh32 %r0, 1\n", 0xfffffffc},
        {"mov %r0, -1\nadd32 %r0, 1\n", 0},
        {"mov32 %r0, -1\n", 0xffffffff},
        {"lddw %r0, 0x1122334455667788\nbe16 %r0\n", 0x8877},
        {"lddw %r0, 0x1122334455667788\nbe32 %r0\n", 0x88776655},
        {"lddw %r0, 0x1122334455667788\nle16 %r0\n", 0x7788},
        {"lddw %r0, 0x1122334455667788\nbswap64 %r0\n", 0x8877665544332211},
        {"mov %r1, 0x80\nmovsx864 %r0, %r1\n", 0xffffffffffffff80},
        {"mov %r1, 0x80\nmovsx832 %r0, %r1\n", 0xffffff80},
        {"mov %r0, 5\nneg %r0\n", static_cast<std::uint64_t>(-5)},
        {"mov %r0, 5\nneg32 %r0\n", 0xfffffffb},
    };
    for (const auto& test : cases)
        EXPECT_EQ(stored(test.text), test.expected) << test.text;
}

}  // namespace
}  // namespace egpu::ebpf::testing
