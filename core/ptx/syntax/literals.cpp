// SPDX-License-Identifier: Apache-2.0
#include "ptx/syntax/literals.hpp"

#include <bit>
#include <charconv>
#include <tuple>

namespace egpu::ptx {
namespace {

std::optional<std::uint64_t> digits_value(std::string_view digits, int base) {
    std::uint64_t value = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, status] = std::from_chars(digits.data(), end, value, base);
    if (digits.empty() || status != std::errc{} || stop != end)
        return std::nullopt;
    return value;
}

bool starts_with_letter(std::string_view text, char lower, char upper) {
    return text.size() > 1 && text[0] == '0' && (text[1] == lower || text[1] == upper);
}

}  // namespace

std::optional<std::uint64_t> integer_value(std::string_view text) {
    if (text.ends_with('U') || text.ends_with('u'))
        text.remove_suffix(1);
    if (starts_with_letter(text, 'x', 'X'))
        return digits_value(text.substr(2), 16);
    if (starts_with_letter(text, 'b', 'B'))
        return digits_value(text.substr(2), 2);
    if (text.size() > 1 && text[0] == '0')
        return digits_value(text.substr(1), 8);
    return digits_value(text, 10);
}

std::optional<FloatingValue> floating_value(std::string_view text) {
    for (const auto& [lower, upper, width] : {std::tuple{'f', 'F', 32}, std::tuple{'d', 'D', 64}}) {
        if (!starts_with_letter(text, lower, upper))
            continue;
        const auto bits = digits_value(text.substr(2), 16);
        if (!bits || text.size() != 2 + static_cast<std::size_t>(width) / 4)
            return std::nullopt;
        return FloatingValue{*bits, width};
    }
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, status] = std::from_chars(text.data(), end, value);
    if (status != std::errc{} || stop != end)
        return std::nullopt;
    return FloatingValue{std::bit_cast<std::uint64_t>(value), 64};
}

}  // namespace egpu::ptx
