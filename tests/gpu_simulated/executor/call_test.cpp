// SPDX-License-Identifier: Apache-2.0
// Functions: parameters in memory and in registers, recursion, calls through addresses, the device library.
#include "device.hpp"

namespace egpu::simulated::test {
namespace {

std::vector<std::uint32_t> run_out(Device& device, const std::string& body, std::uint32_t threads = 32) {
    const auto out = device.upload(std::vector<std::uint32_t>(threads));
    const auto result = device.run(body, {1, 1, 1}, {threads, 1, 1}, Parameters().add(out));
    EXPECT_TRUE(result) << why(result);
    return device.download<std::uint32_t>(out, threads);
}

constexpr const char* kFactorial = R"(
.func (.param .b32 result) factorial(.param .b32 n)
{
  .reg .pred %p<2>; .reg .b32 %r<5>;
  ld.param.u32 %r1, [n];
  setp.gt.u32 %p1, %r1, 1;
  @%p1 bra $more;
  st.param.b32 [result], 1;
  ret;
$more:
  sub.u32 %r2, %r1, 1;
  {
    .param .b32 argument; .param .b32 value;
    st.param.b32 [argument], %r2;
    call.uni (value), factorial, (argument);
    ld.param.b32 %r3, [value];
  }
  mul.lo.u32 %r4, %r1, %r3;
  st.param.b32 [result], %r4;
  ret;
}
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<5>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x; rem.u32 %r2, %r1, LIMIT;
  {
    .param .b32 argument; .param .b32 value;
    st.param.b32 [argument], %r2;
    call (value), factorial, (argument);
    ld.param.b32 %r3, [value];
  }
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  st.global.u32 [%rd2], %r3;
  ret;
})";

std::string factorial(const std::string& limit) {
    std::string text = kFactorial;
    return text.replace(text.find("LIMIT"), 5, limit);
}

TEST(Call, RecursionUnderDivergence) {
    Device device;
    const auto got = run_out(device, factorial("10"));
    for (std::uint32_t i = 0; i < 32; ++i) {
        std::uint32_t expected = 1;
        for (std::uint32_t f = 2; f <= i % 10; ++f) {
            expected *= f;
        }
        EXPECT_EQ(got[i], expected) << i;
    }
}

TEST(Call, EndlessRecursionIsAStackOverflow) {
    Device device;
    const auto out = device.upload(std::vector<std::uint32_t>(32));
    const auto result = device.run(R"(
.func down()
{
  call.uni down;
  ret;
}
.visible .entry k(.param .u64 out)
{
  call.uni down;
  ret;
})",
                                   {1, 1, 1}, {32, 1, 1}, Parameters().add(out));
    ASSERT_TRUE(result.fault);
    EXPECT_EQ(result.fault->kind, FaultKind::call_depth) << result.fault->text;
    EXPECT_NE(result.fault->text.find("'down'"), std::string::npos);
}

TEST(Call, StackLimitIsReported) {
    Device device;
    device.environment.stack_limit = 256;
    const auto out = device.upload(std::vector<std::uint32_t>(32));
    const auto result = device.run(factorial("32"), {1, 1, 1}, {32, 1, 1}, Parameters().add(out));
    ASSERT_TRUE(result.fault);
    EXPECT_EQ(result.fault->kind, FaultKind::call_depth) << result.fault->text;
}

TEST(Call, RegisterParametersGuardsAndPredicates) {
    Device device;
    const auto got = run_out(device, R"(
.func (.reg .b32 sum) add_or_not(.reg .b32 a, .reg .b64 b, .reg .pred yes)
{
  .reg .b32 t;
  cvt.u32.u64 t, b;
  mov.u32 sum, a;
  @yes add.u32 sum, a, t;
  ret;
}
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r3, 7;
  setp.lt.u32 %p1, %r1, 8;
  setp.lt.u32 %p2, %r1, 4;
  mov.u64 %rd3, 100;
  @%p1 call (%r3), add_or_not, (%r1, %rd3, %p2);
  mad.wide.u32 %rd2, %r1, 4, %rd1;
  st.global.u32 [%rd2], %r3;
  ret;
})");
    for (std::uint32_t i = 0; i < 32; ++i) {
        EXPECT_EQ(got[i], i < 4 ? i + 100 : i < 8 ? i : 7U) << i;
    }
}

TEST(Call, ThroughATableOfAddresses) {
    Device device;
    const auto got = run_out(device, R"(
.func (.param .b32 r) twice(.param .b32 x)
{ .reg .b32 %r<3>; ld.param.u32 %r1, [x]; add.u32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret; }
.func (.param .b32 r) square(.param .b32 x)
{ .reg .b32 %r<3>; ld.param.u32 %r1, [x]; mul.lo.u32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret; }
.global .align 8 .u64 table[2] = {twice, square};
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<5>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1;
  mov.u64 %rd2, table; mad.wide.u32 %rd3, %r2, 8, %rd2;
  ld.global.u64 %rd4, [%rd3];
  {
    .param .b32 argument; .param .b32 value;
    st.param.b32 [argument], %r1;
    prototype : .callprototype (.param .b32 _) _ (.param .b32 _);
    call (value), %rd4, (argument), prototype;
    ld.param.b32 %r3, [value];
  }
  mad.wide.u32 %rd5, %r1, 4, %rd1;
  st.global.u32 [%rd5], %r3;
  ret;
})");
    for (std::uint32_t i = 0; i < 32; ++i) {
        EXPECT_EQ(got[i], i % 2 == 0 ? 2 * i : i * i) << i;
    }
}

TEST(Call, OfNoFunctionIsReported) {
    Device device;
    const auto out = device.upload(std::vector<std::uint32_t>(32));
    const auto result = device.run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .b64 %rd<9>;
  mov.u64 %rd4, 0x1234;
  prototype : .callprototype _ ();
  call %rd4, (), prototype;
  ret;
})",
                                   {1, 1, 1}, {32, 1, 1}, Parameters().add(out));
    ASSERT_TRUE(result.fault);
    EXPECT_EQ(result.fault->kind, FaultKind::illegal_instruction);
    EXPECT_NE(result.fault->text.find("0x1234"), std::string::npos);
}

TEST(Call, LocalArraysByGenericAddress) {
    Device device;
    const auto got = run_out(device, R"(
.func fill(.param .b64 where, .param .b32 value)
{
  .reg .b32 %r<3>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [where]; ld.param.u32 %r1, [value];
  st.u32 [%rd1], %r1; add.u32 %r2, %r1, 1; st.u32 [%rd1+4], %r2;
  ret;
}
.visible .entry k(.param .u64 out)
{
  .local .align 8 .b8 depot[16];
  .reg .b32 %r<6>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u64 %rd2, depot; cvta.local.u64 %rd3, %rd2;
  add.u64 %rd4, %rd3, 8;
  {
    .param .b64 a; .param .b32 b;
    st.param.b64 [a], %rd4; st.param.b32 [b], %r1;
    call fill, (a, b);
  }
  ld.local.v2.u32 {%r2, %r3}, [%rd2+8];
  mad.lo.u32 %r4, %r3, 1000, %r2;
  mad.wide.u32 %rd5, %r1, 4, %rd1;
  st.global.u32 [%rd5], %r4;
  ret;
})");
    for (std::uint32_t i = 0; i < 32; ++i) {
        EXPECT_EQ(got[i], (i + 1) * 1000 + i) << i;
    }
}

TEST(Call, DeviceLibrary) {
    Device device;
    std::string printed;
    device.environment.print = [&](std::string_view text) { printed += text; };
    const auto got = run_out(device, R"(
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func free(.param .b64 p);
.global .align 1 .b8 format[21] = {108, 97, 110, 101, 32, 37, 100, 58, 32, 37, 53, 46, 50, 102, 32, 37, 108, 108, 120, 10, 0};
.visible .entry k(.param .u64 out)
{
  .local .align 8 .b8 depot[24];
  .reg .b32 %r<6>; .reg .b64 %rd<12>; .reg .f64 %fd<2>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u64 %rd2, depot; cvta.local.u64 %rd3, %rd2;
  st.local.u32 [%rd2], %r1; mov.f64 %fd1, 0d3FF8000000000000; st.local.f64 [%rd2+8], %fd1;
  mov.u64 %rd9, 0xabcdef0123; st.local.u64 [%rd2+16], %rd9;
  mov.u64 %rd4, format; cvta.global.u64 %rd5, %rd4;
  {
    .param .b64 f; .param .b64 a; .param .b32 r;
    st.param.b64 [f], %rd5; st.param.b64 [a], %rd3;
    call.uni (r), vprintf, (f, a);
    ld.param.b32 %r2, [r];
  }
  {
    .param .b64 n; .param .b64 p;
    st.param.b64 [n], 64;
    call.uni (p), malloc, (n);
    ld.param.b64 %rd6, [p];
  }
  st.u32 [%rd6+60], %r2; ld.u32 %r3, [%rd6+60];
  {
    .param .b64 p;
    st.param.b64 [p], %rd6;
    call.uni free, (p);
  }
  mad.wide.u32 %rd7, %r1, 4, %rd1;
  st.global.u32 [%rd7], %r3;
  ret;
})",
                             2);
    EXPECT_EQ(printed, "lane 0:  1.50 abcdef0123\nlane 1:  1.50 abcdef0123\n");
    EXPECT_EQ(got[0], 3U);
    EXPECT_EQ(device.memory.heap_used(), 0U);
}

TEST(Call, FailedAssertion) {
    Device device;
    const auto result = device.run(R"(
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 1 .b8 text[6] = {120, 32, 62, 32, 48, 0};
.global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};
.visible .entry k()
{
  .reg .b64 %rd<4>;
  mov.u64 %rd1, text; mov.u64 %rd2, file;
  {
    .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
    st.param.b64 [a], %rd1; st.param.b64 [b], %rd2; st.param.b32 [c], 17; st.param.b64 [d], %rd2; st.param.b64 [e], 1;
    call.uni __assertfail, (a, b, c, d, e);
  }
  ret;
})",
                                   {1, 1, 1}, {1, 1, 1}, Parameters());
    ASSERT_TRUE(result.fault);
    EXPECT_EQ(result.fault->kind, FaultKind::assertion);
    EXPECT_NE(result.fault->text.find("a.cu:17"), std::string::npos) << result.fault->text;
    EXPECT_NE(result.fault->text.find("x > 0"), std::string::npos);
}

}  // namespace
}  // namespace egpu::simulated::test
