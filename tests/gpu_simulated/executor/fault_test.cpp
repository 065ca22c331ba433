// SPDX-License-Identifier: Apache-2.0
// What hardware hides: accesses outside of allocations, misaligned ones, barriers that lanes or warps miss, endless
// loops.
#include "device.hpp"

namespace egpu::simulated::test {
namespace {

using testing::Test;

void expect_fault(const LaunchResult& result, FaultKind kind, std::initializer_list<const char*> words) {
    ASSERT_TRUE(result.fault);
    EXPECT_EQ(to_string(result.fault->kind), to_string(kind)) << result.fault->text;
    for (const char* const word : words) {
        EXPECT_NE(result.fault->text.find(word), std::string::npos) << "'" << word << "' in: " << result.fault->text;
    }
}

constexpr const char* kStoreAtIndex = R"(
.visible .entry k(.param .u64 out, .param .u32 scale)
{
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [scale];
  mov.u32 %r2, %tid.x;
  mul.lo.u32 %r3, %r2, %r1;
  cvt.u64.u32 %rd2, %r3;
  add.u64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r2;
  ret;
})";

TEST(Fault, StorePastTheEndNamesThreadLineAndAllocation) {
    Device device;
    const auto out = device.upload(std::vector<std::uint32_t>(40));
    const auto result = device.run(kStoreAtIndex, {1, 1, 1}, {64, 1, 1}, Parameters().add(out).add(4U));
    expect_fault(result, FaultKind::illegal_address,
                 {"kernel 'k'", "block (0, 0, 0)", "thread (40, 0, 0)", "PTX line 14", "write of 4 bytes",
                  "just past the end", "160 bytes"});
    EXPECT_EQ(result.fault->thread.x, 40U);
    EXPECT_EQ(result.fault->address, out + 160);
}

TEST(Fault, EveryAllocationHasARedZone) {
    Device device;
    const auto a = device.upload(std::vector<std::uint32_t>(64));
    const auto b = device.upload(std::vector<std::uint32_t>(64));
    EXPECT_GE(b - (a + 256), kRedZone);
    // Lane 1 is 256 bytes behind lane 0: in the zone between the two.
    expect_fault(device.run(kStoreAtIndex, {1, 1, 1}, {2, 1, 1}, Parameters().add(a).add(256U)),
                 FaultKind::illegal_address, {"just past the end", "thread (1, 0, 0)"});
}

TEST(Fault, NullPointer) {
    Device device;
    expect_fault(device.run(kStoreAtIndex, {1, 1, 1}, {1, 1, 1}, Parameters().add(std::uint64_t{0}).add(4U)),
                 FaultKind::illegal_address, {"null pointer"});
}

TEST(Fault, Misaligned) {
    Device device;
    const auto out = device.upload(std::vector<std::uint32_t>(64));
    expect_fault(device.run(kStoreAtIndex, {1, 1, 1}, {32, 1, 1}, Parameters().add(out).add(2U)),
                 FaultKind::misaligned_address, {"thread (1, 0, 0)", "not a multiple of 4"});
}

TEST(Fault, FreedMemoryIsFoundNoMore) {
    Device device;
    const auto out = device.upload(std::vector<std::uint32_t>(64));
    ASSERT_TRUE(device.memory.release(out));
    expect_fault(device.run(kStoreAtIndex, {1, 1, 1}, {1, 1, 1}, Parameters().add(out).add(4U)),
                 FaultKind::illegal_address, {});
}

TEST(Fault, SourceLineFromLoc) {
    Device device;
    const auto result = device.run(R"(
.file 1 "kernel.cu"
.visible .entry k()
{
  .reg .b64 %rd<2>; .reg .b32 %r<2>;
  .loc 1 42 7
  mov.u64 %rd1, 64;
  ld.global.u32 %r1, [%rd1];
  ret;
})",
                                   {1, 1, 1}, {1, 1, 1}, Parameters());
    expect_fault(result, FaultKind::illegal_address, {"kernel.cu:42"});
    EXPECT_EQ(result.fault->source_line, 42U);
}

TEST(Fault, ConstantMemoryCantBeWritten) {
    Device device;
    expect_fault(device.run(R"(
.const .align 4 .b8 table[16];
.visible .entry k()
{
  .reg .b64 %rd<3>;
  mov.u64 %rd1, table;
  cvta.const.u64 %rd2, %rd1;
  st.u32 [%rd2], 7;
  ret;
})",
                            {1, 1, 1}, {1, 1, 1}, Parameters()),
                 FaultKind::illegal_address, {"constant memory", "'table'"});
}

TEST(Fault, SharedMemoryHasBounds) {
    Device device;
    expect_fault(device.run(R"(
.visible .entry k()
{
  .shared .align 4 .b8 tile[64];
  .reg .b64 %rd<2>;
  mov.u64 %rd1, tile;
  st.shared.u32 [%rd1+64], 7;
  ret;
})",
                            {1, 1, 1}, {1, 1, 1}, Parameters()),
                 FaultKind::illegal_address, {"shared address 0x40", "64 bytes"});
}

TEST(Fault, BarrierInOneBranchIsReported) {
    Device device;
    const auto result = device.run(R"(
.visible .entry k()
{
  .reg .pred %p<2>; .reg .b32 %r<2>;
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 16;
  @!%p1 bra $skip;
  bar.sync 0;
$skip:
  add.u32 %r1, %r1, 1;
  ret;
})",
                                   {1, 1, 1}, {32, 1, 1}, Parameters());
    expect_fault(result, FaultKind::divergent_barrier, {"0x0000ffff", "0xffffffff", "PTX line 11"});
}

TEST(Fault, BarriersInBothBranchesAreReported) {
    Device device;
    expect_fault(device.run(R"(
.visible .entry k()
{
  .reg .pred %p<2>; .reg .b32 %r<2>;
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 16;
  @%p1 bra $low;
  bar.sync 0;
  bra.uni $meet;
$low:
  bar.sync 0;
$meet:
  ret;
})",
                            {1, 1, 1}, {32, 1, 1}, Parameters()),
                 FaultKind::divergent_barrier, {"together"});
}

TEST(Fault, WarpsAtDifferentBarriersAreReported) {
    Device device;
    expect_fault(device.run(R"(
.visible .entry k()
{
  .reg .pred %p<2>; .reg .b32 %r<2>;
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 32;
  @%p1 bra $first;
  bar.sync 1;
  ret;
$first:
  bar.sync 0;
  ret;
})",
                            {1, 1, 1}, {64, 1, 1}, Parameters()),
                 FaultKind::divergent_barrier, {"all warps of the block wait", "warp 0", "warp 1"});
}

TEST(Fault, EndlessLoopEndsWithItsBudget) {
    Device device;
    device.environment.step_budget = 100'000;
    expect_fault(device.run(R"(
.visible .entry k()
{
$again:
  bra.uni $again;
})",
                            {1, 1, 1}, {32, 1, 1}, Parameters()),
                 FaultKind::step_budget, {"100000 warp instructions"});
}

TEST(Fault, Trap) {
    Device device;
    expect_fault(device.run(R"(
.visible .entry k()
{
  .reg .pred %p<2>; .reg .b32 %r<2>;
  mov.u32 %r1, %tid.x;
  setp.eq.u32 %p1, %r1, 5;
  @%p1 trap;
  ret;
})",
                            {1, 1, 1}, {32, 1, 1}, Parameters()),
                 FaultKind::trap, {"thread (5, 0, 0)"});
}

TEST(Fault, LaunchesThatCantBe) {
    Device device;
    const auto module = device.load(R"(
.visible .entry k(.param .u64 p)
.maxntid 64, 1, 1
{
  ret;
})");
    ASSERT_TRUE(module);
    const Parameters parameters = Parameters().add(std::uint64_t{0});
    expect_fault(device.run(*module, "k", {1, 1, 1}, {65, 1, 1}, parameters), FaultKind::bad_launch,
                 {"65 threads", "64"});
    expect_fault(device.run(*module, "k", {1, 1, 1}, {1, 1, 1}, Parameters()), FaultKind::bad_launch, {"parameters"});
    expect_fault(device.run(*module, "k", {0, 1, 1}, {1, 1, 1}, parameters), FaultKind::bad_launch, {"grid"});
    expect_fault(device.run(*module, "k", {1, 1, 1}, {1, 1, 1}, parameters, 300 * 1024), FaultKind::bad_launch,
                 {"shared"});
    EXPECT_TRUE(device.run(*module, "k", {1, 1, 1}, {64, 1, 1}, parameters));
}

TEST(Fault, OtherWorkersStop) {
    Device device;
    device.environment.workers = 2;
    expect_fault(device.run(R"(
.visible .entry k()
{
  .reg .pred %p<2>; .reg .b32 %r<2>;
  mov.u32 %r1, %ctaid.x;
  setp.eq.u32 %p1, %r1, 3;
  @%p1 trap;
$again:
  bra.uni $again;
})",
                            {8, 1, 1}, {32, 1, 1}, Parameters()),
                 FaultKind::trap, {"block (3, 0, 0)"});
}

}  // namespace
}  // namespace egpu::simulated::test
