// SPDX-License-Identifier: Apache-2.0
// A kernel and its copies on the simulated GPU, on the same data: what each leaves behind, what the executor counted of
// the original, what programs counted in a copy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../copy_maps.hpp"
#include "../session.hpp"
#include "expected.hpp"
#include "gpu/simulated/executor/device.hpp"
#include "launches/table.hpp"

namespace egpu::inject::testing {

using launches::LaunchLine;

/// What a launch leaves: the buffers, the module's variables, what it printed.
struct Left {
    std::vector<std::vector<std::byte>> buffers, variables;
    std::string printed;
    bool operator==(const Left&) const = default;
};

/// The simulated GPU's memory as buffers of a table need it, with textures and surfaces of the pattern.
class SimulatedMemory final : public launches::Memory {
public:
    explicit SimulatedMemory(simulated::DeviceMemory& memory) : memory_(memory) {}
    Result<std::vector<std::byte>> object(const launches::Argument& argument) override;
    /// The pattern again in every texture and surface.
    Status refill_objects();
    Result<std::vector<std::vector<std::byte>>> contents_of_objects() const;
    Result<std::uint64_t> allocate(std::uint64_t bytes) override { return memory_.allocate(bytes); }
    Status copy_in(std::uint64_t to, const void* from, std::uint64_t bytes) override {
        return memory_.copy_in(to, from, bytes);
    }
    Status copy_out(void* to, std::uint64_t from, std::uint64_t bytes) override {
        return memory_.copy_out(to, from, bytes);
    }

private:
    struct Area {
        std::uint64_t address = 0;
        std::vector<std::byte> initial;
    };

    simulated::DeviceMemory& memory_;
    std::vector<Area> areas_;
};

class CountedRun {
public:
    /// Loads the module and finds the kernel.
    void open(const std::string& folder, const LaunchLine& line);
    const std::string& kernel() const { return kernel_; }
    const ptx::Module& module() const { return module_; }

    /// Runs the original.
    void run_original();
    const std::vector<ExecutedInstruction>& executed() const { return executed_; }
    const Left& left() const { return left_; }
    std::uint64_t threads() const { return line_.grid.count() * line_.block.count(); }

    /// Builds and runs the copy with the programs of a session. The maps stay readable.
    Left run_copy(Session& session);
    const InstrumentedCopy& copy() const { return copy_; }
    CopyMaps& maps() { return *maps_; }
    /// The original's instructions as the copy executed them, for kernels of which no instruction is rewritten.
    std::vector<ExecutedInstruction> executed_in_copy() const;

private:
    std::unique_ptr<simulated::Module> load(const std::string& text);
    std::vector<std::vector<std::byte>> variables() const;
    void restore_variables();
    void launch(simulated::Module& module, std::unique_ptr<simulated::Profile>& profile);
    Left take_left() const;

    LaunchLine line_;
    std::string text_, kernel_;
    ptx::Module module_, copy_module_;
    simulated::DeviceMemory memory_{std::uint64_t{1} << 30};
    SimulatedMemory buffer_memory_{memory_};
    launches::Buffers buffers_{buffer_memory_};
    std::vector<std::byte> parameters_;
    std::string printed_;
    std::vector<ExecutedInstruction> executed_;
    std::vector<std::vector<std::byte>> initial_variables_;
    Left left_;
    InstrumentedCopy copy_;
    std::unique_ptr<simulated::Module> original_, instrumented_;
    std::unique_ptr<simulated::Profile> profile_, copy_profile_;
    std::unique_ptr<CopyMaps> maps_;
};

}  // namespace egpu::inject::testing
