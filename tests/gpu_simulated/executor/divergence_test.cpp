// SPDX-License-Identifier: Apache-2.0
// Lanes that go different ways: where they meet, that all make progress, what is reported.
#include <numeric>

#include "device.hpp"

namespace egpu::simulated::test {
namespace {

TEST(Divergence, VectorAddWithEarlyReturn) {
    Device device;
    const std::uint32_t count = 1000;
    std::vector<float> a(count), b(count);
    std::iota(a.begin(), a.end(), 1.0F);
    std::iota(b.begin(), b.end(), 0.5F);
    const auto pa = device.upload(a), pb = device.upload(b), pc = device.upload(std::vector<float>(count));
    const auto result = device.run(R"(
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
  .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<11>;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c]; ld.param.u32 %r2, [n];
  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
  mad.lo.s32 %r1, %r3, %r4, %r5;
  setp.ge.s32 %p1, %r1, %r2;
  @%p1 bra $done;
  cvta.to.global.u64 %rd4, %rd1; mul.wide.s32 %rd5, %r1, 4; add.s64 %rd6, %rd4, %rd5;
  cvta.to.global.u64 %rd7, %rd2; add.s64 %rd8, %rd7, %rd5;
  ld.global.f32 %f1, [%rd8]; ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f2, %f1;
  cvta.to.global.u64 %rd9, %rd3; add.s64 %rd10, %rd9, %rd5;
  st.global.f32 [%rd10], %f3;
$done:
  ret;
})",
                                   {8, 1, 1}, {128, 1, 1}, Parameters().add(pa).add(pb).add(pc).add(count));
    ASSERT_TRUE(result) << why(result);
    const auto c = device.download<float>(pc, count);
    for (std::uint32_t i = 0; i < count; ++i) {
        ASSERT_EQ(c[i], a[i] + b[i]) << i;
    }
    EXPECT_EQ(result.statistics.blocks, 8U);
}

}  // namespace
}  // namespace egpu::simulated::test
