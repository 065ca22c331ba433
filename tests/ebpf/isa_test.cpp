// SPDX-License-Identifier: Apache-2.0
// Instructions: bits, text, what is well formed. The public suite's programs run in interpreter/.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "ebpf/isa/instruction.hpp"

namespace egpu::ebpf {
namespace {

using testing::HasSubstr;

std::vector<Instruction> assembled(const std::string& text) {
    auto program = assemble(text);
    if (program)
        return *std::move(program);
    ADD_FAILURE() << text << ": " << to_text(program.error());
    return {};
}

struct TextRow {
    const char *assembly, *text;
};
class Text : public testing::TestWithParam<TextRow> {};

TEST_P(Text, IsTheLinuxVerifiers) {
    const auto program = assembled(GetParam().assembly);
    ASSERT_FALSE(program.empty());
    EXPECT_EQ(to_text(program[0], program.size() > 1 ? &program[1] : nullptr), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Isa, Text,
    testing::Values(
        TextRow{"add %r1, %r2", "r1 += r2"}, TextRow{"add32 %r1, -5", "w1 += -5"}, TextRow{"sub %r3, 7", "r3 -= 7"},
        TextRow{"mul32 %r1, %r2", "w1 *= w2"}, TextRow{"div %r1, 3", "r1 /= 3"}, TextRow{"sdiv %r1, %r2", "r1 s/= r2"},
        TextRow{"mod32 %r1, %r2", "w1 %= w2"}, TextRow{"smod %r1, 4", "r1 s%= 4"}, TextRow{"or %r1, 0xff", "r1 |= 255"},
        TextRow{"and32 %r1, %r9", "w1 &= w9"}, TextRow{"xor %r1, %r2", "r1 ^= r2"}, TextRow{"lsh %r1, 8", "r1 <<= 8"},
        TextRow{"rsh32 %r1, 8", "w1 >>= 8"}, TextRow{"arsh %r1, %r2", "r1 s>>= r2"}, TextRow{"neg %r4", "r4 = -r4"},
        TextRow{"neg32 %r4", "w4 = -w4"}, TextRow{"mov %r1, %r10", "r1 = r10"},
        TextRow{"mov32 %r1, 0xffffffff", "w1 = -1"}, TextRow{"movsx832 %r1, %r2", "w1 = (s8)w2"},
        TextRow{"movsx3264 %r1, %r2", "r1 = (s32)r2"}, TextRow{"be16 %r1", "r1 = be16 r1"},
        TextRow{"le64 %r1", "r1 = le64 r1"}, TextRow{"bswap32 %r1", "r1 = bswap32 r1"},
        TextRow{"ldxw %r0, [%r1+8]", "r0 = *(u32 *)(r1 +8)"}, TextRow{"ldxdw %r0, [%r10-8]", "r0 = *(u64 *)(r10 -8)"},
        TextRow{"ldxsh %r0, [%r1]", "r0 = *(s16 *)(r1 +0)"}, TextRow{"stb [%r1+1], 5", "*(u8 *)(r1 +1) = 5"},
        TextRow{"stxdw [%r10-16], %r3", "*(u64 *)(r10 -16) = r3"},
        TextRow{"lock add [%r1+4], %r2", "lock *(u64 *)(r1 +4) += r2"},
        TextRow{"lock xor32 [%r1], %r2", "lock *(u32 *)(r1 +0) ^= r2"},
        TextRow{"lock fetch or [%r1], %r2", "r2 = atomic64_fetch_or((u64 *)(r1 +0), r2)"},
        TextRow{"lock xchg32 [%r1], %r2", "r2 = atomic_xchg((u32 *)(r1 +0), r2)"},
        TextRow{"lock cmpxchg [%r1], %r2", "r0 = atomic64_cmpxchg((u64 *)(r1 +0), r0, r2)"},
        TextRow{"ja +3", "goto pc+3"}, TextRow{"ja32 -2", "gotol pc-2"},
        TextRow{"jeq %r1, 5, +1", "if r1 == 0x5 goto pc+1"}, TextRow{"jsgt32 %r1, %r2, -3", "if w1 s> w2 goto pc-3"},
        TextRow{"jset %r1, 0x10, +2", "if r1 & 0x10 goto pc+2"},
        TextRow{"jslt %r1, -1, +2", "if r1 s< 0xffffffff goto pc+2"}, TextRow{"call 1", "call bpf_map_lookup_elem#1"},
        TextRow{"call 0x10003", "call egpu_map_lookup_or_init#65539"},
        TextRow{"call 113", "call bpf_probe_read_kernel#113"}, TextRow{"call 9999", "call unknown#9999"},
        TextRow{"call local +4", "call pc+4"}, TextRow{"exit", "exit"},
        TextRow{"lddw %r1, 0x1122334455667788", "r1 = 0x1122334455667788"}));

TEST(Isa, MapLoadsNameTheMap) {
    const Instruction map{.opcode = kLoadImmediate64, .destination = 1, .source = kPseudoMap, .immediate = 3};
    const Instruction value{.opcode = kLoadImmediate64, .destination = 2, .source = kPseudoMapValue, .immediate = 4};
    const Instruction second{.immediate = 16};
    EXPECT_EQ(to_text(map), "r1 = map[3]");
    EXPECT_EQ(to_text(value, &second), "r2 = map[4]+16");
}

TEST(Isa, EveryOpcodeHasATextAndIsJudged) {
    for (int opcode = 0; opcode < 256; ++opcode) {
        const Instruction i{.opcode = static_cast<std::uint8_t>(opcode), .destination = 1, .source = 2};
        EXPECT_FALSE(to_text(i).empty()) << opcode;
        const std::vector<Instruction> program{i, {.opcode = kExit}};
        if (const auto status = check_encoding(program); !status) {
            EXPECT_EQ(status.error().code, "EGPU-V001");
        }
    }
}

/// True where an instruction with this opcode is well formed for some choice of its other fields.
bool has_a_form(std::uint8_t opcode) {
    for (const bool source : {false, true})
        for (const std::int32_t immediate : {0, 16}) {
            const Instruction i{
                .opcode = opcode, .source = source ? std::uint8_t{1} : std::uint8_t{0}, .immediate = immediate};
            std::vector<Instruction> program{i, {.opcode = kExit}};
            for (int k = 0; k < 16; ++k)  // room for a jump of 16
                program.push_back({.opcode = kExit});
            if (opcode == kLoadImmediate64)
                program[1] = {};
            if (check_encoding(program))
                return true;
        }
    return false;
}

/// The instruction set registry of RFC 9669 (section 7, appendix A), less the deprecated packet accesses.
TEST(Isa, HasExactlyTheOpcodesOfTheRfc) {
    const std::set<int> registered{
        0x18, 0x61, 0x69, 0x71, 0x79, 0x81, 0x89, 0x91, 0x62, 0x6a, 0x72, 0x7a, 0x63, 0x6b, 0x73, 0x7b, 0xc3,
        0xdb, 0x04, 0x0c, 0x14, 0x1c, 0x24, 0x2c, 0x34, 0x3c, 0x44, 0x4c, 0x54, 0x5c, 0x64, 0x6c, 0x74, 0x7c,
        0x84, 0x94, 0x9c, 0xa4, 0xac, 0xb4, 0xbc, 0xc4, 0xcc, 0xd4, 0xdc, 0x07, 0x0f, 0x17, 0x1f, 0x27, 0x2f,
        0x37, 0x3f, 0x47, 0x4f, 0x57, 0x5f, 0x67, 0x6f, 0x77, 0x7f, 0x87, 0x97, 0x9f, 0xa7, 0xaf, 0xb7, 0xbf,
        0xc7, 0xcf, 0xd7, 0x05, 0x15, 0x1d, 0x25, 0x2d, 0x35, 0x3d, 0x45, 0x4d, 0x55, 0x5d, 0x65, 0x6d, 0x75,
        0x7d, 0x85, 0x95, 0xa5, 0xad, 0xb5, 0xbd, 0xc5, 0xcd, 0xd5, 0xdd, 0x06, 0x16, 0x1e, 0x26, 0x2e, 0x36,
        0x3e, 0x46, 0x4e, 0x56, 0x5e, 0x66, 0x6e, 0x76, 0x7e, 0xa6, 0xae, 0xb6, 0xbe, 0xc6, 0xce, 0xd6, 0xde};
    for (int opcode = 0; opcode < 256; ++opcode)
        EXPECT_EQ(has_a_form(static_cast<std::uint8_t>(opcode)), registered.contains(opcode)) << std::hex << opcode;
}

struct RefusedRow {
    const char* why;
    std::vector<Instruction> program;
    const char* message;
};
class Refused : public testing::TestWithParam<RefusedRow> {};

TEST_P(Refused, WithTheInstruction) {
    const auto status = check_encoding(GetParam().program);
    ASSERT_FALSE(status) << GetParam().why;
    EXPECT_EQ(status.error().code, "EGPU-V001");
    EXPECT_THAT(status.error().message, HasSubstr(GetParam().message)) << GetParam().why;
    EXPECT_THAT(status.error().why, HasSubstr("RFC 9669")) << GetParam().why;
    EXPECT_FALSE(status.error().fix.empty()) << GetParam().why;
}

constexpr Instruction kEnd1{.opcode = kExit};
INSTANTIATE_TEST_SUITE_P(
    Isa, Refused,
    testing::Values(
        RefusedRow{"nothing", {}, "no instruction"},
        RefusedRow{"r11", {{.opcode = 0xbf, .source = 11}, kEnd1}, "above r10"},
        RefusedRow{"r15", {{.opcode = 0xb7, .destination = 15}, kEnd1}, "above r10"},
        RefusedRow{"callx", {{.opcode = 0x8d}, kEnd1}, "call through a register"},
        RefusedRow{"kfunc", {{.opcode = kCall, .source = 2}, kEnd1}, "by its BTF id"},
        RefusedRow{"packet access", {{.opcode = 0x20}, kEnd1}, "packet access"},
        RefusedRow{"cut lddw", {{.opcode = kLoadImmediate64}}, "program ends there"},
        RefusedRow{"lddw without its half", {{.opcode = kLoadImmediate64}, kEnd1}, "something else"},
        RefusedRow{
            "variable of Linux", {{.opcode = kLoadImmediate64, .source = 3}, {}, kEnd1}, "only the Linux kernel"},
        RefusedRow{"shift by offset", {{.opcode = 0x67, .offset = 1}, kEnd1}, "has an offset"},
        RefusedRow{"division mode 2", {{.opcode = 0x37, .offset = 2}, kEnd1}, "neither 0"},
        RefusedRow{"sign of 24 bits", {{.opcode = 0xbf, .offset = 24}, kEnd1}, "neither 8, 16 nor 32"},
        RefusedRow{"32 to 32", {{.opcode = 0xbc, .offset = 32}, kEnd1}, "neither 8, 16 nor 32"},
        RefusedRow{"swap of 8", {{.opcode = 0xd4, .immediate = 8}, kEnd1}, "neither 16, 32 nor 64"},
        RefusedRow{"bswap to big", {{.opcode = 0xdf, .immediate = 16}, kEnd1}, "not an instruction"},
        RefusedRow{"atomic byte", {{.opcode = 0xd3}, kEnd1}, "neither 4 nor 8 bytes"},
        RefusedRow{"atomic nand", {{.opcode = 0xdb, .immediate = 0x30}, kEnd1}, "doesn't define"},
        RefusedRow{"xchg without fetch", {{.opcode = 0xdb, .immediate = 0xe0}, kEnd1}, "doesn't define"},
        RefusedRow{"signed load of 8", {{.opcode = 0x99}, kEnd1}, "not an instruction"},
        RefusedRow{"exit in JMP32", {{.opcode = 0x96}, kEnd1}, "not an instruction"},
        RefusedRow{"jump out", {{.opcode = 0x05, .offset = 5}, kEnd1}, "outside the program"},
        RefusedRow{"jump before", {{.opcode = 0x05, .offset = -2}, kEnd1}, "outside the program"},
        RefusedRow{"far jump", {{.opcode = 0x06, .immediate = INT32_MAX}, kEnd1}, "outside the program"},
        RefusedRow{
            "into lddw", {{.opcode = 0x05, .offset = 1}, {.opcode = kLoadImmediate64}, {}, kEnd1}, "into the middle"},
        RefusedRow{"call into lddw",
                   {{.opcode = kCall, .source = 1, .immediate = 1}, {.opcode = kLoadImmediate64}, {}, kEnd1},
                   "into the middle"},
        RefusedRow{"falls off", {{.opcode = 0xb7}}, "neither exits nor jumps"},
        RefusedRow{"falls off after a branch", {{.opcode = 0x15, .offset = -1}}, "neither exits nor jumps"},
        RefusedRow{"ends in lddw", {{.opcode = kLoadImmediate64}, {}}, "neither exits nor jumps"},
        RefusedRow{"falls into a function", {{.opcode = kCall, .source = 1}, kEnd1}, "neither exits nor jumps"},
        RefusedRow{"jumps into a function",
                   {{.opcode = kCall, .source = 1, .immediate = 2}, {.opcode = 0x15, .offset = 1}, kEnd1, kEnd1},
                   "into another function"}));

TEST(Isa, AcceptsLocalCallsAndJumpsAtTheEnd) {
    EXPECT_TRUE(check_encoding(assembled("call local f\nexit\nf:\nmov %r0, 1\nexit")));
    EXPECT_TRUE(check_encoding(assembled("ja L\nK:\nexit\nL:\nja K")));
    EXPECT_TRUE(check_encoding(assembled("L:\nja32 L")));
    EXPECT_TRUE(check_encoding(assembled("lddw %r1, 5\nja32 -1")));
}

TEST(Assembler, RefusesWhatItDoesNotKnow) {
    for (const char* text : {"ldxq %r0, %r1",
                             "mov32 %r0, 2147483648",
                             "mov %r0",
                             "mov %r0, %r11",
                             "or %r0, %r50",
                             "ja nowhere",
                             "exit %r0",
                             "ldxb %r0, %r1",
                             "lock or [%r10-8]",
                             "lock nand [%r1], %r2",
                             "lddw %r0",
                             "add %r0, 0x1ffffffff",
                             "call local",
                             "call %r11",
                             "movsx816 %r0, %r1",
                             "stw [%r1+40000], 1",
                             "jeq %r1, 1",
                             "a:\na:\nexit",
                             ":",
                             "ldxw %r0, [%r1+]",
                             "ldxw %r0, [",
                             "ja 99999",
                             "mov %r0, 1, 2",
                             "neg %r0, 1",
                             "be8 %r1",
                             "lddw %r1, 0x11111111111111111"}) {
        const auto program = assemble(text);
        ASSERT_FALSE(program) << text;
        EXPECT_EQ(program.error().code, "EGPU-V002") << text;
    }
}

TEST(Assembler, NumbersKeepTheirBits) {
    EXPECT_EQ(assembled("mov32 %r0, 0xffffffff")[0].immediate, -1);
    EXPECT_EQ(assembled("mov %r0, -2147483648")[0].immediate, INT32_MIN);
    EXPECT_EQ(assembled("ldxw %r0, [%r1-0x8000]")[0].offset, INT16_MIN);
    const auto wide = assembled("lddw %r0, -1");
    EXPECT_EQ(wide[0].immediate, -1);
    EXPECT_EQ(wide[1].immediate, -1);
}

}  // namespace
}  // namespace egpu::ebpf
