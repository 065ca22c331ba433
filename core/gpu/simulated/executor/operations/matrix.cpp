// SPDX-License-Identifier: Apache-2.0
// d = a * b + c over the fragments of a warp.
#include "gpu/simulated/executor/operations/matrix.hpp"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>

#include "gpu/simulated/executor/operations/float_value.hpp"
#include "gpu/simulated/executor/operations/fragment.hpp"
#include "gpu/simulated/executor/operations/narrow_float.hpp"

namespace egpu::simulated {
namespace {

constexpr unsigned kMostRows = 32, kMostColumns = 32, kMostDepth = 256;

/// Of tf32 the lower 13 bits of the register are not looked at.
constexpr std::uint32_t kTf32Bits = 0xffffe000;

float float_of(MatrixElement element, std::uint64_t bits) {
    switch (element) {
        case MatrixElement::f16:
            return to_float(Half{static_cast<std::uint16_t>(bits)});
        case MatrixElement::bf16:
            return to_float(Brain{static_cast<std::uint16_t>(bits)});
        case MatrixElement::tf32:
            return std::bit_cast<float>(static_cast<std::uint32_t>(bits) & kTf32Bits);
        case MatrixElement::e4m3:
            return from_e4m3(static_cast<std::uint8_t>(bits));
        case MatrixElement::e5m2:
            return from_e5m2(static_cast<std::uint8_t>(bits));
        default:
            return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    }
}

std::int64_t integer_of(MatrixElement element, std::uint64_t bits) {
    switch (element) {
        case MatrixElement::s8:
            return static_cast<std::int8_t>(bits);
        case MatrixElement::s4:
            return (static_cast<std::int64_t>(bits) ^ 8) - 8;
        case MatrixElement::s32:
            return static_cast<std::int32_t>(bits);
        default:
            return static_cast<std::int64_t>(bits);
    }
}

struct Floats {
    using Value = float;
    static float from(MatrixElement element, std::uint64_t bits) { return float_of(element, bits); }
    static std::uint64_t to(const MatrixForm& form, float value) {
        return form.d == MatrixElement::f16 ? to_half(double{value}).bits
                                            : std::bit_cast<std::uint32_t>(canonical(value));
    }
    static float add(const MatrixForm&, float sum, float a, float b) { return std::fmaf(a, b, sum); }
};

struct Doubles {
    using Value = double;
    static double from(MatrixElement, std::uint64_t bits) { return std::bit_cast<double>(bits); }
    static std::uint64_t to(const MatrixForm&, double value) { return std::bit_cast<std::uint64_t>(value); }
    static double add(const MatrixForm&, double sum, double a, double b) { return std::fma(a, b, sum); }
};

struct Integers {
    using Value = std::int64_t;
    static std::int64_t from(MatrixElement element, std::uint64_t bits) { return integer_of(element, bits); }
    static std::uint64_t to(const MatrixForm& form, std::int64_t value) {
        using Limits = std::numeric_limits<std::int32_t>;
        const std::int64_t kept =
            form.saturates ? std::clamp<std::int64_t>(value, Limits::min(), Limits::max()) : value;
        return static_cast<std::uint64_t>(kept);
    }
    static std::int64_t add(const MatrixForm&, std::int64_t sum, std::int64_t a, std::int64_t b) { return sum + a * b; }
};

/// Single bits: how many of a ^ b, or of a & b, are set.
struct Bits : Integers {
    static std::int64_t add(const MatrixForm& form, std::int64_t sum, std::int64_t a, std::int64_t b) {
        return sum + (form.ands ? a & b : a ^ b);
    }
};

template <typename Arithmetic>
void multiply_lanes(Context& context, const MatrixForm& form, const Place* places, Mask lanes) {
    using Value = typename Arithmetic::Value;
    // By rows of a, by columns of b: both are walked along k.
    static thread_local Value a[kMostRows][kMostDepth], b[kMostColumns][kMostDepth], sums[kMostRows][kMostColumns];
    const auto gather = [&](Part part, auto put) {
        const Fragment fragment = fragment_of(form, part, places);
        for_elements(fragment, lanes, [&](unsigned lane, unsigned reg, unsigned index, Position at) {
            put(at, Arithmetic::from(fragment.element, read_element(context, fragment, lane, reg, index)));
        });
    };
    gather(Part::a, [&](Position at, Value value) { a[at.row][at.column] = value; });
    gather(Part::b, [&](Position at, Value value) { b[at.column][at.row] = value; });
    gather(Part::c, [&](Position at, Value value) { sums[at.row][at.column] = value; });
    for (unsigned row = 0; row < form.m; ++row) {
        for (unsigned column = 0; column < form.n; ++column) {
            Value sum = sums[row][column];
            for (unsigned k = 0; k < form.k; ++k) {
                sum = Arithmetic::add(form, sum, a[row][k], b[column][k]);
            }
            sums[row][column] = sum;
        }
    }
    const Fragment result = fragment_of(form, Part::d, places);
    for_elements(result, lanes, [&](unsigned lane, unsigned reg, unsigned index, Position at) {
        write_element(context, result, lane, reg, index, Arithmetic::to(form, sums[at.row][at.column]));
    });
}

class RoundingGuard {
public:
    explicit RoundingGuard(std::uint8_t rounding) : before_(std::fegetround()) {
        static constexpr int kModes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
        std::fesetround(kModes[rounding & 3]);
    }
    ~RoundingGuard() { std::fesetround(before_); }
    RoundingGuard(const RoundingGuard&) = delete;
    RoundingGuard& operator=(const RoundingGuard&) = delete;

private:
    int before_;
};

template <typename Arithmetic>
bool multiply(Context& context, const Instruction& instruction, Mask mask) {
    const MatrixForm& form = context.program->matrices[instruction.target];
    const Place* const places = context.program->places.data() + instruction.list;
    const RoundingGuard guard(form.rounding);
    if (form.kind != FragmentKind::quads) {
        multiply_lanes<Arithmetic>(context, form, places, mask);
        return true;
    }
    for (unsigned quad = 0; quad < 4; ++quad) {
        multiply_lanes<Arithmetic>(context, form, places, Mask{0x000f'000f} << (4 * quad));
    }
    return true;
}

}  // namespace

Handler multiply_handler(const MatrixForm& form) {
    switch (form.a) {
        case MatrixElement::f64:
            return multiply<Doubles>;
        case MatrixElement::b1:
            return multiply<Bits>;
        case MatrixElement::s8:
        case MatrixElement::u8:
        case MatrixElement::s4:
        case MatrixElement::u4:
            return multiply<Integers>;
        default:
            return multiply<Floats>;
    }
}

}  // namespace egpu::simulated
