// SPDX-License-Identifier: Apache-2.0
// Names of types.
#include "gpu/simulated/executor/machine/type.hpp"

#include <array>
#include <utility>

namespace egpu::simulated {
namespace {

constexpr std::array<std::pair<std::string_view, Type>, 22> kNames = {{
    {"pred", Type::pred},   {"b8", Type::b8},       {"u8", Type::u8},         {"s8", Type::s8},
    {"b16", Type::b16},     {"u16", Type::u16},     {"s16", Type::s16},       {"f16", Type::f16},
    {"bf16", Type::bf16},   {"b32", Type::b32},     {"u32", Type::u32},       {"s32", Type::s32},
    {"f32", Type::f32},     {"f16x2", Type::f16x2}, {"bf16x2", Type::bf16x2}, {"u16x2", Type::u16x2},
    {"s16x2", Type::s16x2}, {"b64", Type::b64},     {"u64", Type::u64},       {"s64", Type::s64},
    {"f64", Type::f64},     {"", Type::none},
}};

}  // namespace

std::optional<Type> parse_type(std::string_view text) {
    for (const auto& [name, type] : kNames) {
        if (name == text && type != Type::none) {
            return type;
        }
    }
    return std::nullopt;
}

std::string_view to_string(Type type) {
    for (const auto& [name, known] : kNames) {
        if (known == type) {
            return name;
        }
    }
    return "?";
}

}  // namespace egpu::simulated
