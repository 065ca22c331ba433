// SPDX-License-Identifier: Apache-2.0
#include "host/pipeline/eligibility.hpp"

#include <gmock/gmock.h>

#include "base/files.hpp"
#include "host/pipeline/proof.hpp"
#include "ptx/syntax/parser.hpp"

namespace egpu::host {
namespace {

using ::testing::HasSubstr;

ptx::Module module_with(const std::string& parameters, const std::string& directives) {
    auto parsed = ptx::parse(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(" + parameters + ")\n" +
                                 directives + "\n{ ret; }\n",
                             "test");
    EXPECT_TRUE(parsed);
    return std::move(*parsed);
}

ptx::CubinKernel code(std::uint32_t parameter_bytes, std::array<std::uint32_t, 3> block = {}, bool required = false) {
    ptx::CubinKernel kernel;
    kernel.parameter_bytes = parameter_bytes;
    kernel.block = block;
    kernel.block_is_required = required;
    return kernel;
}

/// "" where they agree, else the code and the message.
std::string verdict(const std::string& parameters, const std::string& directives, const ptx::CubinKernel& running,
                    const std::vector<std::string>& options = {}) {
    const auto module = module_with(parameters, directives);
    const auto mismatch = kernel_mismatch(*module.function("k"), running, options);
    if (!mismatch)
        return {};
    EXPECT_NE(mismatch->fix, "");
    return mismatch->code + " " + mismatch->message;
}

TEST(Eligibility, ParametersAreCountedWithTheirAlignment) {
    const std::string three = ".param .u32 a, .param .u64 b, .param .align 4 .b8 c[12]";
    EXPECT_EQ(verdict(three, "", code(28)), "");
    EXPECT_THAT(verdict(three, "", code(24)),
                HasSubstr("A013 its PTX takes 28 bytes of parameters, the running code 24"));
    EXPECT_EQ(verdict(three, "", code(0)), "");  // not recorded
    EXPECT_EQ(verdict(".param .u64 .ptr .global .align 16 p, .param .f32 x", "", code(12)), "");
}

/// ptxas 13.0 for sm_90, of a kernel with a CUtensorMap and two numbers.
TEST(Eligibility, ParametersOfLargeAlignmentBeginSomewhereInTheBank) {
    const std::string map = ".param .align 128 .b8 map[128], .param .u32 x, .param .u32 y";
    EXPECT_EQ(verdict(map, "", code(248)), "");
    EXPECT_EQ(verdict(map, "", code(136)), "");
    EXPECT_THAT(verdict(map, "", code(252)),
                HasSubstr("A013 its PTX takes 136 bytes of parameters, the running code 252"));
}

TEST(Eligibility, LaunchBoundsMustAgree) {
    EXPECT_EQ(verdict("", ".maxntid 96, 1, 1", code(0, {96, 1, 1})), "");
    EXPECT_EQ(verdict("", ".maxntid 96", code(0, {96, 1, 1})), "");
    EXPECT_EQ(verdict("", ".reqntid 8, 4", code(0, {8, 4, 1}, true)), "");
    EXPECT_EQ(verdict("", ".minnctapersm 2", code(0)), "");
    EXPECT_THAT(
        verdict("", ".maxntid 96", code(0, {128, 1, 1})),
        HasSubstr("A014 its PTX is for blocks of at most 96 x 1 x 1 threads, the running code for blocks of at most "
                  "128 x 1 x 1 threads"));
    EXPECT_THAT(verdict("", "", code(0, {128, 1, 1}, true)), HasSubstr("for blocks of any size, the running code"));
    EXPECT_THAT(verdict("", ".reqntid 96", code(0, {96, 1, 1})), HasSubstr("A014"));
    EXPECT_EQ(verdict("", "", code(0, {128, 1, 1}), {"--maxntid=128"}), "");  // an option gave the bounds
}

TEST(Eligibility, BoundsOfAKernel) {
    const auto bounded = module_with("", ".maxntid 32, 4, 2");
    EXPECT_EQ(bounds_of(*bounded.function("k")).most_threads, 256u);
    EXPECT_FALSE(bounds_of(*bounded.function("k")).required);
    const auto free = module_with("", ".maxnreg 32");
    EXPECT_EQ(bounds_of(*free.function("k")).most_threads, 0u);
}

/// The fixtures' own PTX against their own code: rule 1 has nothing to say where there is nothing.
TEST(Eligibility, WhatOneCompilerMadeAgrees) {
    for (const char* name : {"options", "plain", "older_source", "specific"}) {
        const auto bytes = read_file(std::string(EGPU_TEST_DATA) + "/fatbin/" + name + ".fatbin");
        ASSERT_TRUE(bytes);
        const auto image = ptx::read_image(*bytes);
        ASSERT_TRUE(image);
        std::size_t compared = 0;
        for (const auto& cubin : image->cubins)
            for (const auto& member : image->ptx) {
                if (member.architecture != cubin.virtual_architecture || member.suffix != cubin.suffix)
                    continue;
                const auto module = ptx::parse(member.text, name);
                ASSERT_TRUE(module);
                for (const auto& kernel : cubin.kernels) {
                    const auto* function = module->function(kernel.name);
                    ASSERT_NE(function, nullptr);
                    const auto mismatch = kernel_mismatch(*function, kernel, {});
                    EXPECT_FALSE(mismatch) << name << ": " << mismatch->message;
                    ++compared;
                }
                EXPECT_EQ(code_of_kernels(cubin.bytes).size(), cubin.kernels.size());
            }
        EXPECT_GT(compared, 0u) << name;
    }
}

TEST(Proof, BytesThatAreNoCubinHaveNoCode) {
    EXPECT_TRUE(code_of_kernels({}).empty());
    const std::vector<std::byte> zeros(100);
    EXPECT_TRUE(code_of_kernels(zeros).empty());
}

}  // namespace
}  // namespace egpu::host
