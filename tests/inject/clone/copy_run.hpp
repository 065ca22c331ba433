// SPDX-License-Identifier: Apache-2.0
// Runs an original and its copy on the simulated GPU: the same results to the last bit, and what the maps hold then.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "../copy_maps.hpp"
#include "gpu/simulated/executor/device.hpp"
#include "inject/codegen/grids.hpp"

namespace egpu::inject::testing {

inline constexpr std::uint32_t kBlocks = 4, kThreads = 96, kAll = kBlocks * kThreads, kElements = 300;

struct Shape {
    simulated::Dimensions grid{kBlocks, 1, 1}, block{kThreads, 1, 1};
};

/// Three arrays of kAll words and the results of a launch.
class Device {
public:
    Device() {
        for (auto& array : arrays_)
            array = must(memory_.allocate(kAll * 16));
        fill();
    }

    void fill() {
        std::vector<std::uint32_t> words(kAll * 4);
        for (std::size_t at = 0; at < words.size(); ++at)
            words[at] = static_cast<std::uint32_t>(at * 2654435761u) & 0x3fffffff;
        for (const auto array : arrays_)
            EXPECT_TRUE(memory_.copy_in(array, words.data(), words.size() * 4));
    }

    simulated::DeviceMemory& memory() { return memory_; }

    std::unique_ptr<simulated::Module> load(const std::string& text) {
        auto module = simulated::Module::load(text, "test", memory_);
        EXPECT_TRUE(module) << (module ? "" : to_text(module.error()));
        return module ? std::move(*module) : nullptr;
    }

    void launch(simulated::Module& module, const std::string& name, std::uint32_t workers = 1,
                const Shape& shape = {}) {
        auto kernel = module.kernel(name);
        ASSERT_TRUE(kernel) << to_text(kernel.error());
        std::vector<std::byte> parameters(28);
        std::memcpy(parameters.data(), arrays_, 24);
        std::memcpy(parameters.data() + 24, &kElements, 4);
        simulated::LaunchEnvironment environment;
        environment.memory = &memory_;
        environment.sm_count = Session::kSmCount;
        environment.workers = workers;
        const auto result = simulated::launch(**kernel, shape.grid, shape.block, 0, parameters, environment);
        ASSERT_TRUE(result) << result.fault->text;
    }

    /// The bytes of all arrays.
    std::vector<std::byte> contents() const {
        std::vector<std::byte> bytes(3 * kAll * 16);
        for (std::size_t at = 0; at < 3; ++at)
            EXPECT_TRUE(memory_.copy_out(bytes.data() + at * kAll * 16, arrays_[at], kAll * 16));
        return bytes;
    }

private:
    static std::uint64_t must(const Result<std::uint64_t>& address) {
        EXPECT_TRUE(address);
        return address ? *address : 0;
    }
    simulated::DeviceMemory memory_{std::uint64_t{1} << 28};
    std::uint64_t arrays_[3] = {};
};

/// Runs an original, then its copy on the same data, and reads the maps.
class CopyRun {
public:
    void attach(const std::string& name, const std::string& program = {}) { session_.attach(name, program); }
    void set_budget(std::uint32_t budget) { budget_ = budget; }
    void keep_constants_in_bank() { constants_in_bank_ = true; }

    /// What is attached from here on runs in these blocks or warps only.
    void sample(const Sampling& sampling) { session_.sample(sampling); }
    void run(const std::string& kernel, std::uint32_t workers = 1, std::uint32_t blocks = kBlocks) {
        run(kernel, workers, Shape{{blocks, 1, 1}, {kThreads, 1, 1}});
    }
    void run(const std::string& kernel, std::uint32_t workers, const Shape& shape) {
        const std::string path = fmt::format("{}/ptx/inject/run/{}.ptx", EGPU_TEST_DATA, kernel);
        const auto text = read_text(path);
        ASSERT_TRUE(text);
        const auto module = testing::read_module(path);
        auto request = session_.request(module, kernel);
        request.accumulator_budget = budget_;
        request.constants_in_bank = constants_in_bank_;
        auto copy = build_copy(request);
        ASSERT_TRUE(copy) << to_text(copy.error());
        copy_ = std::move(*copy);

        auto original = device_.load(*text);
        ASSERT_TRUE(original);
        update_constants(*original);
        device_.launch(*original, kernel, 1, shape);
        const auto expected = device_.contents();
        const auto expected_variables = variables(*original);
        // The same start for the copy: variables as they were initialised, arrays as they were filled.
        original = device_.load(*text);
        update_constants(*original);
        device_.fill();
        auto instrumented = device_.load(copy_.ptx);
        ASSERT_TRUE(instrumented) << copy_.ptx;
        maps_.allocate();
        maps_.fill_table(copy_, *instrumented, *original, grids());
        refresh_bank(*instrumented, *original);
        device_.launch(*instrumented, kernel, workers, shape);
        EXPECT_EQ(device_.contents() == expected, true) << "results differ";
        EXPECT_EQ(variables(*original) == expected_variables, true) << "variables differ";
    }

    /// What word `at` of each array holds before a launch.
    static std::uint32_t initial_word(std::size_t at) {
        return static_cast<std::uint32_t>(at * 2654435761u) & 0x3fffffff;
    }
    const InstrumentedCopy& copy() const { return copy_; }
    std::uint64_t address_of_table() const { return table_address_; }
    Session& session() { return session_; }

    /// The 64-bit word at `byte` of a map's value for a key, summed over shards; 0 where the key has no slot.
    std::uint64_t word(const std::string& map_name, const std::vector<std::uint32_t>& key, std::uint32_t byte) {
        return maps_.word(session_.map(map_name), key, byte);
    }
    std::uint64_t word_of_slot(std::uint32_t map, std::uint32_t slot, std::uint32_t byte) {
        return maps_.word_of_slot(map, slot, byte);
    }
    /// Over all slots of a map.
    std::uint64_t total(const std::string& map_name, std::uint32_t byte) {
        const std::uint32_t map = session_.map(map_name);
        std::uint64_t sum = 0;
        for (std::uint32_t slot = 0; slot < session_.keys(map).used(); ++slot)
            sum += word_of_slot(map, slot, byte);
        return sum;
    }

    /// Where launches are followed.
    std::uint64_t grids() {
        if (grids_ == 0) {
            const auto address = device_.memory().allocate(kGridBytes);
            EXPECT_TRUE(address);
            grids_ = address ? *address : 0;
        }
        return grids_;
    }
    std::uint64_t grids_word(std::uint64_t byte) {
        std::uint64_t word = 0;
        EXPECT_TRUE(device_.memory().copy_out(&word, grids() + byte, sizeof word));
        return word;
    }
    void set_grids_word(std::uint64_t byte, std::uint64_t word) {
        EXPECT_TRUE(device_.memory().copy_in(grids() + byte, &word, sizeof word));
    }

private:
    /// As a host does: constants hold something else by the time of the launch than they were initialised with.
    void update_constants(const simulated::Module& original) {
        const auto* table = original.variable("table");
        if (table == nullptr)
            return;
        const std::vector<float> values{5, 7, 11, 13};
        ASSERT_TRUE(device_.memory().copy_in(table->address, values.data(), values.size() * sizeof(float)));
        table_address_ = table->address;
    }

    void refresh_bank(const simulated::Module& instrumented, const simulated::Module& original) {
        for (const auto& constant : copy_.bank) {
            const auto *to = instrumented.variable(constant.symbol), *from = original.variable(constant.symbol);
            ASSERT_TRUE(to != nullptr && from != nullptr) << constant.symbol;
            ASSERT_EQ(to->bytes, constant.bytes);
            ASSERT_EQ(from->bytes, constant.bytes);
            std::vector<std::byte> bytes(constant.bytes);
            ASSERT_TRUE(device_.memory().copy_out(bytes.data(), from->address, bytes.size()));
            ASSERT_TRUE(device_.memory().copy_in(to->address, bytes.data(), bytes.size()));
        }
    }

    std::vector<std::vector<std::byte>> variables(const simulated::Module& module) {
        std::vector<std::vector<std::byte>> all;
        for (const auto& variable : module.variables()) {
            all.emplace_back(variable.bytes);
            EXPECT_TRUE(device_.memory().copy_out(all.back().data(), variable.address, variable.bytes));
        }
        return all;
    }

    Session session_;
    Device device_;
    InstrumentedCopy copy_;
    CopyMaps maps_{session_, device_.memory()};
    std::uint32_t budget_ = 4;
    bool constants_in_bank_ = false;
    std::uint64_t table_address_ = 0, grids_ = 0;
};

}  // namespace egpu::inject::testing
