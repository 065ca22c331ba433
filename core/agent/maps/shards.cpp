// SPDX-License-Identifier: Apache-2.0
#include "agent/maps/shards.hpp"

#include <algorithm>
#include <cstdint>

namespace egpu::agent {

namespace {

// Rows of equal length, on the device and in the snapshot.
struct Rows {
    std::uint64_t device;  // first row's offset in the map
    std::uint64_t host;    // and in the snapshot
    std::uint64_t device_pitch;
    std::uint64_t host_pitch;
    std::uint64_t bytes;  // of a row
    std::uint64_t rows;
};

class ShardCopy {
public:
    // The host's memory is written in one direction only: from the device.
    ShardCopy(const Driver& real, CUdeviceptr map, std::byte* host, bool to_device, CUstream stream)
        : real_(real), map_(map), host_(host), to_device_(to_device), stream_(stream) {}

    CUresult copy(const maps::Layout& layout, std::uint64_t slots) const {
        if (!layout.is_sharded())
            return one_row({0, 0, 0, 0, slots * layout.stride, 1}, 0);
        const std::uint64_t chunks = layout.chunk_slots() == 0 ? 0 : slots / layout.chunk_slots();
        return chunks > layout.shards ? by_shards(layout, slots, chunks) : by_chunks(layout, slots);
    }

private:
    // A row is what one shard has of the chunk.
    CUresult by_chunks(const maps::Layout& layout, std::uint64_t slots) const {
        const std::uint64_t host_pitch = slots * layout.stride;
        for (std::uint64_t slot = 0; slot < slots; slot += layout.chunk_slots()) {
            const std::uint64_t here = std::min<std::uint64_t>(slots - slot, layout.chunk_slots());
            const CUresult result =
                rows({layout.device_offset_of(static_cast<std::uint32_t>(slot), 0), slot * layout.stride,
                      layout.shard_distance(), host_pitch, here * layout.stride, layout.shards});
            if (result != CUDA_SUCCESS)
                return result;
        }
        return CUDA_SUCCESS;
    }

    // A row is what the shard has of one chunk; the last chunk may be a part of one.
    CUresult by_shards(const maps::Layout& layout, std::uint64_t slots, std::uint64_t whole_chunks) const {
        const std::uint64_t chunk_bytes = std::uint64_t{layout.chunk_slots()} * layout.stride;
        const std::uint64_t rest = slots * layout.stride - whole_chunks * chunk_bytes;
        for (std::uint64_t shard = 0; shard < layout.shards; ++shard) {
            const std::uint64_t device = shard * layout.shard_distance(), host = shard * slots * layout.stride;
            CUresult result = rows({device, host, layout.chunk_distance(), chunk_bytes, chunk_bytes, whole_chunks});
            if (result == CUDA_SUCCESS && rest != 0)
                result = one_row(
                    {device + whole_chunks * layout.chunk_distance(), host + whole_chunks * chunk_bytes, 0, 0, rest, 1},
                    0);
            if (result != CUDA_SUCCESS)
                return result;
        }
        return CUDA_SUCCESS;
    }

    CUresult rows(const Rows& rows) const {
        if (real_.cuMemcpy2DAsync_v2 == nullptr) {
            CUresult result = CUDA_SUCCESS;
            for (std::uint64_t row = 0; row < rows.rows && result == CUDA_SUCCESS; ++row)
                result = one_row(rows, row);
            return result;
        }
        CUDA_MEMCPY2D copy{};
        if (to_device_) {
            copy.srcMemoryType = CU_MEMORYTYPE_HOST;
            copy.srcHost = host_ + rows.host;
            copy.srcPitch = rows.host_pitch;
            copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
            copy.dstDevice = map_ + rows.device;
            copy.dstPitch = rows.device_pitch;
        } else {
            copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
            copy.srcDevice = map_ + rows.device;
            copy.srcPitch = rows.device_pitch;
            copy.dstMemoryType = CU_MEMORYTYPE_HOST;
            copy.dstHost = host_ + rows.host;
            copy.dstPitch = rows.host_pitch;
        }
        copy.WidthInBytes = rows.bytes;
        copy.Height = rows.rows;
        return real_.cuMemcpy2DAsync_v2(&copy, stream_);
    }

    CUresult one_row(const Rows& rows, std::uint64_t row) const {
        std::byte* host = host_ + rows.host + row * rows.host_pitch;
        const CUdeviceptr device = map_ + rows.device + row * rows.device_pitch;
        return to_device_ ? real_.cuMemcpyHtoDAsync_v2(device, host, rows.bytes, stream_)
                          : real_.cuMemcpyDtoHAsync_v2(host, device, rows.bytes, stream_);
    }

    const Driver& real_;
    CUdeviceptr map_;
    std::byte* host_;
    bool to_device_;
    CUstream stream_;
};

CUresult copy(const ShardCopy& copy, const maps::Layout& layout, std::size_t bytes) {
    const std::uint64_t slot_bytes = layout.snapshot_bytes(1);
    return slot_bytes == 0 || bytes < slot_bytes ? CUDA_SUCCESS : copy.copy(layout, bytes / slot_bytes);
}

}  // namespace

CUresult copy_from_shards(const Driver& real, CUdeviceptr map, const maps::Layout& layout,
                          std::span<std::byte> snapshot, CUstream stream) {
    return copy({real, map, snapshot.data(), false, stream}, layout, snapshot.size());
}

CUresult copy_to_shards(const Driver& real, CUdeviceptr map, const maps::Layout& layout,
                        std::span<const std::byte> snapshot, CUstream stream) {
    return copy({real, map, const_cast<std::byte*>(snapshot.data()), true, stream}, layout, snapshot.size());
}

}  // namespace egpu::agent
