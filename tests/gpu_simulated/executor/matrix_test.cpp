// SPDX-License-Identifier: Apache-2.0
// The matrix instructions: every shape and type against products computed here; on a GPU, too, where there is one.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>

#include "device.hpp"
#include "hardware.hpp"
#include "matrix_kernels.hpp"

namespace egpu::simulated::test {
namespace {

std::vector<MatrixCase> cases_of(const std::string& family) {
    return family == "mma" ? mma_cases() : family == "wmma" ? wmma_cases() : row_matrix_cases();
}

void expect_equal(const MatrixCase& one, const std::vector<std::uint64_t>& got) {
    unsigned wrong = 0;
    for (std::size_t i = 0; i < one.out.size(); ++i) {
        if (got[i] != one.out[i] && ++wrong <= 2) {
            ADD_FAILURE() << fmt::format("{}: word {}: wanted {:#x}, got {:#x}", one.name, i, one.out[i], got[i]);
        }
    }
}

class Matrices : public testing::TestWithParam<std::string> {};

TEST_P(Matrices, GiveTheirProducts) {
    const auto cases = cases_of(GetParam());
    ASSERT_GE(cases.size(), 13U);
    Device device;
    auto module = Module::load(module_of(cases), "matrix.ptx", device.memory);
    ASSERT_TRUE(module) << to_text(module.error());
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const auto in = device.upload(cases[i].in);
        const auto out = device.upload(std::vector<std::uint64_t>(cases[i].out.size()));
        const auto result = device.run(**module, fmt::format("m{}", i), {1, 1, 1}, {32, 1, 1},
                                       Parameters().add(in).add(out).add(std::uint64_t{0}).add(32U));
        ASSERT_TRUE(result) << cases[i].name << ": " << why(result);
        expect_equal(cases[i], device.download<std::uint64_t>(out, cases[i].out.size()));
    }
}

TEST_P(Matrices, HardwareAgrees) {
    const auto cases = cases_of(GetParam());
    Hardware hardware;
    if (const std::string problem = hardware.start(module_of(cases)); !problem.empty()) {
        GTEST_SKIP() << problem;
    }
    for (std::size_t i = 0; i < cases.size(); ++i) {
        std::vector<std::uint64_t> got(cases[i].out.size());
        ASSERT_EQ(hardware.run(fmt::format("m{}", i), cases[i].in, got, 32), "") << cases[i].name;
        expect_equal(cases[i], got);
    }
}

TEST_P(Matrices, PtxasTakesThem) {
    const char* const candidates[] = {std::getenv("EGPU_PTXAS"), "/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"};
    for (const char* const ptxas : candidates) {
        if (ptxas != nullptr && std::ifstream(ptxas).good()) {
            const std::string path = testing::TempDir() + "egpu_matrix_" + GetParam() + ".ptx";
            std::ofstream(path) << module_of(cases_of(GetParam()));
            EXPECT_EQ(std::system((std::string(ptxas) + " -O0 -arch sm_90 -o /dev/null " + path).c_str()), 0) << path;
            std::remove(path.c_str());
            return;
        }
    }
    GTEST_SKIP() << "no ptxas";
}

INSTANTIATE_TEST_SUITE_P(Families, Matrices, testing::Values("mma", "wmma", "rows"),
                         [](const auto& info) { return info.param; });

/// Sums that are not exact: each is within the error of 16 roundings to f32 of the sum in double.
TEST(Matrix, SumsAreOfSinglePrecision) {
    const std::string kernel = R"(
.visible .entry k(.param .u64 a, .param .u64 out)
{
  .reg .b32 %r<9>, %lane; .reg .f32 %f<5>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [out]; mov.u32 %lane, %tid.x;
  mad.wide.u32 %rd1, %lane, 16, %rd1; mad.wide.u32 %rd2, %lane, 16, %rd2;
  ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r1, %r3}, {0f3F800000, 0f3F800000, 0f3F800000, 0f3F800000};
  st.global.v4.f32 [%rd2], {%f1, %f2, %f3, %f4};
  ret;
})";
    std::mt19937 engine(1);
    std::vector<std::uint16_t> bits(32 * 8);
    for (std::uint16_t& one : bits) {
        one = static_cast<std::uint16_t>((engine() & 0x83ff) | (12 + engine() % 4) << 10);  // 2^-3 to 2
    }
    const auto value = [&](std::size_t at) {
        const double fraction = 1 + (bits[at] & 0x3ff) / 1024.0;
        return std::ldexp((bits[at] & 0x8000) != 0 ? -fraction : fraction, (bits[at] >> 10 & 31) - 15);
    };
    Device device;
    const auto a = device.upload(bits);
    const auto out = device.upload(std::vector<float>(32 * 4));
    const auto result = device.run(kernel, {1, 1, 1}, {32, 1, 1}, Parameters().add(a).add(out));
    ASSERT_TRUE(result) << why(result);
    const auto got = device.download<float>(out, 32 * 4);
    for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned i = 0; i < 4; ++i) {
            const unsigned group = lane / 4, column = lane % 4 * 2 + i % 2;
            double sum = 1, magnitude = 1;
            for (unsigned k = 0; k < 16; ++k) {
                // a: lane 4 g + k mod 8 / 2; registers 0, 1 (+8 rows), 2 (+8 columns), 3. b: registers 1 and 3 of a.
                const double x = value((group * 4 + k % 8 / 2) * 8 + (k / 8 * 2 + i / 2) * 2 + k % 2);
                const double y = value((column * 4 + k % 8 / 2) * 8 + (k / 8 * 2) * 2 + k % 2);
                sum += x * y;
                magnitude += std::fabs(x * y);
            }
            EXPECT_NEAR(double{got[lane * 4 + i]}, sum, magnitude * 16 * 0x1p-24) << lane << ' ' << i;
        }
    }
}

TEST(Matrix, SaturationAndOverflow) {
    const auto run = [](const char* satfinite) {
        Device device;
        const auto out = device.upload(std::vector<std::uint32_t>(32));
        const auto result = device.run(fmt::format(R"(
.visible .entry k(.param .u64 out)
{{
  .reg .b32 %r<9>, %lane; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out]; mov.u32 %lane, %tid.x; mad.wide.u32 %rd1, %lane, 4, %rd1;
  mov.b32 %r1, 0x01010101; mov.b32 %r2, 0x7ffffff8;
  mma.sync.aligned.m8n8k16.row.col{}.s32.s8.s8.s32 {{%r3, %r4}}, {{%r1}}, {{%r1}}, {{%r2, %r2}};
  st.global.u32 [%rd1], %r4;
  ret;
}})",
                                                   satfinite),
                                       {1, 1, 1}, {32, 1, 1}, Parameters().add(out));
        EXPECT_TRUE(result) << why(result);
        return device.download<std::uint32_t>(out, 32)[7];
    };
    EXPECT_EQ(run(""), 0x80000008U);
    EXPECT_EQ(run(".satfinite"), 0x7fffffffU);
}

TEST(Matrix, AllLanesMustBeThere) {
    Device device;
    const auto out = device.upload(std::vector<std::uint32_t>(32));
    const auto result = device.run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<9>;
  mov.b32 %r1, 1;
  movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r1;
  ret;
})",
                                   {1, 1, 1}, {16, 1, 1}, Parameters().add(out));
    ASSERT_TRUE(result.fault);
    EXPECT_EQ(result.fault->kind, FaultKind::illegal_instruction);
    EXPECT_NE(result.fault->text.find("all 32 lanes"), std::string::npos) << result.fault->text;
}

/// Lanes of both branches come to one instruction.
TEST(Matrix, WaitsForLanesOfBothBranches) {
    Device device;
    const auto out = device.upload(std::vector<std::uint32_t>(32));
    const auto result = device.run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 4, %rd1;
  setp.lt.u32 %p1, %r1, 8;
  @%p1 bra $low;
  add.u32 %r1, %r1, 0;
$low:
  movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;
  st.global.u32 [%rd1], %r2;
  ret;
})",
                                   {1, 1, 1}, {32, 1, 1}, Parameters().add(out));
    ASSERT_TRUE(result) << why(result);
    EXPECT_EQ(device.download<std::uint32_t>(out, 32)[0], 0U | 4U << 16);
}

TEST(Matrix, WhatThereIsNotIsRefusedByName) {
    for (const char* const opcode :
         {"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32",
          "mma.sync.aligned.m16n8k7.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32",
          "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "tcgen05.mma.cta_group::1.kind::f16"}) {
        Device device;
        const auto module = device.load(fmt::format(
            ".visible .entry k()\n{{\n  .reg .b32 %r<9>;\n  {} {{%r1}}, {{%r1}}, {{%r1}}, {{%r1}};\n  ret;\n}}",
            opcode));
        ASSERT_TRUE(module);
        const auto kernel = module->kernel("k");
        ASSERT_FALSE(kernel) << opcode;
        EXPECT_EQ(kernel.error().code, "EGPU-P202") << to_text(kernel.error());
        EXPECT_NE(kernel.error().message.find(opcode), std::string::npos) << kernel.error().message;
    }
}

}  // namespace
}  // namespace egpu::simulated::test
