// SPDX-License-Identifier: Apache-2.0
// Copies between a map's memory and a snapshot, with a driver whose device memory is memory of this process.
#include "agent/maps/shards.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace egpu::agent {
namespace {

int calls = 0;

CUresult copy_2d(const CUDA_MEMCPY2D* copy, CUstream) {
    ++calls;
    const bool up = copy->srcMemoryType == CU_MEMORYTYPE_HOST;
    EXPECT_EQ(copy->dstMemoryType, up ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
    if (copy->srcPitch < copy->WidthInBytes || copy->dstPitch < copy->WidthInBytes)
        return CUDA_ERROR_INVALID_VALUE;  // as the driver says
    const auto* from =
        up ? static_cast<const std::byte*>(copy->srcHost) : reinterpret_cast<std::byte*>(copy->srcDevice);
    auto* to = up ? reinterpret_cast<std::byte*>(copy->dstDevice) : static_cast<std::byte*>(copy->dstHost);
    for (std::size_t row = 0; row < copy->Height; ++row)
        std::memcpy(to + row * copy->dstPitch, from + row * copy->srcPitch, copy->WidthInBytes);
    return CUDA_SUCCESS;
}
CUresult copy_up(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
    ++calls;
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return CUDA_SUCCESS;
}
CUresult copy_down(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
    ++calls;
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    return CUDA_SUCCESS;
}
CUresult refuse_2d(const CUDA_MEMCPY2D*, CUstream) {
    ++calls;
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

Driver driver_in_memory(bool rows_at_once) {
    Driver driver{};
    driver.cuMemcpy2DAsync_v2 = rows_at_once ? copy_2d : nullptr;
    driver.cuMemcpyHtoDAsync_v2 = copy_up;
    driver.cuMemcpyDtoHAsync_v2 = copy_down;
    return driver;
}

maps::Layout layout_of(std::uint32_t stride, std::uint32_t capacity, std::uint32_t shards) {
    maps::Layout layout;
    layout.value_bytes = layout.stride = stride;
    layout.capacity = capacity;
    layout.shards = shards;
    return layout;
}

/// Each word says which shard, slot and word it is, at its place in memory; a snapshot must have them in order.
void expect_there_and_back(const maps::Layout& layout, std::uint32_t slots, const Driver& driver) {
    std::vector<std::uint64_t> expected(layout.snapshot_bytes(slots) / 8), device(layout.device_bytes() / 8);
    std::size_t at = 0;
    for (std::uint32_t shard = 0; shard < layout.shards; ++shard)
        for (std::uint32_t slot = 0; slot < slots; ++slot)
            for (std::uint32_t byte = 0; byte < layout.stride; byte += 8) {
                const std::uint64_t word = (std::uint64_t{shard} << 40 | std::uint64_t{slot} << 12 | byte) + 1;
                device[(layout.device_offset_of(slot, byte) + shard * layout.shard_distance()) / 8] = word;
                expected[at++] = word;
            }
    std::vector<std::uint64_t> snapshot(expected.size()), again(device.size());
    const auto address = [](std::vector<std::uint64_t>& memory) {
        return reinterpret_cast<CUdeviceptr>(memory.data());
    };
    ASSERT_EQ(copy_from_shards(driver, address(device), layout, std::as_writable_bytes(std::span(snapshot)), nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(snapshot, expected);
    ASSERT_EQ(copy_to_shards(driver, address(again), layout, std::as_bytes(std::span(expected)), nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(again, device);
}

TEST(Shards, EveryWordComesToItsPlaceAndBack) {
    for (const bool rows_at_once : {true, false})
        for (const std::uint32_t stride : {8u, 24u, 1032u})
            for (const std::uint32_t capacity : {1u, 42u, 128u, 300u})
                for (const std::uint32_t shards : {1u, 2u, 7u, 33u})
                    for (const std::uint32_t slots : {1u, 2u, capacity / 2, capacity - 1, capacity}) {
                        if (slots == 0 || slots > capacity)
                            continue;
                        SCOPED_TRACE(testing::Message() << stride << " bytes, " << slots << " of " << capacity
                                                        << " slots, " << shards << " shards, " << rows_at_once);
                        expect_there_and_back(layout_of(stride, capacity, shards), slots,
                                              driver_in_memory(rows_at_once));
                        if (HasFailure())
                            return;
                    }
}

TEST(Shards, FewCallsWhicheverThereIsMoreOf) {
    const Driver driver = driver_in_memory(true);
    calls = 0;
    expect_there_and_back(layout_of(16, 4096, 128), 4096, driver);
    EXPECT_EQ(calls, 2 * 64) << "one for each chunk";
    calls = 0;
    expect_there_and_back(layout_of(16, 100'000, 2), 100'000, driver);
    EXPECT_EQ(calls, 2 * 4) << "two for each shard";
    calls = 0;
    expect_there_and_back(layout_of(16, 4096, 128), 3, driver);
    EXPECT_EQ(calls, 2);
}

TEST(Shards, NothingIsNoCallAndAFailureEndsIt) {
    Driver driver = driver_in_memory(true);
    calls = 0;
    EXPECT_EQ(copy_from_shards(driver, 0, layout_of(16, 10, 4), {}, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(calls, 0);
    driver.cuMemcpy2DAsync_v2 = refuse_2d;
    std::vector<std::byte> snapshot(16 * 4096 * 128);
    EXPECT_EQ(copy_from_shards(driver, 0, layout_of(16, 4096, 128), snapshot, nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace egpu::agent
