// SPDX-License-Identifier: Apache-2.0
// A PTX module on the simulated GPU: parsed once, its variables in device memory, its kernels decoded when asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "gpu/simulated/executor/machine/kernel.hpp"
#include "gpu/simulated/memory/device_memory.hpp"

namespace egpu::simulated {

struct VariableInfo {
    std::string name;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool constant = false;
    bool managed = false;
};

/// A loaded module. Its variables live in the DeviceMemory it was loaded to, until it is destroyed. Thread-safe.
class Module {
public:
    /// Parses the text and allocates and initialises .global and .const variables. Code of kernels is looked at when
    /// they are asked for, so that an opcode the simulated GPU has not got costs only the kernels that use it.
    static Result<std::unique_ptr<Module>> load(std::string ptx, std::string_view name, DeviceMemory& memory);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    /// The entry functions, in order of the text.
    const std::vector<std::string>& kernel_names() const;
    /// A kernel, decoded at the first call. Errors: EGPU-P201 no such kernel, EGPU-P202 it uses what the simulated GPU
    /// has not got (names the opcode, the function and the line), EGPU-P203 malformed code.
    Result<std::shared_ptr<const Kernel>> kernel(std::string_view name);

    const std::vector<VariableInfo>& variables() const;
    /// nullptr where there is none.
    const VariableInfo* variable(std::string_view name) const;
    /// "sm_90a", as written.
    std::string_view target() const;

private:
    struct State;
    explicit Module(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace egpu::simulated
