// SPDX-License-Identifier: Apache-2.0
#include "ptx/syntax/types.hpp"

#include <array>

namespace egpu::ptx {

std::uint32_t scalar_bytes(std::string_view type) {
    struct Entry {
        std::string_view type;
        std::uint32_t bytes;
    };
    // References to textures, samplers and surfaces are 64-bit handles where they are parameters.
    static constexpr std::array<Entry, 30> kTypes{
        {{"b8", 1},    {"u8", 1},    {"s8", 1},     {"b16", 2},    {"u16", 2},    {"s16", 2},
         {"f16", 2},   {"bf16", 2},  {"b32", 4},    {"u32", 4},    {"s32", 4},    {"f32", 4},
         {"tf32", 4},  {"f16x2", 4}, {"bf16x2", 4}, {"u16x2", 4},  {"s16x2", 4},  {"u8x4", 4},
         {"s8x4", 4},  {"b64", 8},   {"u64", 8},    {"s64", 8},    {"f64", 8},    {"f32x2", 8},
         {"b128", 16}, {"pred", 1},  {"e4m3x2", 2}, {"e5m2x2", 2}, {"texref", 8}, {"surfref", 8}}};
    for (const Entry& entry : kTypes)
        if (entry.type == type)
            return entry.bytes;
    return type == "samplerref" ? 8 : 0;
}

}  // namespace egpu::ptx
