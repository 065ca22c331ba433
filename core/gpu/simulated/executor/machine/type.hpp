// SPDX-License-Identifier: Apache-2.0
// The scalar types of PTX (ISA 9.0, section 5.2) as the simulated GPU knows them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace egpu::simulated {

enum class Type : std::uint8_t {
    none,
    pred,
    b8,
    u8,
    s8,
    b16,
    u16,
    s16,
    f16,
    bf16,
    b32,
    u32,
    s32,
    f32,
    f16x2,
    bf16x2,
    u16x2,
    s16x2,
    b64,
    u64,
    s64,
    f64,
};

/// The type that an opcode part such as "u32" names.
std::optional<Type> parse_type(std::string_view text);
std::string_view to_string(Type type);

constexpr std::uint32_t bits_of(Type type) {
    switch (type) {
        case Type::none:
            return 0;
        case Type::pred:
            return 1;
        case Type::b8:
        case Type::u8:
        case Type::s8:
            return 8;
        case Type::b16:
        case Type::u16:
        case Type::s16:
        case Type::f16:
        case Type::bf16:
            return 16;
        case Type::b64:
        case Type::u64:
        case Type::s64:
        case Type::f64:
            return 64;
        default:
            return 32;
    }
}
constexpr std::uint32_t bytes_of(Type type) {
    return (bits_of(type) + 7) / 8;
}
constexpr bool is_signed(Type type) {
    return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64;
}
constexpr bool is_unsigned(Type type) {
    return type == Type::u8 || type == Type::u16 || type == Type::u32 || type == Type::u64;
}
constexpr bool is_bits(Type type) {
    return type == Type::b8 || type == Type::b16 || type == Type::b32 || type == Type::b64;
}
constexpr bool is_integer(Type type) {
    return is_signed(type) || is_unsigned(type);
}
constexpr bool is_float(Type type) {
    return type == Type::f16 || type == Type::bf16 || type == Type::f32 || type == Type::f64;
}

}  // namespace egpu::simulated
