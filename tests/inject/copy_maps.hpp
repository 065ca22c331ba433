// SPDX-License-Identifier: Apache-2.0
// The maps of a session in the simulated GPU's memory: filled tables of copies, values read back.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "gpu/simulated/executor/module.hpp"
#include "session.hpp"

namespace egpu::inject::testing {

class CopyMaps {
public:
    CopyMaps(Session& session, simulated::DeviceMemory& memory) : session_(session), memory_(memory) {}

    /// Allocates the maps of the session as it is now.
    void allocate() {
        for (std::uint32_t map = 0; map < session_.layouts().size(); ++map) {
            const auto& layout = session_.layouts()[map];
            auto address = memory_.allocate(layout.device_bytes());
            ASSERT_TRUE(address);
            maps_[map] = *address;
        }
    }

    /// Fills egpu_table as the agent does; `grids`: where launches are followed.
    void fill_table(const InstrumentedCopy& copy, const simulated::Module& instrumented,
                    const simulated::Module& original, std::uint64_t grids) {
        std::vector<std::uint64_t> words;
        for (const auto& entry : copy.table) {
            if (entry.kind == TableEntry::Kind::global) {
                const auto* variable = original.variable(entry.symbol);
                ASSERT_NE(variable, nullptr) << entry.symbol;
                words.push_back(variable->address);
            } else if (entry.kind == TableEntry::Kind::grids) {
                words.push_back(grids);
            } else {
                words.push_back(maps_.at(entry.map) + session_.layouts()[entry.map].device_offset_of(entry.slot, 0));
            }
        }
        if (words.empty())
            return;
        const auto* table = instrumented.variable(Table::kSymbol);
        ASSERT_NE(table, nullptr);
        ASSERT_EQ(table->bytes, words.size() * 8);
        ASSERT_TRUE(memory_.copy_in(table->address, words.data(), words.size() * 8));
    }

    /// The 64-bit word at `byte` of a slot's value, summed over shards.
    std::uint64_t word_of_slot(std::uint32_t map, std::uint32_t slot, std::uint32_t byte) const {
        const auto& layout = session_.layouts()[map];
        std::uint64_t sum = 0;
        for (std::uint32_t shard = 0; shard < layout.shards; ++shard) {
            std::uint64_t value = 0;
            EXPECT_TRUE(memory_.copy_out(
                &value, maps_.at(map) + layout.device_offset_of(slot, byte) + layout.shard_distance() * shard, 8));
            sum += value;
        }
        return sum;
    }
    /// The same for a key; 0 where it has no slot.
    std::uint64_t word(std::uint32_t map, const std::vector<std::uint32_t>& key, std::uint32_t byte) {
        const auto before = session_.keys(map).used();
        const auto slot = session_.keys(map).slot_of(std::as_bytes(std::span(key)));
        return slot && session_.keys(map).used() == before ? word_of_slot(map, *slot, byte) : 0;
    }

private:
    Session& session_;
    simulated::DeviceMemory& memory_;
    std::map<std::uint32_t, std::uint64_t> maps_;
};

}  // namespace egpu::inject::testing
