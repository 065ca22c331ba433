// SPDX-License-Identifier: Apache-2.0
// Device memory as the host sees it.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "device.hpp"

namespace egpu::simulated::test {
namespace {

TEST(DeviceMemory, AllocatesZeroedAlignedAndApart) {
    DeviceMemory memory;
    const auto a = memory.allocate(100), b = memory.allocate(1, 4096);
    ASSERT_TRUE(a && b);
    EXPECT_GE(*a, kDeviceBase);
    EXPECT_LT(*a, std::uint64_t{1} << 47);
    EXPECT_EQ(*a % 256, 0U);
    EXPECT_EQ(*b % 4096, 0U);
    EXPECT_GE(*b, *a + 100 + kRedZone);
    std::array<char, 100> bytes;
    bytes.fill(1);
    ASSERT_TRUE(memory.copy_out(bytes.data(), *a, 100));
    EXPECT_EQ(bytes, (std::array<char, 100>{}));
    EXPECT_EQ(memory.used(), 101U);
}

TEST(DeviceMemory, ChecksEveryAccess) {
    DeviceMemory memory;
    const auto a = memory.allocate(16);
    ASSERT_TRUE(a);
    std::array<char, 32> bytes{};
    EXPECT_TRUE(memory.copy_in(*a + 8, bytes.data(), 8));
    EXPECT_FALSE(memory.copy_in(*a + 8, bytes.data(), 9));
    EXPECT_FALSE(memory.copy_out(bytes.data(), *a - 1, 1));
    EXPECT_FALSE(memory.copy_out(bytes.data(), 0, 1));
    EXPECT_FALSE(memory.copy_in(*a, bytes.data(), ~std::uint64_t{0}));
    EXPECT_FALSE(memory.fill(*a, 0, 4, 5));
    EXPECT_FALSE(memory.fill(*a, 0, 3, 1));
    EXPECT_FALSE(memory.fill(*a, 0, 8, std::uint64_t{1} << 61));
    EXPECT_FALSE(memory.release(*a + 4));
    EXPECT_TRUE(memory.release(*a));
    EXPECT_FALSE(memory.release(*a));
    EXPECT_FALSE(memory.find(*a));
}

TEST(DeviceMemory, FillsAndCopies) {
    DeviceMemory memory;
    const auto a = memory.allocate(64);
    ASSERT_TRUE(a);
    ASSERT_TRUE(memory.fill(*a, 0x11223344, 4, 4));
    ASSERT_TRUE(memory.copy(*a + 4, *a, 12));
    ASSERT_TRUE(memory.fill(*a, 0xab, 1, 2));
    std::array<std::uint32_t, 4> words{};
    ASSERT_TRUE(memory.copy_out(words.data(), *a, 16));
    EXPECT_EQ(words, (std::array<std::uint32_t, 4>{0x1122abab, 0x11223344, 0x11223344, 0x11223344}));
}

// As of a context that goes while another thread copies.
TEST(DeviceMemory, WhatIsReleasedDuringACopyStaysUntilItEnds) {
    constexpr std::uint64_t kBytes = std::uint64_t{32} << 20;
    DeviceMemory memory;
    for (int round = 0; round < 8; ++round) {
        const auto a = memory.allocate(kBytes);
        ASSERT_TRUE(a);
        ASSERT_TRUE(memory.fill(*a, 7, 1, kBytes));
        std::atomic<bool> copying{false};
        std::vector<char> bytes(kBytes);
        std::thread copier([&] {
            copying = true;
            while (memory.copy_out(bytes.data(), *a, kBytes)) {
            }
        });
        while (!copying)
            std::this_thread::yield();
        EXPECT_TRUE(memory.release(*a));
        copier.join();
        EXPECT_TRUE(bytes == std::vector<char>(kBytes, 7) || bytes == std::vector<char>(kBytes, 0));
    }
    EXPECT_EQ(memory.used(), 0U);
}

TEST(DeviceMemory, CapacityIsKept) {
    DeviceMemory memory(1 << 20);
    EXPECT_FALSE(memory.allocate((1 << 20) + 1));
    const auto a = memory.allocate(1 << 19);
    ASSERT_TRUE(a);
    EXPECT_FALSE(memory.allocate((1 << 19) + 1));
    ASSERT_TRUE(memory.release(*a));
    EXPECT_TRUE(memory.allocate(1 << 20));
    EXPECT_FALSE(memory.allocate(0));
    EXPECT_FALSE(memory.allocate(16, 3));
}

TEST(DeviceMemory, HostMemoryKeepsItsAddress) {
    Device device;
    std::vector<std::uint32_t> host(64, 5);
    ASSERT_TRUE(device.memory.map_host(host.data(), 256));
    EXPECT_FALSE(device.memory.map_host(host.data() + 4, 16));
    const auto result = device.run(R"(
.visible .entry k(.param .u64 p)
{
  .reg .b32 %r<3>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd2, %r1, 4, %rd1;
  ld.u32 %r2, [%rd2]; add.u32 %r2, %r2, %r1; st.u32 [%rd2], %r2; ret;
})",
                                   {1, 1, 1}, {64, 1, 1}, Parameters().add(host.data()));
    ASSERT_TRUE(result) << why(result);
    EXPECT_EQ(host[63], 68U);
    EXPECT_TRUE(device.memory.unmap_host(host.data()));
    EXPECT_FALSE(device.memory.unmap_host(host.data()));
}

TEST(DeviceMemory, AddressesAreReusedLate) {
    DeviceMemory memory;
    std::uint64_t last = 0;
    for (int i = 0; i < 1000; ++i) {
        const auto a = memory.allocate(1000);
        ASSERT_TRUE(a);
        EXPECT_GT(*a, last);
        last = *a;
        ASSERT_TRUE(memory.release(*a));
    }
}

TEST(DeviceMemory, GoesOnBehindItsEnd) {
    // 40 GiB would be too much to fill: the search from the beginning is shown by large alignments.
    DeviceMemory memory;
    const auto a = memory.allocate(16, std::uint64_t{1} << 33);
    ASSERT_TRUE(a);
    for (int i = 0; i < 20; ++i) {
        const auto b = memory.allocate(16, std::uint64_t{1} << 33);
        ASSERT_TRUE(b) << i;
        EXPECT_NE(*a, *b);
        EXPECT_EQ(*b % (std::uint64_t{1} << 33), 0U);
        ASSERT_TRUE(memory.release(*b));
    }
}

TEST(DeviceMemory, SaysWhereAnAddressIs) {
    DeviceMemory memory;
    const auto a = memory.allocate(16, 256, AllocationKind::variable, "table");
    ASSERT_TRUE(a);
    EXPECT_NE(memory.describe(*a + 3).find("3 bytes into variable 'table'"), std::string::npos);
    EXPECT_NE(memory.describe(*a + 20).find("4 bytes past the end of variable 'table'"), std::string::npos);
    EXPECT_NE(memory.describe(*a - 2).find("2 bytes before"), std::string::npos);
    EXPECT_NE(memory.describe(7).find("null"), std::string::npos);
}

TEST(DeviceMemory, TwoDevicesDontOverlap) {
    DeviceMemory one, other;
    const auto a = one.allocate(16), b = other.allocate(16);
    ASSERT_TRUE(a && b);
    EXPECT_FALSE(one.find(*b));
    EXPECT_FALSE(other.find(*a));
}

}  // namespace
}  // namespace egpu::simulated::test
