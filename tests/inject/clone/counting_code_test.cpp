// SPDX-License-Identifier: Apache-2.0
// What a program that counts adds to an access, read in the machine code of a loop: no load, no store, no branch, and
// at most two integer instructions: a 64-bit addition, which takes the guard of a guarded access as its carry.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "../session.hpp"
#include "inject/compile/compile.hpp"
#include "machine_code.hpp"

namespace egpu::inject {
namespace {

using testing::MachineInstruction;
using testing::Session;

struct Body {
    const char* name;
    int most;          ///< instructions that counting may add to a turn of the loop
    const char* text;  ///< %f1 is what is kept; %rd4 a global, %r5 a shared address; %p1 holds for some lanes
};

std::string kernel_with(const Body& body) {
    return fmt::format(R"(.version 6.4
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{{
	.reg .pred %p<4>; .reg .f32 %f<10>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
	.shared .align 4 .b8 tile[4096];
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r3, [n];
	cvta.to.global.u64 %rd2, %rd1;
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 16;
	add.s64 %rd3, %rd2, %rd3;
	mov.u32 %r6, tile;
	mad.lo.u32 %r5, %r1, 4, %r6;
	mov.u32 %r2, 0;
	mov.f32 %f1, 0f00000000;
$L1:
	.pragma "nounroll";
	and.b32 %r4, %r1, %r2;
	setp.eq.u32 %p1, %r4, 0;
	mad.wide.u32 %rd4, %r2, 4096, %rd3;
	{}
	add.u32 %r2, %r2, 1;
	setp.lt.u32 %p2, %r2, %r3;
	@%p2 bra $L1;
	st.global.f32 [%rd2], %f1;
	ret;
}}
)",
                       body.text);
}

/// The loop's instructions: from where the one branch back goes, to it.
std::vector<MachineInstruction> loop_of(const std::vector<MachineInstruction>& code) {
    for (std::size_t at = 0; at < code.size(); ++at) {
        const bool back = code[at].distance < -1;
        if (!back)
            continue;
        const auto first = static_cast<std::int64_t>(at) + 1 + code[at].distance;
        if (first >= 0)
            return {code.begin() + first, code.begin() + static_cast<std::ptrdiff_t>(at) + 1};
    }
    return {};
}

/// How often each opcode occurs more often in `with` than in `without`. The form of the operands (bits 9 to 11) is left
/// out: a register or a constant.
std::map<std::uint32_t, int> added(const std::vector<MachineInstruction>& without,
                                   const std::vector<MachineInstruction>& with) {
    std::map<std::uint32_t, int> count;
    for (const auto& i : with)
        ++count[i.opcode & 0x1ff];
    for (const auto& i : without)
        --count[i.opcode & 0x1ff];
    std::erase_if(count, [](const auto& entry) { return entry.second <= 0; });
    return count;
}

/// IADD3, IMAD (also as a move or an addition of a carry), IADD, LEA, MOV, SEL, LOP3, VIADD, UIADD3: no memory, no
/// control.
bool is_integer(std::uint32_t opcode) {
    constexpr std::uint32_t kInteger[] = {0x010, 0x024, 0x035, 0x011, 0x002, 0x007, 0x012, 0x036, 0x090, 0x025};
    return std::ranges::find(kInteger, opcode) != std::end(kInteger);
}

class CountingInMachineCode : public ::testing::TestWithParam<std::tuple<Body, const char*, const char*>> {};

TEST_P(CountingInMachineCode, AddsAFewIntegerInstructionsToAnAccess) {
    const auto ptxas = find_ptxas();
    if (!ptxas)
        GTEST_SKIP() << "no ptxas on this machine";
    const auto& [body, architecture, program] = GetParam();
    const std::string text = kernel_with(body);
    const auto module = ptx::parse(text, "k.ptx");
    ASSERT_TRUE(module) << to_text(module.error());
    Session session;
    session.attach(program, "");
    const auto copy = build_copy(session.request(*module, "k"));
    ASSERT_TRUE(copy) << to_text(copy.error());
    const auto before = compile_ptx(*ptxas, text, "k", {architecture, {}, 60});
    const auto after = compile_ptx(*ptxas, copy->ptx, "k", {architecture, {}, 60});
    ASSERT_TRUE(before && after);
    const auto without = loop_of(testing::code_of(before->cubin)), with = loop_of(testing::code_of(after->cubin));
    ASSERT_FALSE(without.empty()) << copy->ptx;
    ASSERT_FALSE(with.empty()) << copy->ptx;
    for (const auto& [opcode, count] : added(without, with))
        EXPECT_TRUE(is_integer(opcode)) << fmt::format("{} more of opcode {:#x}\n", count, opcode) << copy->ptx;
    const auto more = static_cast<std::int64_t>(with.size()) - static_cast<std::int64_t>(without.size());
    EXPECT_LE(more, body.most) << copy->ptx;
    EXPECT_FALSE(added(without, with).empty()) << "nothing is counted";
}

INSTANTIATE_TEST_SUITE_P(
    Loops, CountingInMachineCode,
    ::testing::Combine(
        ::testing::Values(
            Body{"load", 2, "ld.global.f32 %f2, [%rd4]; add.f32 %f1, %f1, %f2;"},
            Body{"predicated", 2, "mov.f32 %f2, 0f3F800000; @%p1 ld.global.f32 %f2, [%rd4]; add.f32 %f1, %f1, %f2;"},
            Body{"predicated_not", 2,
                 "mov.f32 %f2, 0f3F800000; @!%p1 ld.global.f32 %f2, [%rd4]; add.f32 %f1, %f1, %f2;"},
            Body{"two_guards", 4,
                 "mov.f32 %f2, 0f3F800000; @%p1 ld.global.f32 %f2, [%rd4]; add.f32 %f1, %f1, %f2; "
                 "@!%p1 st.global.f32 [%rd4+8], %f1;"},
            Body{"vector", 2,
                 "ld.global.v4.f32 {%f2, %f3, %f4, %f5}, [%rd4]; add.f32 %f1, %f1, %f2; "
                 "add.f32 %f1, %f1, %f3; add.f32 %f1, %f1, %f4; add.f32 %f1, %f1, %f5;"},
            Body{"load_and_store", 4, "ld.global.f32 %f2, [%rd4]; add.f32 %f1, %f1, %f2; st.global.f32 [%rd4+8], %f1;"},
            Body{"shared", 4, "ld.shared.f32 %f2, [%r5]; add.f32 %f1, %f1, %f2; st.shared.f32 [%r5], %f1;"},
            Body{"atomic", 2, "atom.global.add.f32 %f2, [%rd4], %f1; add.f32 %f1, %f1, %f2;"}),
        ::testing::Values("sm_75", "sm_80", "sm_90", "sm_100"), ::testing::Values("bandwidth")),
    [](const auto& information) {
        return fmt::format("{}_{}", std::get<0>(information.param).name, std::get<1>(information.param));
    });

}  // namespace
}  // namespace egpu::inject
