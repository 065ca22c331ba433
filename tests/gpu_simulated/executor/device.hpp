// SPDX-License-Identifier: Apache-2.0
// A simulated device for tests: memory, modules, launches, and buffers that come back as vectors.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gpu/simulated/executor/device.hpp"

namespace egpu::simulated::test {

/// Parameters of a kernel, each aligned to its size.
class Parameters {
public:
    template <typename T>
    Parameters& add(T value) {
        bytes_.resize((bytes_.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T));
        const auto* const first = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), first, first + sizeof(T));
        return *this;
    }
    const std::vector<std::byte>& bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

class Device {
public:
    Device() { environment.memory = &memory; }

    /// PTX with the module's head before it.
    static std::string module_text(const std::string& body) {
        return ".version 8.0\n.target sm_90\n.address_size 64\n" + body;
    }
    std::unique_ptr<Module> load(const std::string& body) {
        auto module = Module::load(module_text(body), "test.ptx", memory);
        if (!module) {
            ADD_FAILURE() << to_text(module.error());
            return nullptr;
        }
        return std::move(*module);
    }
    template <typename T>
    std::uint64_t upload(const std::vector<T>& values) {
        const auto address = memory.allocate(values.size() * sizeof(T));
        EXPECT_TRUE(address);
        EXPECT_TRUE(memory.copy_in(*address, values.data(), values.size() * sizeof(T)));
        return *address;
    }
    template <typename T>
    std::vector<T> download(std::uint64_t address, std::size_t count) const {
        std::vector<T> values(count);
        EXPECT_TRUE(memory.copy_out(values.data(), address, count * sizeof(T)));
        return values;
    }
    LaunchResult run(Module& module, const std::string& kernel, Dimensions grid, Dimensions block,
                     const Parameters& parameters, std::uint32_t shared = 0) {
        const auto found = module.kernel(kernel);
        if (!found) {
            ADD_FAILURE() << to_text(found.error());
            return {};
        }
        return launch(**found, grid, block, shared, parameters.bytes(), environment);
    }
    /// Loads a module of one kernel "k" and runs it.
    LaunchResult run(const std::string& body, Dimensions grid, Dimensions block, const Parameters& parameters,
                     std::uint32_t shared = 0) {
        const auto module = load(body);
        return module ? run(*module, "k", grid, block, parameters, shared) : LaunchResult{};
    }

    DeviceMemory memory;
    LaunchEnvironment environment;
};

inline std::string why(const LaunchResult& result) {
    return result.fault ? result.fault->text : std::string("no fault");
}

}  // namespace egpu::simulated::test
