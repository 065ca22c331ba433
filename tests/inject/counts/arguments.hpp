// SPDX-License-Identifier: Apache-2.0
// Arguments of a launch, written as words:
//
//     f32[500]        a buffer of 500 elements of a fixed pattern    zero[64]   one of 64 zero bytes
//     i32{3,1,4}      a buffer of these elements                     5, -1      a number as wide as the parameter
//     f32=1.5         a number of a type                             f32*32     32 elements of the pattern, by value
//     ( f64=2 u8[4] ) a structure of these, each aligned to its size
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "gpu/simulated/executor/machine/kernel.hpp"
#include "gpu/simulated/memory/device_memory.hpp"

namespace egpu::inject::testing {

/// One word of the above, or a structure of several.
struct Argument {
    enum class Kind { buffer, number, elements, structure };
    Kind kind = Kind::number;
    std::string type;              ///< "f32"; "" of a number: what the parameter is
    std::vector<std::byte> bytes;  ///< of a buffer, of elements; of a number with a type
    std::int64_t number = 0;
    std::vector<Argument> parts;
};

/// The arguments in words[at...].
Result<std::vector<Argument>> parse_arguments(const std::vector<std::string>& words, std::size_t at);

/// The buffers of a launch in device memory.
class Buffers {
public:
    explicit Buffers(simulated::DeviceMemory& memory) : memory_(memory) {}

    /// Allocates buffers and gives the bytes of the kernel's parameters; an error where arguments don't fit them.
    Result<std::vector<std::byte>> place(const std::vector<Argument>& arguments, const simulated::Kernel& kernel);
    /// Makes every buffer what it was at first.
    void refill();
    std::vector<std::vector<std::byte>> contents() const;

private:
    struct Buffer {
        std::uint64_t address = 0;
        std::vector<std::byte> initial;
    };
    std::vector<std::byte> bytes_of(const Argument& argument, std::size_t width);

    simulated::DeviceMemory& memory_;
    std::vector<Buffer> buffers_;
};

}  // namespace egpu::inject::testing
