// SPDX-License-Identifier: Apache-2.0
// Against figures of NVIDIA's occupancy tables and of measurements (H200).
#include "host/catalogue/residency.hpp"

#include <gtest/gtest.h>

namespace egpu::host {
namespace {

TEST(Residency, FiguresOfTheTables) {
    struct {
        std::uint32_t architecture, registers, threads, warps;
    } const cases[] = {
        {90, 32, 1024, 64}, {90, 33, 1024, 32}, {90, 64, 1024, 32}, {90, 65, 1024, 0}, {90, 40, 256, 48},
        {90, 32, 256, 64},  {90, 63, 256, 32},  {90, 80, 384, 24},  {90, 95, 384, 12}, {90, 255, 32, 8},
        {75, 32, 1024, 32}, {86, 32, 1024, 32}, {86, 40, 512, 48},  {86, 48, 512, 32}, {90, 16, 32, 32},
        {75, 16, 32, 16},   {90, 1, 64, 64},    {90, 128, 33, 16},
    };
    for (const auto& one : cases)
        EXPECT_EQ(resident_warps(one.architecture, one.registers, one.threads), one.warps)
            << "sm_" << one.architecture << ", " << one.registers << " registers, " << one.threads << " threads";
}

TEST(Residency, WithoutBoundsRegistersAloneCount) {
    EXPECT_EQ(resident_warps(90, 40, BlockBounds{}), 48u);
    EXPECT_EQ(resident_warps(90, 16, BlockBounds{}), 64u);
    EXPECT_EQ(resident_warps(90, 80, BlockBounds{384, false}), 24u);
}

TEST(Residency, TheFirstSizeThatLoses) {
    EXPECT_EQ(first_size_with_fewer(90, {}, 32, 32), 0u);
    EXPECT_EQ(first_size_with_fewer(90, {}, 17, 24), 0u);  // given out by eight
    EXPECT_EQ(first_size_with_fewer(90, {384, true}, 80, 95), 384u);
    EXPECT_EQ(first_size_with_fewer(90, {128, true}, 32, 40), 128u);  // 64 -> 48 warps
    EXPECT_EQ(first_size_with_fewer(90, {128, true}, 16, 32), 0u);
    EXPECT_NE(first_size_with_fewer(90, {}, 32, 33), 0u);
    // Fewer registers never lose.
    for (std::uint32_t registers = 1; registers < 255; ++registers)
        EXPECT_EQ(first_size_with_fewer(90, {}, registers + 1, registers), 0u) << registers;
}

TEST(Residency, TheSameAllocationLosesNothing) {
    for (const std::uint32_t architecture : {70U, 75U, 80U, 86U, 89U, 90U, 100U, 120U})
        for (std::uint32_t registers = 16; registers <= 248; ++registers)
            EXPECT_EQ(first_size_with_fewer(architecture, {}, registers, same_allocation(registers)), 0u)
                << architecture << " " << registers;
}

}  // namespace
}  // namespace egpu::host
