// SPDX-License-Identifier: Apache-2.0
// Runs a harness module on the simulated GPU.
#pragma once

#include "gpu/simulated/executor/device.hpp"
#include "harness.hpp"

namespace egpu::inject::testing {

/// Map memory of a session, in device memory, and the table filled as the agent fills it.
class SimulatedSession {
public:
    explicit SimulatedSession(const std::vector<maps::Layout>& layouts) : layouts_(layouts) {
        for (const auto& layout : layouts) {
            auto address = memory_.allocate(std::max<std::uint64_t>(layout.device_bytes(), 8));
            EXPECT_TRUE(address);
            addresses_.push_back(address ? *address : 0);
        }
    }

    void write(std::uint32_t map, std::uint64_t offset, const void* bytes, std::uint64_t count) {
        EXPECT_TRUE(memory_.copy_in(addresses_[map] + offset, bytes, count));
    }
    template <typename T>
    T read(std::uint32_t map, std::uint64_t offset) {
        T value{};
        EXPECT_TRUE(memory_.copy_out(&value, addresses_[map] + offset, sizeof value));
        return value;
    }
    /// Sum over the shards of one 64-bit element.
    std::uint64_t sum(std::uint32_t map, std::uint32_t slot, std::uint32_t byte) {
        std::uint64_t total = 0;
        for (std::uint32_t shard = 0; shard < layouts_[map].shards; ++shard)
            total += read<std::uint64_t>(
                map, layouts_[map].device_offset_of(slot, byte) + layouts_[map].shard_distance() * shard);
        return total;
    }

    /// "" or what went wrong, of the harness's kernel over `count` of so many threads.
    std::string run(const std::string& ptx, const Table& table, std::uint32_t blocks, std::uint32_t threads,
                    std::uint32_t count, std::uint32_t sm_count = 1) {
        auto data = memory_.allocate(std::uint64_t{4} * threads * 8 + 4096);
        std::array<std::byte, 12> parameters{};
        const std::uint64_t address = data ? *data : 0;
        std::memcpy(parameters.data(), &address, 8);
        std::memcpy(parameters.data() + 8, &count, 4);
        return launch(ptx, "harness", table.entries(), blocks, threads, parameters, sm_count);
    }

    std::uint64_t address_of(std::uint32_t map) const { return addresses_[map]; }

    /// "" or what went wrong, of a kernel with these parameters.
    std::string launch(const std::string& ptx, const char* entry_point, const std::vector<TableEntry>& table,
                       std::uint32_t blocks, std::uint32_t threads, std::span<const std::byte> parameters,
                       std::uint32_t sm_count = 1) {
        auto module = simulated::Module::load(ptx, "harness", memory_);
        if (!module)
            return to_text(module.error());
        if (const auto* words = (*module)->variable("egpu_table"))
            for (std::size_t word = 0; word < table.size(); ++word) {
                const auto& entry = table[word];
                const std::uint64_t address =
                    addresses_[entry.map] + layouts_[entry.map].device_offset_of(entry.slot, 0);
                EXPECT_TRUE(memory_.copy_in(words->address + word * 8, &address, sizeof address));
            }
        auto kernel = (*module)->kernel(entry_point);
        if (!kernel)
            return to_text(kernel.error());
        simulated::LaunchEnvironment environment;
        environment.memory = &memory_;
        environment.sm_count = sm_count;
        environment.step_budget = 1'000'000;
        const auto result = simulated::launch(**kernel, {blocks, 1, 1}, {threads, 1, 1}, 0, parameters, environment);
        return result ? std::string() : result.fault->text;
    }

private:
    std::vector<maps::Layout> layouts_;
    simulated::DeviceMemory memory_{std::uint64_t{1} << 24};
    std::vector<std::uint64_t> addresses_;
};

}  // namespace egpu::inject::testing
