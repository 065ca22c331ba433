// SPDX-License-Identifier: Apache-2.0
// Runs a harness module on the simulated GPU.
#pragma once

#include "../simulated_device.hpp"
#include "harness.hpp"
#include "maps/layout/ring_buffer.hpp"

namespace egpu::inject::testing {

/// How far a ring was taken out.
struct RingPlace {
    std::uint64_t chunk = 0;
    std::uint32_t byte = 0;
};

/// Map memory of a session, in device memory.
class SimulatedSession {
public:
    explicit SimulatedSession(const std::vector<maps::Layout>& layouts) : device_(layouts) {}

    void write(std::uint32_t map, std::uint64_t offset, const void* bytes, std::uint64_t count) {
        EXPECT_TRUE(device_.write(map, offset, bytes, count));
    }
    template <typename T>
    T read(std::uint32_t map, std::uint64_t offset) {
        T value{};
        EXPECT_TRUE(device_.read(map, offset, &value, sizeof value));
        return value;
    }
    /// Sum over the shards of one 64-bit element.
    std::uint64_t sum(std::uint32_t map, std::uint32_t slot, std::uint32_t byte) {
        const auto& layout = device_.layout(map);
        std::uint64_t total = 0;
        for (std::uint32_t shard = 0; shard < layout.shards; ++shard)
            total += read<std::uint64_t>(map, layout.device_offset_of(slot, byte) + layout.shard_distance() * shard);
        return total;
    }

    /// "" or what went wrong, of the harness's kernel over `count` of so many threads.
    std::string run(const std::string& ptx, const Table& table, std::uint32_t blocks, std::uint32_t threads,
                    std::uint32_t count, std::uint32_t sm_count = 1) {
        auto data = device_.memory().allocate(std::uint64_t{4} * threads * 8 + 4096);
        std::array<std::byte, 12> parameters{};
        const std::uint64_t address = data ? *data : 0;
        std::memcpy(parameters.data(), &address, 8);
        std::memcpy(parameters.data() + 8, &count, 4);
        return launch(ptx, "harness", table.entries(), blocks, threads, parameters, sm_count);
    }

    /// What threads sent to a ring, in its order, as the host takes it out; the chunks are empty then. `from`: the
    /// chunk to begin with, and the byte of it; where it ended.
    std::vector<std::vector<std::byte>> take_records(std::uint32_t map, std::uint32_t ring_bytes, RingPlace& from) {
        const maps::RingBuffer ring{ring_bytes};
        std::vector<std::vector<std::byte>> records;
        while (true) {
            const std::uint64_t start = from.chunk % maps::RingBuffer::kChunks;
            const std::uint64_t word = ring.header_offset() + maps::RingBuffer::kWordsOffset + start * 8;
            const auto given = read<std::uint32_t>(map, word), written = read<std::uint32_t>(map, word + 4);
            const std::uint32_t end = std::min(given, ring.chunk_bytes());
            EXPECT_EQ(written, end);
            while (from.byte < end) {
                const std::uint64_t at = start * ring.chunk_bytes() + from.byte;
                const auto head = read<std::uint32_t>(map, at);
                const std::uint32_t payload = head & ~maps::RingBuffer::kFiller;
                if (head == payload) {
                    auto& record = records.emplace_back(payload);
                    EXPECT_TRUE(device_.read(map, at + maps::RingBuffer::kRecordHeaderBytes, record.data(), payload));
                }
                from.byte += maps::RingBuffer::record_bytes(payload);
            }
            EXPECT_EQ(from.byte, end);
            const auto begun = read<std::uint64_t>(map, ring.header_offset() + maps::RingBuffer::kBegunOffset);
            if (end != ring.chunk_bytes() || begun == from.chunk)
                return records;
            const std::uint64_t nothing = 0;
            write(map, word, &nothing, sizeof nothing);
            from = {from.chunk + 1, 0};
        }
    }
    std::uint64_t records_dropped(std::uint32_t map, std::uint32_t ring_bytes) {
        return read<std::uint64_t>(map, ring_bytes + maps::RingBuffer::kDroppedOffset);
    }

    std::uint64_t address_of(std::uint32_t map) const { return device_.address_of(map); }

    /// "" or what went wrong, of a kernel with these parameters.
    std::string launch(const std::string& ptx, const char* entry_point, const std::vector<TableEntry>& table,
                       std::uint32_t blocks, std::uint32_t threads, std::span<const std::byte> parameters,
                       std::uint32_t sm_count = 1) {
        return device_.launch(ptx, entry_point, table, {blocks, 1, 1}, {threads, 1, 1}, parameters, sm_count);
    }

private:
    SimulatedDevice device_;
};

}  // namespace egpu::inject::testing
