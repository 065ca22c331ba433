// SPDX-License-Identifier: Apache-2.0
#include "gpu/simulated/executor/decoder/matrix_shapes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace egpu::simulated {
namespace {

using E = MatrixElement;

struct Shape {
    MatrixShape shape;
    unsigned a_registers, b_registers;
};

constexpr Shape kHalf[] = {{{16, 16, 16}, 8, 8}, {{8, 32, 16}, 8, 8}, {{32, 8, 16}, 8, 8}};
constexpr Shape kBrain[] = {{{16, 16, 16}, 4, 4}, {{8, 32, 16}, 2, 8}, {{32, 8, 16}, 8, 2}};
constexpr Shape kBytes[] = {{{16, 16, 16}, 2, 2}, {{8, 32, 16}, 1, 4}, {{32, 8, 16}, 4, 1}};
constexpr Shape kTf32[] = {{{16, 16, 8}, 4, 4}};
constexpr Shape kDouble[] = {{{8, 8, 4}, 1, 1}};
constexpr Shape kNibbles[] = {{{8, 8, 32}, 1, 1}};
constexpr Shape kBits[] = {{{8, 8, 128}, 1, 1}};

std::pair<const Shape*, std::size_t> wmma_shapes(E element) {
    switch (element) {
        case E::f16:
            return {kHalf, std::size(kHalf)};
        case E::bf16:
            return {kBrain, std::size(kBrain)};
        case E::s8:
        case E::u8:
            return {kBytes, std::size(kBytes)};
        case E::tf32:
            return {kTf32, std::size(kTf32)};
        case E::f64:
            return {kDouble, std::size(kDouble)};
        case E::s4:
        case E::u4:
            return {kNibbles, std::size(kNibbles)};
        case E::b1:
            return {kBits, std::size(kBits)};
        default:
            return {nullptr, 0};
    }
}

bool is_integer(E element) {
    return element == E::s8 || element == E::u8 || element == E::s4 || element == E::u4 || element == E::b1;
}

bool mma_has(E element, MatrixShape shape) {
    const auto one_of = [&](std::initializer_list<MatrixShape> shapes) {
        return std::find(shapes.begin(), shapes.end(), shape) != shapes.end();
    };
    switch (element) {
        case E::f16:
            return one_of({{8, 8, 4}, {16, 8, 8}, {16, 8, 16}});
        case E::bf16:
            return one_of({{16, 8, 8}, {16, 8, 16}});
        case E::tf32:
            return one_of({{16, 8, 4}, {16, 8, 8}});
        case E::f64:
            return one_of({{8, 8, 4}, {16, 8, 4}, {16, 8, 8}, {16, 8, 16}});
        case E::e4m3:
        case E::e5m2:
            return one_of({{16, 8, 16}, {16, 8, 32}});
        case E::s8:
        case E::u8:
            return one_of({{8, 8, 16}, {16, 8, 16}, {16, 8, 32}});
        case E::s4:
        case E::u4:
            return one_of({{8, 8, 32}, {16, 8, 32}, {16, 8, 64}});
        case E::b1:
            return one_of({{8, 8, 128}, {16, 8, 128}, {16, 8, 256}});
        default:
            return false;
    }
}

/// What a and b may be together, and what they may be added to.
bool types_go_together(const MatrixForm& form) {
    if (is_integer(form.a)) {
        return is_integer(form.b) && bits_of(form.a) == bits_of(form.b) && form.c == E::s32 && form.d == E::s32;
    }
    if (form.a == E::e4m3 || form.a == E::e5m2) {
        return (form.b == E::e4m3 || form.b == E::e5m2) && form.c == form.d && (form.c == E::f32 || form.c == E::f16);
    }
    if (form.a != form.b) {
        return false;
    }
    if (form.a == E::f16) {
        return (form.c == E::f16 || form.c == E::f32) && (form.d == E::f16 || form.d == E::f32);
    }
    const E sum = form.a == E::f64 ? E::f64 : E::f32;
    return form.c == sum && form.d == sum;
}

std::uint8_t registers_for(unsigned elements, E element) {
    const unsigned in_register = bits_of(element) >= 32 ? 1 : 32 / bits_of(element);
    return static_cast<std::uint8_t>(elements / 32 / in_register);
}

void set_sums(MatrixForm& form, unsigned copies) {
    const unsigned elements = unsigned{form.m} * form.n * copies;
    form.c_registers = registers_for(elements, form.c);
    form.d_registers = registers_for(elements, form.d);
}

}  // namespace

std::optional<MatrixShape> parse_shape(std::string_view text) {
    MatrixShape shape;
    const auto take = [&](char letter, unsigned& number) {
        if (!text.starts_with(letter)) {
            return false;
        }
        const auto [end, problem] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        return problem == std::errc{} && number <= 512;
    };
    if (!take('m', shape.m) || !take('n', shape.n) || (!text.empty() && !take('k', shape.k)) || !text.empty()) {
        return std::nullopt;
    }
    return shape;
}

std::optional<MatrixElement> parse_matrix_element(std::string_view text) {
    static constexpr std::array<std::pair<std::string_view, E>, 13> kNames = {{{"f16", E::f16},
                                                                               {"bf16", E::bf16},
                                                                               {"tf32", E::tf32},
                                                                               {"f32", E::f32},
                                                                               {"f64", E::f64},
                                                                               {"e4m3", E::e4m3},
                                                                               {"e5m2", E::e5m2},
                                                                               {"s8", E::s8},
                                                                               {"u8", E::u8},
                                                                               {"s4", E::s4},
                                                                               {"u4", E::u4},
                                                                               {"b1", E::b1},
                                                                               {"s32", E::s32}}};
    for (const auto& [name, element] : kNames) {
        if (name == text) {
            return element;
        }
    }
    return std::nullopt;
}

bool complete_wmma(MatrixForm& form) {
    form.kind = FragmentKind::linear;
    const auto [shapes, count] = wmma_shapes(form.a);
    const MatrixShape wanted{form.m, form.n, form.k};
    const auto* const found = std::find_if(shapes, shapes + count, [&](const Shape& s) { return s.shape == wanted; });
    if (found == shapes + count || !types_go_together(form) || (is_integer(form.a) && form.a != form.b)) {
        return false;
    }
    form.a_registers = static_cast<std::uint8_t>(found->a_registers);
    form.b_registers = static_cast<std::uint8_t>(found->b_registers);
    set_sums(form, 1);
    return true;
}

bool complete_mma(MatrixForm& form) {
    const MatrixShape shape{form.m, form.n, form.k};
    if (!mma_has(form.a, shape) || !types_go_together(form)) {
        return false;
    }
    const bool quads = form.a == E::f16 && shape == MatrixShape{8, 8, 4};
    const unsigned copies = quads ? 4 : 1;
    form.kind = quads ? FragmentKind::quads : FragmentKind::groups;
    form.a_registers = registers_for(unsigned{form.m} * form.k * copies, form.a);
    form.b_registers = registers_for(unsigned{form.k} * form.n * copies, form.b);
    set_sums(form, copies);
    return true;
}

}  // namespace egpu::simulated
