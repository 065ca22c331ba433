// SPDX-License-Identifier: Apache-2.0
// PTX of anyone on the simulated GPU: loaded or refused, decoded or refused, run to its end or to a fault; never more.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "gpu/simulated/executor/device.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace egpu::simulated;
    DeviceMemory memory(64 << 20);
    auto module = Module::load(std::string(reinterpret_cast<const char*>(data), size), "fuzz", memory);
    if (!module) {
        return 0;
    }
    LaunchEnvironment environment;
    environment.memory = &memory;
    environment.step_budget = 20'000;
    environment.stack_limit = 64 << 10;
    environment.print = [](std::string_view) {};
    for (const std::string& name : (*module)->kernel_names()) {
        const auto kernel = (*module)->kernel(name);
        if (!kernel) {
            if (!kernel.error().code.starts_with("EGPU-P2")) {
                std::fprintf(stderr, "a refusal without a code\n");
                std::abort();
            }
            continue;
        }
        if ((*kernel)->parameter_bytes > (1 << 16)) {
            continue;
        }
        // Parameters that are addresses point to a real allocation.
        const auto buffer = memory.allocate(4096);
        std::vector<std::byte> parameters((*kernel)->parameter_bytes);
        for (const ParameterInfo& parameter : (*kernel)->parameters) {
            if (parameter.bytes == 8 && buffer) {
                std::copy_n(reinterpret_cast<const std::byte*>(&*buffer), 8, parameters.begin() + parameter.offset);
            }
        }
        const Dimensions required = (*kernel)->required_threads;
        const LaunchResult result = launch(**kernel, {2, 1, 1}, required.count() != 0 ? required : Dimensions{40, 1, 1},
                                           256, parameters, environment);
        if (result.fault && result.fault->text.empty()) {
            std::fprintf(stderr, "a fault without words\n");
            std::abort();
        }
    }
    return 0;
}
