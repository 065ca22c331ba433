// SPDX-License-Identifier: Apache-2.0
// What a table of launches needs of a CUDA driver: memory, and the layout of a kernel's parameters. Functions that
// older drivers lack are found when they are used.
#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"
#include "objects.hpp"
#include "table.hpp"
#include "workloads/driver_api.hpp"

namespace egpu::launches {

/// Memory of the current context. Nothing is given back: a run of a table is short.
class DriverMemory final : public Memory {
public:
    Result<std::uint64_t> allocate(std::uint64_t bytes) override;
    Status copy_in(std::uint64_t to, const void* from, std::uint64_t bytes) override;
    Status copy_out(void* to, std::uint64_t from, std::uint64_t bytes) override;
    Result<std::vector<std::byte>> object(const Argument& argument) override;
    /// What the memory behind tensor maps, textures and surfaces holds; forgets them.
    Result<std::vector<std::vector<std::byte>>> take_objects() { return objects_.take(); }

private:
    Objects objects_;
};

/// Place and size of each parameter, as the driver has them.
Result<std::vector<ParameterPlace>> parameters_of(CUfunction function);

/// Launches and waits until the kernel has ended; an error names the call and what it gave.
Status launch_and_wait(CUfunction function, const LaunchLine& line, std::vector<std::byte>& parameters,
                       const std::vector<ParameterPlace>& places);

std::string device_name();

}  // namespace egpu::launches
