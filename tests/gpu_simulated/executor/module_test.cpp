// SPDX-License-Identifier: Apache-2.0
// Modules: variables and their initial values, parameter layout, what is refused and how.
#include "device.hpp"

namespace egpu::simulated::test {
namespace {

TEST(Module, VariablesHaveTheirInitialValues) {
    Device device;
    const auto module = device.load(R"(
.visible .global .align 4 .u32 counter = 7;
.global .align 8 .b8 bytes[8] = {1, 2, 0xff, -1};
.const .align 4 .f32 factors[3] = {0f3F800000, 2.5, 1};
.global .align 8 .u64 pointers[2] = {bytes, generic(counter)+4};
.global .align 4 .u32 matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
.global .attribute(.managed) .align 8 .u64 shared_word;
.visible .entry k(.param .u8 a, .param .u64 b, .param .align 8 .b8 c[12], .param .u16 d)
.maxntid 128, 2, 1
{
  .shared .align 8 .b8 tile[100];
  .local .align 8 .b8 depot[40];
  .reg .b64 %rd<3>;
  mov.u64 %rd1, tile; st.shared.u8 [%rd1], 1;
  ret;
})");
    ASSERT_TRUE(module);
    const auto address = [&](const char* name) { return module->variable(name)->address; };
    EXPECT_EQ(device.download<std::uint32_t>(address("counter"), 1)[0], 7U);
    EXPECT_EQ(device.download<std::uint64_t>(address("bytes"), 1)[0], 0xffff0201U);
    EXPECT_EQ(device.download<float>(address("factors"), 3), (std::vector<float>{1.0F, 2.5F, 1.0F}));
    EXPECT_EQ(device.download<std::uint64_t>(address("pointers"), 2),
              (std::vector<std::uint64_t>{address("bytes"), address("counter") + 4}));
    EXPECT_EQ(device.download<std::uint32_t>(address("matrix"), 6), (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6}));
    EXPECT_TRUE(module->variable("factors")->constant);
    EXPECT_TRUE(module->variable("shared_word")->managed);
    EXPECT_EQ(module->variable("nothing"), nullptr);
    EXPECT_EQ(module->target(), "sm_90");
    const auto kernel = module->kernel("k");
    ASSERT_TRUE(kernel);
    ASSERT_EQ((*kernel)->parameters.size(), 4U);
    EXPECT_EQ((*kernel)->parameters[1].offset, 8U);
    EXPECT_EQ((*kernel)->parameters[2].offset, 16U);
    EXPECT_EQ((*kernel)->parameters[2].bytes, 12U);
    EXPECT_EQ((*kernel)->parameters[3].offset, 28U);
    EXPECT_EQ((*kernel)->parameter_bytes, 30U);
    EXPECT_EQ((*kernel)->static_shared_bytes, 100U);
    EXPECT_GE((*kernel)->local_bytes, 40U);
    EXPECT_EQ((*kernel)->max_threads, (Dimensions{128, 2, 1}));
    EXPECT_GT((*kernel)->registers, 0U);
}

TEST(Module, VariablesGoWithTheModule) {
    Device device;
    {
        const auto module = device.load(".global .align 4 .b8 big[1000];");
        EXPECT_EQ(device.memory.used(), 1000U);
    }
    EXPECT_EQ(device.memory.used(), 0U);
}

TEST(Module, WhatIsMissingCostsOnlyItsKernel) {
    Device device;
    const auto module = device.load(R"(
.func helper()
{
  wgmma.fence.sync.aligned;
  ret;
}
.visible .entry tensor()
{
  .reg .b32 %r<3>;
  mov.u32 %r1, 1;
  wgmma.fence.sync.aligned;
  ret;
}
.visible .entry caller() { call.uni helper; ret; }
.visible .entry modifier()
{
  .reg .b32 %r<3>;
  add.u32.frobnicate %r1, %r2, %r1;
  ret;
}
.visible .entry plain() { ret; })");
    ASSERT_TRUE(module);
    const auto tensor = module->kernel("tensor");
    ASSERT_FALSE(tensor);
    EXPECT_EQ(tensor.error().code, "EGPU-P202");
    EXPECT_NE(tensor.error().message.find("kernel 'tensor' uses 'wgmma.fence.sync.aligned' (PTX line 14)"),
              std::string::npos)
        << tensor.error().message;
    const auto caller = module->kernel("caller");
    ASSERT_FALSE(caller);
    EXPECT_NE(caller.error().message.find("kernel 'caller' calls function 'helper'"), std::string::npos)
        << caller.error().message;
    const auto modifier = module->kernel("modifier");
    ASSERT_FALSE(modifier);
    EXPECT_NE(modifier.error().message.find("frobnicate"), std::string::npos);
    EXPECT_TRUE(module->kernel("plain"));
    const auto typo = module->kernel("plan");
    ASSERT_FALSE(typo);
    EXPECT_EQ(typo.error().code, "EGPU-P201");
    ASSERT_FALSE(typo.error().hints.empty());
    EXPECT_NE(typo.error().hints[0].find("plain"), std::string::npos);
}

TEST(Module, MalformedCodeIsAnError) {
    const char* const bodies[] = {
        "add.u32 %r1, %r2;",
        "add.u32 %r1, %r2, %nothing;",
        "add.u64 %rd1, %r1, %rd2;",
        "@%r1 mov.u32 %r2, 1;",
        "bra $nowhere;",
        "ld.global.u32 %r1, [%p1];",
        "ld.global.v2.u32 {%r1}, [%rd1];",
        "st.global.u32 [undeclared], %r1;",
        "call (), nobody, ();",
        "setp.eq.u32 %r1, %r2, 3;",
        "lop3.b32 %r1, %r2, %r2, %r2, 256;",
        "mov.b64 %rd1, {%r1, %r2, %r1};",
        "bar.sync;",
        "shfl.sync.idx.b32 %r1, %r2, 0;",
        "cvt.u32.u32.f32 %r1, %r2;",
        "brx.idx %r1, $nowhere;",
        "mov.u32 %r1, %unknown_register;",
        "mov.u16 %r1, 70000, 3;",
    };
    for (const char* const body : bodies) {
        Device device;
        const auto module =
            device.load(std::string(".visible .entry k() { .reg .pred %p<3>; .reg .b32 %r<3>; .reg .b64 %rd<3>; ") +
                        body + " ret; }");
        ASSERT_TRUE(module) << body;
        EXPECT_FALSE(module->kernel("k")) << body;
    }
}

TEST(Module, DynamicSharedMemoryFollowsTheStaticVariables) {
    Device device;
    const auto out = device.upload(std::vector<std::uint32_t>(2));
    const auto result = device.run(R"(
.extern .shared .align 16 .b8 dynamic[];
.shared .align 4 .b8 fixed[20];
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<5>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, dynamic; mov.u32 %r2, fixed;
  st.shared.u32 [dynamic+12], 5;
  ld.shared.u32 %r3, [%r1+12];
  sub.u32 %r4, %r1, %r2;
  st.global.u32 [%rd1], %r3; st.global.u32 [%rd1+4], %r4;
  ret;
})",
                                   {1, 1, 1}, {1, 1, 1}, Parameters().add(out), 16);
    ASSERT_TRUE(result) << why(result);
    EXPECT_EQ(device.download<std::uint32_t>(out, 2), (std::vector<std::uint32_t>{5, 32}));
}

TEST(Module, NamesOfInnerScopesHideOuterOnes) {
    Device device;
    const auto out = device.upload(std::vector<std::uint32_t>(2));
    const auto result = device.run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<5>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, 1;
  {
    .reg .b32 %r1;
    mov.u32 %r1, 2;
    st.global.u32 [%rd1], %r1;
  }
  st.global.u32 [%rd1+4], %r1;
  ret;
})",
                                   {1, 1, 1}, {1, 1, 1}, Parameters().add(out));
    ASSERT_TRUE(result) << why(result);
    EXPECT_EQ(device.download<std::uint32_t>(out, 2), (std::vector<std::uint32_t>{2, 1}));
}

}  // namespace
}  // namespace egpu::simulated::test
