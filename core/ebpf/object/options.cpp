// SPDX-License-Identifier: Apache-2.0
// Values that a user gives to an object's options.
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "base/names.hpp"
#include "ebpf/object/object.hpp"

namespace egpu::ebpf {
namespace {

/// Sign and magnitude of "8", "-3", "0x10"; nothing where the text is no number of 64 bits.
struct Number {
    bool negative = false;
    std::uint64_t magnitude = 0;
};
std::optional<Number> parse_number(std::string_view text) {
    Number number;
    if (text.starts_with('-')) {
        number.negative = true;
        text.remove_prefix(1);
    }
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex)
        text.remove_prefix(2);
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number.magnitude, hex ? 16 : 10);
    if (code != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

bool fits(const Number& number, const Option& option) {
    const unsigned bits = option.bytes * 8;
    if (option.type == "bool")
        return !number.negative && number.magnitude <= 1;
    if (!option.is_signed)
        return (!number.negative || number.magnitude == 0) && (bits == 64 || number.magnitude >> bits == 0);
    const std::uint64_t limit = std::uint64_t{1} << (bits - 1);
    return number.negative ? number.magnitude <= limit : number.magnitude < limit;
}

std::string range_text(const Option& option) {
    const unsigned bits = option.bytes * 8;
    if (option.type == "bool")
        return "true or false";
    if (option.is_signed)
        return fmt::format("{} to {}", INT64_MIN >> (64 - bits), INT64_MAX >> (64 - bits));
    return fmt::format("0 to {}", UINT64_MAX >> (64 - bits));
}

}  // namespace

Status set_option(Object& object, std::string_view name, std::string_view value) {
    std::vector<std::string> names;
    const Option* option = nullptr;
    for (const auto& candidate : object.options) {
        names.push_back(candidate.name);
        if (candidate.name == name)
            option = &candidate;
    }
    if (option == nullptr) {
        const auto meant = nearest(name, names);
        auto wrong = error("EGPU-B030", fmt::format("the program has no option '{}'", name));
        if (!meant.empty())
            wrong.hints.push_back(fmt::format("did you mean '{}'?", meant));
        else
            wrong.hints.push_back(names.empty() ? "it has no options"
                                                : fmt::format("it has: {}", fmt::join(names, ", ")));
        return wrong;
    }
    const bool is_bool = option->type == "bool";
    const auto number = is_bool && value == "true"    ? Number{false, 1}
                        : is_bool && value == "false" ? Number{false, 0}
                                                      : parse_number(value);
    if (!number)
        return error("EGPU-B031", fmt::format("'{}' is no value for option '{}' of type {}", value, name, option->type),
                     is_bool ? "write true or false" : "write a number, such as 8 or 0x10");
    if (!fits(*number, *option))
        return error("EGPU-B032", fmt::format("{} is outside option '{}' of type {}", value, name, option->type),
                     fmt::format("it takes {}", range_text(*option)));
    const std::uint64_t bits = number->negative ? 0 - number->magnitude : number->magnitude;
    std::memcpy(object.constants.data() + option->offset, &bits, option->bytes);  // little-endian, as eBPF is
    return ok();
}

}  // namespace egpu::ebpf
