// SPDX-License-Identifier: Apache-2.0
// Logic and shifts (PTX ISA 9.0, section 9.7.8): and, or, xor, not, cnot, lop3, shf, shl, shr; prmt (9.7.9.7).
#include "gpu/simulated/executor/machine/cost.hpp"
#include "gpu/simulated/executor/operations/form.hpp"
#include "gpu/simulated/executor/operations/lane.hpp"

namespace egpu::simulated {
namespace {

struct And {
    template <typename T>
    static T apply(T a, T b) {
        return static_cast<T>(a & b);
    }
};
struct Or {
    template <typename T>
    static T apply(T a, T b) {
        return static_cast<T>(a | b);
    }
};
struct Xor {
    template <typename T>
    static T apply(T a, T b) {
        return static_cast<T>(a ^ b);
    }
};
struct Not {
    template <typename T>
    static T apply(T a) {
        return static_cast<T>(~a);
    }
};
struct LogicalNot {
    template <typename T>
    static T apply(T a) {
        return a == 0 ? T{1} : T{0};
    }
};

/// Shift amounts above the width act as the width.
struct ShiftLeft {
    template <typename T>
    static T apply(T a, std::uint32_t by) {
        return by >= sizeof(T) * 8 ? T{0} : static_cast<T>(static_cast<std::uint64_t>(a) << by);
    }
};
struct ShiftRight {
    template <typename T>
    static T apply(T a, std::uint32_t by) {
        constexpr std::uint32_t last = sizeof(T) * 8 - 1;
        if constexpr (std::is_signed_v<T>) {
            return static_cast<T>(a >> (by > last ? last : by));
        } else {
            return by > last ? T{0} : static_cast<T>(a >> by);
        }
    }
};

/// shf.l: the upper word of [b:a] << n; shf.r: the lower word of [b:a] >> n.
template <bool Left, bool Clamp>
struct Funnel {
    static std::uint32_t apply(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        const std::uint32_t n = Clamp ? (c > 32 ? 32 : c) : c & 31;
        const std::uint64_t both = std::uint64_t{b} << 32 | a;
        return static_cast<std::uint32_t>(Left ? both << n >> 32 : both >> n);
    }
};

/// Bit i of the result is bit (a_i, b_i, c_i) of the table.
struct Lop3 {
    static std::uint32_t apply(const Instruction& instruction, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        const std::uint32_t table = instruction.variant;
        std::uint32_t result = 0;
        result |= (table & 0x01) != 0 ? ~a & ~b & ~c : 0;
        result |= (table & 0x02) != 0 ? ~a & ~b & c : 0;
        result |= (table & 0x04) != 0 ? ~a & b & ~c : 0;
        result |= (table & 0x08) != 0 ? ~a & b & c : 0;
        result |= (table & 0x10) != 0 ? a & ~b & ~c : 0;
        result |= (table & 0x20) != 0 ? a & ~b & c : 0;
        result |= (table & 0x40) != 0 ? a & b & ~c : 0;
        result |= (table & 0x80) != 0 ? a & b & c : 0;
        return result;
    }
};

enum Permutation : std::uint8_t { kGeneric, kForward4, kBackward4, kReplicate8, kEdgeLeft, kEdgeRight, kReplicate16 };

/// prmt: which of the eight bytes of [b:a] the i-th byte of the result is; bit 3 replicates the byte's sign.
std::uint32_t selector(std::uint8_t mode, std::uint32_t c, std::uint32_t i) {
    const std::uint32_t s = c & 3;
    switch (mode) {
        case kForward4:
            return s + i;
        case kBackward4:
            return (s + 8 - i) & 7;
        case kReplicate8:
            return s;
        case kEdgeLeft:
            return i < s ? s : i;
        case kEdgeRight:
            return i < s ? i : s;
        case kReplicate16:
            return (s & 1) * 2 + (i & 1);
        default:
            return c >> (4 * i) & 15;
    }
}
struct Permute {
    static std::uint32_t apply(const Instruction& instruction, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        const std::uint64_t both = std::uint64_t{b} << 32 | a;
        std::uint32_t result = 0;
        for (std::uint32_t i = 0; i < 4; ++i) {
            const std::uint32_t which = selector(instruction.variant, c, i);
            auto byte = static_cast<std::uint32_t>(both >> (8 * (which & 7)) & 0xff);
            if ((which & 8) != 0) {
                byte = (byte & 0x80) != 0 ? 0xff : 0;
            }
            result |= byte << (8 * i);
        }
        return result;
    }
};

template <typename F>
bool on_predicates(Context& context, const Instruction& instruction, Mask mask) {
    const Mask a = mask_at(context, instruction.sources[0]) ^ (instruction.source_negated ? kAllLanes : 0);
    Mask result;
    if constexpr (requires { F::template apply<Mask>(Mask{}, Mask{}); }) {
        result = F::apply(a, mask_at(context, instruction.sources[1]));
    } else {
        result = F::apply(a);
    }
    Mask& destination = mask_at(context, instruction.destination);
    destination = (destination & ~mask) | (result & mask);
    return true;
}

template <typename F>
Handler binary(Type type) {
    switch (type) {
        case Type::pred:
            return on_predicates<F>;
        case Type::b16:
            return each<F, std::uint16_t, std::uint16_t, std::uint16_t>;
        case Type::b32:
            return each<F, std::uint32_t, std::uint32_t, std::uint32_t>;
        case Type::b64:
            return each<F, std::uint64_t, std::uint64_t, std::uint64_t>;
        default:
            return nullptr;
    }
}
template <typename F>
Handler unary(Type type) {
    switch (type) {
        case Type::b16:
            return each<F, std::uint16_t, std::uint16_t>;
        case Type::b32:
            return each<F, std::uint32_t, std::uint32_t>;
        case Type::b64:
            return each<F, std::uint64_t, std::uint64_t>;
        default:
            return nullptr;
    }
}
Handler shift_right(Type type) {
    switch (type) {
        case Type::b16:
        case Type::u16:
            return each<ShiftRight, std::uint16_t, std::uint16_t, std::uint32_t>;
        case Type::b32:
        case Type::u32:
            return each<ShiftRight, std::uint32_t, std::uint32_t, std::uint32_t>;
        case Type::b64:
        case Type::u64:
            return each<ShiftRight, std::uint64_t, std::uint64_t, std::uint32_t>;
        case Type::s16:
            return each<ShiftRight, std::int16_t, std::int16_t, std::uint32_t>;
        case Type::s32:
            return each<ShiftRight, std::int32_t, std::int32_t, std::uint32_t>;
        case Type::s64:
            return each<ShiftRight, std::int64_t, std::int64_t, std::uint32_t>;
        default:
            return nullptr;
    }
}
Handler shift_left(Type type) {
    switch (type) {
        case Type::b16:
            return each<ShiftLeft, std::uint16_t, std::uint16_t, std::uint32_t>;
        case Type::b32:
            return each<ShiftLeft, std::uint32_t, std::uint32_t, std::uint32_t>;
        case Type::b64:
            return each<ShiftLeft, std::uint64_t, std::uint64_t, std::uint32_t>;
        default:
            return nullptr;
    }
}

Form shift_form(Parts& parts, bool left) {
    Form form;
    form.destination = form.sources[0] = parts.take_type();
    form.sources[1] = Type::u32;
    form.handler = left ? shift_left(form.destination) : shift_right(form.destination);
    form.cost = cost::kArithmetic;
    return form;
}

Form three_words(Handler handler) {
    Form form;
    form.handler = handler;
    form.destination = form.sources[0] = form.sources[1] = form.sources[2] = Type::b32;
    form.cost = cost::kArithmetic;
    return form;
}

Form funnel_form(Parts& parts) {
    const bool left = parts.take("l");
    if (!left && !parts.take("r")) {
        return {};
    }
    const bool clamp = parts.take("clamp");
    if (!clamp && !parts.take("wrap")) {
        return {};
    }
    if (parts.take_type() != Type::b32) {
        return {};
    }
    using W = std::uint32_t;
    return three_words(left ? (clamp ? each<Funnel<true, true>, W, W, W, W> : each<Funnel<true, false>, W, W, W, W>)
                            : (clamp ? each<Funnel<false, true>, W, W, W, W> : each<Funnel<false, false>, W, W, W, W>));
}

Form permute_form(Parts& parts) {
    using W = std::uint32_t;
    if (parts.take_type() != Type::b32) {
        return {};
    }
    Form form = three_words(each_with<Permute, W, W, W, W>);
    const std::string_view mode = parts.take_any({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
    form.variant = mode == "f4e"    ? kForward4
                   : mode == "b4e"  ? kBackward4
                   : mode == "rc8"  ? kReplicate8
                   : mode == "ecl"  ? kEdgeLeft
                   : mode == "ecr"  ? kEdgeRight
                   : mode == "rc16" ? kReplicate16
                                    : kGeneric;
    return form;
}

}  // namespace

Form select_logic(Parts& parts, bool& found) {
    const std::string_view root = parts.root();
    found = true;
    if (root == "shl" || root == "shr") {
        return shift_form(parts, root == "shl");
    }
    if (root == "shf") {
        return funnel_form(parts);
    }
    if (root == "prmt") {
        return permute_form(parts);
    }
    if (root == "lop3") {
        // The table is the fourth operand, an immediate: the decoder puts it into the variant.
        using W = std::uint32_t;
        return parts.take_type() == Type::b32 ? three_words(each_with<Lop3, W, W, W, W>) : Form{};
    }
    Form form;
    form.cost = cost::kArithmetic;
    if (root == "and" || root == "or" || root == "xor") {
        form.destination = form.sources[0] = form.sources[1] = parts.take_type();
        form.handler = root == "and"  ? binary<And>(form.destination)
                       : root == "or" ? binary<Or>(form.destination)
                                      : binary<Xor>(form.destination);
        return form;
    }
    if (root == "not" || root == "cnot") {
        form.destination = form.sources[0] = parts.take_type();
        form.handler = root == "cnot"                   ? unary<LogicalNot>(form.destination)
                       : form.destination == Type::pred ? on_predicates<Not>
                                                        : unary<Not>(form.destination);
        return form;
    }
    found = false;
    return {};
}

}  // namespace egpu::simulated
