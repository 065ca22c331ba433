// SPDX-License-Identifier: Apache-2.0
// A simulated GPU with the maps of a session: launches of modules that a test wrote, values written and read back.
// Without GoogleTest: fuzzers use it, too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpu/simulated/executor/device.hpp"
#include "inject/codegen/codegen.hpp"
#include "maps/layout/layout.hpp"

namespace egpu::inject::testing {

class SimulatedDevice {
public:
    explicit SimulatedDevice(std::vector<maps::Layout> layouts) : layouts_(std::move(layouts)) {
        for (const auto& layout : layouts_) {
            const auto address = memory_.allocate(std::max<std::uint64_t>(layout.device_bytes(), 8));
            addresses_.push_back(address ? *address : 0);  // at 0 nothing is read or written
        }
    }

    const maps::Layout& layout(std::uint32_t map) const { return layouts_[map]; }
    std::uint64_t address_of(std::uint32_t map) const { return addresses_[map]; }
    simulated::DeviceMemory& memory() { return memory_; }

    /// `offset`: bytes from the start of the map's memory.
    Status write(std::uint32_t map, std::uint64_t offset, const void* bytes, std::uint64_t count) {
        return memory_.copy_in(addresses_[map] + offset, bytes, count);
    }
    Status read(std::uint32_t map, std::uint64_t offset, void* bytes, std::uint64_t count) const {
        return memory_.copy_out(bytes, addresses_[map] + offset, count);
    }

    /// "" or what went wrong, of a kernel of a text, its egpu_table filled as the agent fills it.
    std::string launch(const std::string& ptx, const char* entry_point, const std::vector<TableEntry>& table,
                       simulated::Dimensions grid, simulated::Dimensions block, std::span<const std::byte> parameters,
                       std::uint32_t sm_count = 1) {
        auto module = simulated::Module::load(ptx, entry_point, memory_);
        if (!module)
            return to_text(module.error());
        if (const auto filled = fill_table(**module, table); !filled)
            return to_text(filled.error());
        const auto kernel = (*module)->kernel(entry_point);
        if (!kernel)
            return to_text(kernel.error());
        simulated::LaunchEnvironment environment;
        environment.memory = &memory_;
        environment.sm_count = sm_count;
        environment.step_budget = 1'000'000;
        const auto done = simulated::launch(**kernel, grid, block, 0, parameters, environment);
        return done ? std::string() : done.fault->text;
    }

private:
    Status fill_table(const simulated::Module& module, const std::vector<TableEntry>& table) {
        const auto* words = module.variable(Table::kSymbol);
        if (words == nullptr)
            return Done{};  // no program of the text uses a map
        for (std::size_t word = 0; word < table.size(); ++word) {
            const auto& entry = table[word];
            const std::uint64_t address = addresses_[entry.map] + layouts_[entry.map].device_offset_of(entry.slot, 0);
            if (auto filled = memory_.copy_in(words->address + word * 8, &address, sizeof address); !filled)
                return filled;
        }
        return Done{};
    }

    std::vector<maps::Layout> layouts_;
    simulated::DeviceMemory memory_{std::uint64_t{1} << 24};
    std::vector<std::uint64_t> addresses_;
};

}  // namespace egpu::inject::testing
