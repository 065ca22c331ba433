// SPDX-License-Identifier: Apache-2.0
#include "agent/timing/logarithm.hpp"

#include <bit>
#include <cstdint>

namespace egpu::agent {

// x = m 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh s, s = (m - 1) / (m + 1), so |s| < 0.172: 11 terms of
// artanh s = s + s^3/3 + s^5/5 + ... leave less than 0.172^23 / 23 = 1e-19.
double natural_logarithm(double x) {
    constexpr double kLn2 = 0.693147180559945309417;
    constexpr double kSqrt2 = 1.41421356237309504880;
    constexpr int kBias = 1023, kFraction = 52;
    const auto bits = std::bit_cast<std::uint64_t>(x);
    int exponent = static_cast<int>(bits >> kFraction & 0x7ff) - kBias;
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << kFraction) - 1);
    double m = std::bit_cast<double>(fraction | std::uint64_t{kBias} << kFraction);
    if (m >= kSqrt2) {
        m /= 2;
        ++exponent;
    }
    const double s = (m - 1) / (m + 1);
    double sum = 0;
    for (int n = 21; n >= 1; n -= 2)
        sum = sum * s * s + 1.0 / n;
    return 2 * s * sum + exponent * kLn2;
}

}  // namespace egpu::agent
