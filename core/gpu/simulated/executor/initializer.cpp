// SPDX-License-Identifier: Apache-2.0
//   .global .align 8 .u64 table[2] = {generic(name)+4, function};   ->   two addresses, 16 bytes
#include "gpu/simulated/executor/initializer.hpp"

#include <bit>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "gpu/simulated/executor/machine/type.hpp"

namespace egpu::simulated {
namespace {

using Kind = ptx::Operand::Kind;

class Writer {
public:
    Writer(const ptx::Variable& variable, ModuleSymbols& symbols, std::span<std::byte> bytes)
        : variable_(variable), symbols_(symbols), bytes_(bytes) {
        element_ = parse_type(variable.type).value_or(Type::b8);
    }

    Status write() {
        if (!put(*variable_.initializer, 0, bytes_.size(), 0)) {
            return error("EGPU-P203",
                         fmt::format("{}: the initial value of '{}': {}", symbols_.name, variable_.name, problem_));
        }
        return ok();
    }

private:
    bool fail(std::string why) {
        problem_ = std::move(why);
        return false;
    }

    /// A list fills its part of the array: nested braces are rows of equal size.
    bool put(const ptx::Operand& operand, std::uint64_t at, std::uint64_t end, std::size_t dimension) {
        if (operand.kind != Kind::vector) {
            return put_scalar(operand, at, end);
        }
        std::uint64_t step = bytes_of(element_);
        for (std::size_t inner = dimension + 1; inner < variable_.dimensions.size(); ++inner) {
            step *= variable_.dimensions[inner];
        }
        if (dimension + 1 >= variable_.dimensions.size() || operand.parts.empty() ||
            operand.parts.front().kind != Kind::vector) {
            step = bytes_of(element_);
        }
        for (const ptx::Operand& part : operand.parts) {
            if (!put(part, at, end, dimension + 1)) {
                return false;
            }
            at += step;
        }
        return true;
    }

    bool put_scalar(const ptx::Operand& operand, std::uint64_t at, std::uint64_t end) {
        const std::uint64_t size = bytes_of(element_);
        if (at > end || size > end - at) {
            return fail("more values than elements");
        }
        std::uint64_t value = 0;
        if (!value_of(operand, value)) {
            return false;
        }
        std::memcpy(bytes_.data() + at, &value, size);
        return true;
    }

    bool value_of(const ptx::Operand& operand, std::uint64_t& value) {
        value = static_cast<std::uint64_t>(operand.integer);
        switch (operand.kind) {
            case Kind::integer:
                if (element_ == Type::f32) {
                    value = std::bit_cast<std::uint32_t>(static_cast<float>(operand.integer));
                } else if (element_ == Type::f64) {
                    value = std::bit_cast<std::uint64_t>(static_cast<double>(operand.integer));
                }
                return true;
            case Kind::floating:
                if (operand.floating_bits == 64 && element_ == Type::f32) {
                    value = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(value)));
                } else if (operand.floating_bits == 32 && element_ == Type::f64) {
                    value = std::bit_cast<std::uint64_t>(
                        static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value))));
                }
                return true;
            case Kind::identifier:
                return address_of(operand.base.empty() ? operand.text : operand.base, operand.integer, value);
            case Kind::other:
                return expression(operand, value);
            default:
                return fail(fmt::format("'{}' is no constant", operand.text));
        }
    }

    bool address_of(std::string_view name, std::int64_t offset, std::uint64_t& value) {
        const auto variable = symbols_.variables.find(name);
        if (variable != symbols_.variables.end() && variable->second.address != 0) {
            value = variable->second.address + static_cast<std::uint64_t>(offset);
            return true;
        }
        const auto function = symbols_.function_index.find(name);
        if (function != symbols_.function_index.end()) {
            symbols_.address_taken[function->second] = true;
            value = symbols_.function_base + std::uint64_t{function->second} * 16 + static_cast<std::uint64_t>(offset);
            return true;
        }
        return fail(fmt::format("'{}' has no address", name));
    }

    /// "generic(name)", "generic(name)+4", "0xFF00(name)": the byte of the address that the mask selects.
    bool expression(const ptx::Operand& operand, std::uint64_t& value) {
        const std::size_t open = operand.text.find('(');
        const std::size_t close = operand.text.find(')');
        if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
            return fail(fmt::format("'{}' is not understood", operand.text));
        }
        const auto trim = [](std::string_view text) {
            while (!text.empty() && text.front() <= ' ') {
                text.remove_prefix(1);
            }
            while (!text.empty() && text.back() <= ' ') {
                text.remove_suffix(1);
            }
            return text;
        };
        const std::string_view head = trim(operand.text.substr(0, open));
        std::string_view name = trim(operand.text.substr(open + 1, close - open - 1));
        std::int64_t offset = operand.base.empty() ? 0 : operand.integer;
        if (head == "generic") {
            return address_of(operand.base.empty() ? name : operand.base, offset, value);
        }
        std::uint64_t mask = 0;
        const bool hexadecimal = head.starts_with("0x") || head.starts_with("0X");
        const std::string_view digits = hexadecimal ? head.substr(2) : head;
        const auto [end, status] =
            std::from_chars(digits.data(), digits.data() + digits.size(), mask, hexadecimal ? 16 : 10);
        if (status != std::errc{} || end != digits.data() + digits.size() || mask == 0) {
            return fail(fmt::format("'{}' is not understood", operand.text));
        }
        if (name.starts_with("generic")) {
            const std::size_t inner = name.find('(');
            name = inner == std::string_view::npos ? name : trim(name.substr(inner + 1));
        }
        if (!address_of(name, 0, value)) {
            return false;
        }
        value = (value & mask) >> std::countr_zero(mask);
        return true;
    }

    const ptx::Variable& variable_;
    ModuleSymbols& symbols_;
    const std::span<std::byte> bytes_;
    Type element_ = Type::b8;
    std::string problem_;
};

}  // namespace

std::uint64_t initializer_bytes(const ptx::Variable& variable) {
    const auto type = parse_type(variable.type);
    if (!type || !variable.initializer) {
        return 0;
    }
    std::uint64_t inner = bytes_of(*type) * variable.vector;
    for (std::size_t i = 1; i < variable.dimensions.size(); ++i) {
        inner *= variable.dimensions[i];
    }
    return inner * std::max<std::size_t>(variable.initializer->parts.size(), 1);
}

Status initial_bytes(const ptx::Variable& variable, ModuleSymbols& symbols, std::span<std::byte> bytes) {
    return Writer(variable, symbols, bytes).write();
}

}  // namespace egpu::simulated
