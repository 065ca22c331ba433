// SPDX-License-Identifier: Apache-2.0
// Extended precision (PTX ISA 9.0, section 9.7.2): add.cc, addc, sub.cc, subc, mad.cc, madc. CC.CF is one bit a lane.
#include "gpu/simulated/executor/machine/cost.hpp"
#include "gpu/simulated/executor/operations/form.hpp"
#include "gpu/simulated/executor/operations/lane.hpp"

namespace egpu::simulated {
namespace {

__extension__ typedef unsigned __int128 Unsigned128;

/// What the opcode says about CC: whether it goes in, whether it comes out.
enum Flags : std::uint8_t { kIn = 1, kOut = 2 };

template <typename T>
struct Sum {
    T value;
    bool carry;
};
template <typename T>
Sum<T> add(T a, T b, T in) {
    const T first = a + b;
    const T value = first + in;
    return {value, first < a || value < first};
}
template <typename T>
Sum<T> subtract(T a, T b, T in) {
    const T first = a - b;
    const T value = first - in;
    return {value, a < b || first < in};
}

template <typename T, bool Subtract>
bool chain(Context& context, const Instruction& instruction, Mask mask) {
    T* const destination = row_at<T>(context, instruction.destination);
    const T* const a = row_at<const T>(context, instruction.sources[0]);
    const T* const b = row_at<const T>(context, instruction.sources[1]);
    const Mask in = (instruction.variant & kIn) != 0 ? context.carry : 0;
    Mask out = 0;
    for_lanes(mask, [&](unsigned lane) {
        const auto carry = static_cast<T>(in >> lane & 1);
        const Sum<T> sum = Subtract ? subtract(a[lane], b[lane], carry) : add(a[lane], b[lane], carry);
        destination[lane] = sum.value;
        out |= static_cast<Mask>(sum.carry ? 1 : 0) << lane;
    });
    if ((instruction.variant & kOut) != 0) {
        context.carry = (context.carry & ~mask) | out;
    }
    return true;
}

template <typename T, bool Signed>
T high_half(T a, T b) {
    if constexpr (sizeof(T) == 4) {
        return Signed ? static_cast<T>(static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(a)} *
                                                                  static_cast<std::int32_t>(b)) >>
                                       32)
                      : static_cast<T>(std::uint64_t{a} * b >> 32);
    } else {
        auto high = static_cast<T>(static_cast<Unsigned128>(a) * b >> 64);
        if constexpr (Signed) {
            high -= static_cast<std::int64_t>(a) < 0 ? b : 0;
            high -= static_cast<std::int64_t>(b) < 0 ? a : 0;
        }
        return high;
    }
}

template <typename T, bool High, bool Signed>
bool multiply_chain(Context& context, const Instruction& instruction, Mask mask) {
    T* const destination = row_at<T>(context, instruction.destination);
    const T* const a = row_at<const T>(context, instruction.sources[0]);
    const T* const b = row_at<const T>(context, instruction.sources[1]);
    const T* const c = row_at<const T>(context, instruction.sources[2]);
    const Mask in = (instruction.variant & kIn) != 0 ? context.carry : 0;
    Mask out = 0;
    for_lanes(mask, [&](unsigned lane) {
        const T product = High ? high_half<T, Signed>(a[lane], b[lane]) : a[lane] * b[lane];
        const Sum<T> sum = add(product, c[lane], static_cast<T>(in >> lane & 1));
        destination[lane] = sum.value;
        out |= static_cast<Mask>(sum.carry ? 1 : 0) << lane;
    });
    if ((instruction.variant & kOut) != 0) {
        context.carry = (context.carry & ~mask) | out;
    }
    return true;
}

template <typename T>
Handler multiply_handler(bool high, bool is_signed_type) {
    if (!high) {
        return multiply_chain<T, false, false>;
    }
    return is_signed_type ? multiply_chain<T, true, true> : multiply_chain<T, true, false>;
}

}  // namespace

Form select_carry(Parts& parts, bool& found) {
    const std::string_view root = parts.root();
    const bool in = root == "addc" || root == "subc" || root == "madc";
    const bool base = root == "add" || root == "sub" || root == "mad";
    Parts after = parts;
    const bool out = after.take("cc");
    if (!in && !(base && out)) {
        return {};
    }
    found = true;
    Form form;
    const bool multiply = root.starts_with("mad");
    const std::string_view half = multiply ? after.take_any({"lo", "hi"}) : std::string_view();
    const Type type = after.take_type();
    if (type != Type::u32 && type != Type::s32 && type != Type::u64 && type != Type::s64) {
        return form;
    }
    if (multiply && half.empty()) {
        return form;
    }
    parts = after;
    form.destination = form.sources[0] = form.sources[1] = type;
    form.variant = static_cast<std::uint8_t>((in ? kIn : 0) | (out ? kOut : 0));
    form.cost = cost::kArithmetic;
    const bool wide = bits_of(type) == 64;
    if (multiply) {
        form.sources[2] = type;
        form.handler = wide ? multiply_handler<std::uint64_t>(half == "hi", is_signed(type))
                            : multiply_handler<std::uint32_t>(half == "hi", is_signed(type));
    } else if (root.starts_with("sub")) {
        form.handler = wide ? chain<std::uint64_t, true> : chain<std::uint32_t, true>;
    } else {
        form.handler = wide ? chain<std::uint64_t, false> : chain<std::uint32_t, false>;
    }
    return form;
}

}  // namespace egpu::simulated
