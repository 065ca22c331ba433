// SPDX-License-Identifier: Apache-2.0
// Taking opcodes apart and asking each family.
#include "gpu/simulated/executor/operations/form.hpp"

#include <algorithm>

namespace egpu::simulated {

bool Parts::take(std::string_view part) {
    for (auto it = parts_.begin(); it != parts_.end(); ++it) {
        if (it != parts_.begin() && *it == part) {
            parts_.erase(it);
            return true;
        }
    }
    return false;
}

bool Parts::has(std::string_view part) const {
    return std::find(parts_.begin() + 1, parts_.end(), part) != parts_.end();
}

std::string_view Parts::take_any(std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) {
        if (take(part)) {
            return part;
        }
    }
    return {};
}

Type Parts::take_type() {
    for (auto it = parts_.begin(); it != parts_.end(); ++it) {
        if (it == parts_.begin()) {
            continue;
        }
        if (const auto type = parse_type(*it)) {
            parts_.erase(it);
            return *type;
        }
    }
    return Type::none;
}

std::string Parts::rest() const {
    std::string text = parts_.size() == 2 ? "modifier " : "modifiers ";
    for (std::size_t i = 1; i < parts_.size(); ++i) {
        text += '.';
        text += parts_[i];
    }
    return text;
}

Rounding take_rounding(Parts& parts, bool& given) {
    const std::string_view mode = parts.take_any({"rn", "rz", "rm", "rp"});
    given = !mode.empty();
    if (mode == "rz") {
        return Rounding::zero;
    }
    if (mode == "rm") {
        return Rounding::down;
    }
    return mode == "rp" ? Rounding::up : Rounding::nearest;
}

Form unsupported(std::string why) {
    Form form;
    form.problem = std::move(why);
    return form;
}

Form select(std::span<const std::string_view> opcode, bool& found) {
    static constexpr Selector kFamilies[] = {select_half,          select_carry,   select_integer,
                                             select_bits,          select_logic,   select_float,
                                             select_approximation, select_compare, select_convert};
    for (const Selector family : kFamilies) {
        Parts parts(opcode);
        found = false;
        Form form = family(parts, found);
        if (!found) {
            continue;
        }
        if (form.problem.empty() && form.handler == nullptr) {
            form.problem = "this combination of types and modifiers";
        }
        if (form.problem.empty() && !parts.done()) {
            form.problem = parts.rest();
        }
        return form;
    }
    found = false;
    return {};
}

std::vector<std::string_view> element_wise_opcodes() {
    return {"add",  "sub",  "mul",   "mul24",    "mad",   "mad24", "sad",  "div",   "rem", "abs",  "neg",
            "min",  "max",  "popc",  "clz",      "bfind", "fns",   "brev", "bfe",   "bfi", "bmsk", "szext",
            "dp4a", "dp2a", "addc",  "subc",     "madc",  "and",   "or",   "xor",   "not", "cnot", "lop3",
            "shf",  "shl",  "shr",   "prmt",     "fma",   "rcp",   "sqrt", "rsqrt", "sin", "cos",  "lg2",
            "ex2",  "tanh", "testp", "copysign", "setp",  "selp",  "slct", "cvt"};
}

}  // namespace egpu::simulated
