// SPDX-License-Identifier: Apache-2.0
// From the parts of an opcode ("add", "sat", "s32") to the handler that executes it and the types of its operands.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/simulated/executor/machine/program.hpp"

namespace egpu::simulated {

/// How an element-wise instruction is executed. Sources that are Type::none don't exist.
struct Form {
    Handler handler = nullptr;
    Type destination = Type::none;
    Type sources[4] = {Type::none, Type::none, Type::none, Type::none};
    Type second_destination = Type::none;  ///< pred: `d|p`, `p|q`; optional in the text
    bool optional_last_source = false;     ///< the last source may be left out (setp without a combination)
    std::uint8_t variant = 0;
    std::uint16_t cost = 0;
    std::string problem;  ///< not empty: the simulated GPU has not got this, and why

    unsigned source_count() const {
        unsigned count = 0;
        while (count < 4 && sources[count] != Type::none) {
            ++count;
        }
        return count;
    }
};

/// The parts of an opcode, each to be taken once. What is left at the end is not understood, hence refused.
class Parts {
public:
    explicit Parts(std::span<const std::string_view> parts) : parts_(parts.begin(), parts.end()) {}
    std::string_view root() const { return parts_.empty() ? std::string_view{} : parts_.front(); }
    /// True if `part` is there (behind the root); it is removed.
    bool take(std::string_view part);
    bool has(std::string_view part) const;
    /// The first of these that is there, removed; "" if none is.
    std::string_view take_any(std::initializer_list<std::string_view> parts);
    /// The first part that is a type, removed; Type::none if there is none.
    Type take_type();
    bool done() const { return parts_.size() <= 1; }
    /// "modifiers .a.b" of what is left.
    std::string rest() const;

private:
    std::vector<std::string_view> parts_;
};

enum class Rounding : std::uint8_t { nearest, zero, down, up };
/// The rounding modifier (.rn .rz .rm .rp), removed; nearest if there is none.
Rounding take_rounding(Parts& parts, bool& given);

/// A form that says what is missing.
Form unsupported(std::string why);

/// Builds the form of one family; `found` is false where the opcode's root is not of the family.
using Selector = Form (*)(Parts& parts, bool& found);
Form select_integer(Parts& parts, bool& found);
Form select_carry(Parts& parts, bool& found);
Form select_bits(Parts& parts, bool& found);
Form select_logic(Parts& parts, bool& found);
Form select_float(Parts& parts, bool& found);
Form select_approximation(Parts& parts, bool& found);
Form select_half(Parts& parts, bool& found);
Form select_compare(Parts& parts, bool& found);
Form select_convert(Parts& parts, bool& found);

/// The form of any element-wise opcode. `found` is false for opcodes that are none.
Form select(std::span<const std::string_view> parts, bool& found);

/// The roots of all element-wise opcodes, for tests of coverage.
std::vector<std::string_view> element_wise_opcodes();

}  // namespace egpu::simulated
