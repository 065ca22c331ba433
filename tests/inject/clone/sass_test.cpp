// SPDX-License-Identifier: Apache-2.0
// The latency of a load or an atomic is measured in the machine code: between the two clock reads something waits for
// it. (Of five ways to write it in PTX, three only measure the issue.)
#include <gmock/gmock.h>

#include <algorithm>

#include <fmt/format.h>

#include "../session.hpp"
#include "inject/compile/compile.hpp"
#include "machine_code.hpp"

namespace egpu::inject {
namespace {

using testing::MachineInstruction;
using testing::Session;

constexpr std::uint32_t kReadSpecial = 0x805;  // CS2R
constexpr std::uint32_t kLoadGlobal = 0x981;   // LDG with a uniform base or a descriptor
constexpr std::uint32_t kLoadGlobalPlain = 0x381;
constexpr std::uint32_t kAtomics[] = {0x3a8, 0x9a8, 0x3a9, 0x9a3};  // ATOMG: plain, descriptor, CAS, floating
constexpr std::uint32_t kClock = 0x50;

std::vector<std::size_t> places(const std::vector<MachineInstruction>& code, auto wanted) {
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at < code.size(); ++at)
        if (wanted(code[at]))
            found.push_back(at);
    return found;
}

struct Load {
    const char* name;
    const char* statement;
};

class LatencyInMachineCode : public ::testing::TestWithParam<std::tuple<Load, const char*>> {};

/// The code of a kernel that has the statement, with a program at it.
std::vector<MachineInstruction> compiled(const std::string& ptxas, const char* statement, const char* architecture,
                                         const char* object, const char* program) {
    const std::string text = fmt::format(R"(.version 6.4
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p)
{{
	.reg .pred %p<3>; .reg .f32 %f<6>; .reg .b16 %rs<3>; .reg .b32 %r<6>; .reg .b64 %rd<8>; .reg .f64 %fd<3>;
	ld.param.u64 %rd1, [p];
	cvta.to.global.u64 %rd2, %rd1;
	mov.u32 %r1, %tid.x;
	setp.gt.u32 %p1, %r1, 3;
	mul.wide.u32 %rd3, %r1, 16;
	add.s64 %rd4, %rd2, %rd3;
	{}
	st.global.f32 [%rd4+4096], %f1;
	st.global.u16 [%rd4+8192], %rs1;
	st.global.u64 [%rd4+12288], %rd5;
	st.global.f64 [%rd4+12296], %fd1;
	ret;
}}
)",
                                         statement);
    auto module = ptx::parse(text, "k.ptx");
    if (!module) {
        ADD_FAILURE() << to_text(module.error());
        return {};
    }
    Session session;
    session.attach(object, program);
    const auto copy = build_copy(session.request(*module, "k"));
    if (!copy) {
        ADD_FAILURE() << to_text(copy.error());
        return {};
    }
    const auto result = compile_ptx(ptxas, copy->ptx, "k", {architecture, {}, 60});
    EXPECT_TRUE(result) << (result ? "" : to_text(result.error()));
    return result ? testing::code_of(result->cubin) : std::vector<MachineInstruction>();
}

/// Behind `from`, up to and with `to`, something waits for what the instruction at `at` sets when it is done.
bool waits_for(const std::vector<MachineInstruction>& code, std::size_t at, std::size_t from, std::size_t to) {
    return std::any_of(code.begin() + static_cast<std::ptrdiff_t>(from) + 1,
                       code.begin() + static_cast<std::ptrdiff_t>(to) + 1,
                       [&](const auto& i) { return (i.waits >> code[at].sets & 1) != 0; });
}

bool is_clock(const MachineInstruction& i) {
    return i.opcode == kReadSpecial && i.special == kClock;
}
bool is_load(const MachineInstruction& i) {
    return i.opcode == kLoadGlobal || i.opcode == kLoadGlobalPlain;
}
bool is_atomic(const MachineInstruction& i) {
    return std::find(std::begin(kAtomics), std::end(kAtomics), i.opcode) != std::end(kAtomics);
}

/// The clock reads before and behind the instruction at `at`, with something between them that waits for it.
void expect_timed(const std::vector<MachineInstruction>& code, std::size_t at, std::size_t& first) {
    const auto clocks = places(code, is_clock);
    ASSERT_GE(clocks.size(), 2u);
    const auto second = std::find_if(clocks.begin(), clocks.end(), [&](std::size_t clock) { return clock > at; });
    ASSERT_NE(second, clocks.end()) << "no clock read behind the access";
    ASSERT_NE(second, clocks.begin()) << "no clock read before the access";
    ASSERT_NE(code[at].sets, 7u);
    EXPECT_TRUE(waits_for(code, at, at, *second)) << "the second clock is read before the value is there";
    first = clocks.front();
}

TEST_P(LatencyInMachineCode, SomethingWaitsForTheLoadBeforeTheSecondClock) {
    const auto ptxas = find_ptxas();
    if (!ptxas)
        GTEST_SKIP() << "no ptxas on this machine";
    const auto& [load, architecture] = GetParam();
    const auto code = compiled(*ptxas, load.statement, architecture, "latency", "");
    const auto loads = places(code, is_load);
    ASSERT_EQ(loads.size(), 1u) << code.size();
    std::size_t first = 0;
    expect_timed(code, loads[0], first);
}

class AtomicInMachineCode : public ::testing::TestWithParam<std::tuple<Load, const char*>> {};

/// What the atomic is done with comes from a load, which must have arrived before the first clock read: else its time
/// would be the atomic's.
TEST_P(AtomicInMachineCode, SomethingWaitsForItAndForItsOperandsBefore) {
    const auto ptxas = find_ptxas();
    if (!ptxas)
        GTEST_SKIP() << "no ptxas on this machine";
    const auto& [atomic, architecture] = GetParam();
    const auto code = compiled(*ptxas, atomic.statement, architecture, "atomics", "latency_by_warp");
    const auto atomics = places(code, is_atomic);
    ASSERT_EQ(atomics.size(), 1u) << code.size();
    std::size_t first = 0;
    expect_timed(code, atomics[0], first);
    const auto loads = places(code, is_load);
    ASSERT_EQ(loads.size(), 1u);
    ASSERT_LT(loads[0], first);
    EXPECT_TRUE(waits_for(code, loads[0], loads[0], first)) << "the first clock is read before the operands are there";
}

INSTANTIATE_TEST_SUITE_P(
    Forms, LatencyInMachineCode,
    ::testing::Combine(::testing::Values(Load{"float", "ld.global.f32 %f1, [%rd4];"},
                                         Load{"vector", "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd4];"},
                                         Load{"predicated", "@%p1 ld.global.f32 %f1, [%rd4];"},
                                         Load{"unguarded_lanes", "@!%p1 ld.global.u64 %rd5, [%rd4];"},
                                         Load{"byte", "ld.global.u8 %rs1, [%rd4];"},
                                         Load{"wide", "ld.global.f64 %fd1, [%rd4+8];"},
                                         Load{"over_its_address", "ld.global.u64 %rd4, [%rd4];"},
                                         Load{"not_coherent", "ld.global.nc.f32 %f1, [%rd4];"},
                                         Load{"volatile", "ld.volatile.global.f32 %f1, [%rd4];"}),
                       ::testing::Values("sm_75", "sm_80", "sm_90", "sm_100")),
    [](const auto& information) {
        return fmt::format("{}_{}", std::get<0>(information.param).name, std::get<1>(information.param));
    });

INSTANTIATE_TEST_SUITE_P(
    Forms, AtomicInMachineCode,
    ::testing::Combine(
        ::testing::Values(
            Load{"add", "ld.global.u32 %r2, [%rd4+64]; atom.global.add.u32 %r3, [%rd4], %r2; cvt.rn.f32.u32 %f1, %r3;"},
            Load{"unused", "ld.global.u32 %r2, [%rd4+64]; atom.global.add.u32 %r3, [%rd4], %r2;"},
            Load{"predicated", "ld.global.u32 %r2, [%rd4+64]; @%p1 atom.global.max.u32 %r3, [%rd4], %r2;"},
            Load{"exchange", "ld.global.u64 %rd6, [%rd4+64]; atom.global.exch.b64 %rd5, [%rd4], %rd6;"},
            Load{"compare", "ld.global.u32 %r2, [%rd4+64]; atom.global.cas.b32 %r3, [%rd4], %r1, %r2;"},
            Load{"floating", "ld.global.f32 %f2, [%rd4+64]; atom.global.add.f32 %f1, [%rd4], %f2;"},
            Load{"over_its_operand", "ld.global.u32 %r2, [%rd4+64]; atom.global.add.u32 %r2, [%rd4], %r2;"}),
        ::testing::Values("sm_75", "sm_80", "sm_90", "sm_100")),
    [](const auto& information) {
        return fmt::format("{}_{}", std::get<0>(information.param).name, std::get<1>(information.param));
    });

}  // namespace
}  // namespace egpu::inject
