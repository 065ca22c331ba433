// SPDX-License-Identifier: Apache-2.0
// Arguments of a launch, written as words:
//
//     f32[500]        a buffer of 500 elements of a fixed pattern    zero[64]   one of 64 zero bytes
//     i32{3,1,4}      a buffer of these elements                     5, -1      a number as wide as the parameter
//     f32=1.5         a number of a type                             f32*32     32 elements of the pattern, by value
//     ( f64=2 u8[4] ) a structure of these, each aligned to its size
//     tensor=i32,64,32,16,8   a tensor map of a matrix of the pattern, 64 wide and 32 high, by boxes of 16 x 8
//     texture=64,32           a texture of 64 x 32 elements of four f32 of the pattern; surface=64,32 likewise
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace egpu::launches {

/// One word of the above, or a structure of several.
struct Argument {
    enum class Kind { buffer, number, elements, structure, tensor, texture, surface };
    Kind kind = Kind::number;
    std::string type;              ///< "f32"; "" of a number: what the parameter is
    std::vector<std::byte> bytes;  ///< of a buffer, of elements; of a number with a type
    std::int64_t number = 0;
    std::vector<std::uint32_t> extent;  ///< of a tensor (width, height, of its boxes too), of a texture or surface
    std::vector<Argument> parts;
};

/// The arguments in words[at...].
Result<std::vector<Argument>> parse_arguments(const std::vector<std::string>& words, std::size_t at);

/// `count` elements of the pattern.
std::vector<std::byte> patterned(const std::string& type, std::size_t count);

/// Where buffers lie: the simulated GPU's memory, or a driver's.
class Memory {
public:
    virtual ~Memory() = default;
    virtual Result<std::uint64_t> allocate(std::uint64_t bytes) = 0;
    virtual Status copy_in(std::uint64_t to, const void* from, std::uint64_t bytes) = 0;
    virtual Status copy_out(void* to, std::uint64_t from, std::uint64_t bytes) = 0;
    /// The bytes of a tensor map, texture or surface over memory that has its initial contents; an error where there is
    /// no such thing.
    virtual Result<std::vector<std::byte>> object(const Argument& argument);
};

struct ParameterPlace {
    std::uint64_t offset = 0, bytes = 0;
};

/// The buffers of a launch in device memory.
class Buffers {
public:
    explicit Buffers(Memory& memory) : memory_(memory) {}

    /// Allocates buffers and gives the bytes of the kernel's parameters; an error where arguments don't fit them.
    Result<std::vector<std::byte>> place(const std::vector<Argument>& arguments,
                                         std::span<const ParameterPlace> parameters);
    /// Makes every buffer what it was at first.
    Status refill();
    Result<std::vector<std::vector<std::byte>>> contents() const;

private:
    struct Buffer {
        std::uint64_t address = 0;
        std::vector<std::byte> initial;
    };
    Result<std::vector<std::byte>> bytes_of(const Argument& argument, std::size_t width);

    Memory& memory_;
    std::vector<Buffer> buffers_;
};

}  // namespace egpu::launches
