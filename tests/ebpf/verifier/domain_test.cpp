// SPDX-License-Identifier: Apache-2.0
// The abstract domain holds what it promises: a result of two numbers is among the results of what is known of them.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "ebpf/isa/semantics.hpp"
#include "ebpf/verifier/domain/arithmetic.hpp"
#include "ebpf/verifier/domain/compare.hpp"
#include "ebpf/verifier/domain/stack.hpp"

namespace egpu::ebpf {
namespace {

constexpr std::array kOperations{kAdd, kSub, kMul, kDiv, kOr, kAnd, kLsh, kRsh, kNeg, kMod, kXor, kMov, kArsh};
constexpr std::array kComparisons{kJeq, kJne, kJgt, kJge, kJlt, kJle, kJsgt, kJsge, kJslt, kJsle, kJset};

class Numbers {
public:
    /// Small, near a power of two, near a limit, or anything.
    std::uint64_t number() {
        switch (random_() % 6) {
            case 0:
                return random_() % 16;
            case 1:
                return (std::uint64_t{1} << (random_() % 64)) - random_() % 3;
            case 2:
                return 0 - random_() % 16;
            case 3:
                return random_() & 0xffffffffu;
            case 4:
                return 0x80000000u + random_() % 5 - 2;
            default:
                return random_();
        }
    }

    /// Something known of a number, reached as a program reaches it: by arithmetic and branches that hold for it.
    Scalar about(std::uint64_t number) {
        Scalar scalar;
        switch (random_() % 5) {
            case 0:
                return Scalar::constant(number);
            case 1:
                scalar = Scalar::between(number - std::min<std::uint64_t>(number, random_() % 100), number);
                break;
            case 2: {
                const std::uint64_t mask = random_() & random_();
                scalar.bits = {number & ~mask, mask};
                break;
            }
            default:
                break;
        }
        EXPECT_TRUE(scalar.tighten());
        for (std::uint64_t i = random_() % 3; i > 0; --i) {
            Scalar limit = Scalar::constant(this->number());
            const auto comparison = kComparisons[random_() % kComparisons.size()];
            const Width width = random_() % 2 ? Width::bits64 : Width::bits32;
            const bool outcome = evaluate(comparison, width, number, limit.value());
            EXPECT_TRUE(assume(comparison, width, outcome, scalar, limit));
        }
        EXPECT_TRUE(scalar.contains(number)) << number << " in " << to_text(scalar);
        return scalar;
    }
    std::uint64_t any() { return random_(); }

private:
    std::mt19937_64 random_{20240607};
};

constexpr int kRounds = 300'000;

TEST(Domain, ArithmeticContainsEveryResult) {
    Numbers numbers;
    for (int round = 0; round < kRounds; ++round) {
        const std::uint64_t a = numbers.number(), b = numbers.number();
        const Scalar known_a = numbers.about(a), known_b = numbers.about(b);
        const auto operation = kOperations[numbers.any() % kOperations.size()];
        const Width width = numbers.any() % 2 ? Width::bits64 : Width::bits32;
        const bool is_signed = (operation == kDiv || operation == kMod) && numbers.any() % 2;
        const std::uint64_t result = evaluate(operation, width, is_signed, a, b);
        const Scalar known = compute(operation, width, is_signed, known_a, known_b);
        ASSERT_TRUE(known.contains(result))
            << std::hex << int{operation} << " of " << a << " and " << b << " is " << result << ", not in "
            << to_text(known) << std::dec << " from " << to_text(known_a) << " and " << to_text(known_b)
            << (width == Width::bits64 ? " 64" : " 32");
    }
}

TEST(Domain, ConversionsContainEveryResult) {
    Numbers numbers;
    for (int round = 0; round < kRounds; ++round) {
        const std::uint64_t a = numbers.number();
        const Scalar known = numbers.about(a);
        const unsigned bits = 8u << (numbers.any() % 3);
        const auto shift = 64 - bits;
        const auto extended = static_cast<std::uint64_t>(static_cast<std::int64_t>(a << shift) >> shift);
        ASSERT_TRUE(sign_extend(known, bits, Width::bits64).contains(extended)) << a << ' ' << bits;
        ASSERT_TRUE(sign_extend(known, bits, Width::bits32).contains(extended & 0xffffffffu)) << a << ' ' << bits;
        ASSERT_TRUE(low_word(known).contains(a & 0xffffffffu)) << a;
        const unsigned order = 16u << (numbers.any() % 3);
        for (const bool swap : {false, true})
            ASSERT_TRUE(byte_order(known, order, swap).contains(in_byte_order(a, order, swap))) << a << ' ' << order;
    }
}

TEST(Domain, BranchesKeepEveryPairThatTakesThem) {
    Numbers numbers;
    for (int round = 0; round < kRounds; ++round) {
        const std::uint64_t a = numbers.number(), b = numbers.any() % 3 ? numbers.number() : a;
        Scalar known_a = numbers.about(a), known_b = numbers.about(b);
        const auto comparison = kComparisons[numbers.any() % kComparisons.size()];
        const Width width = numbers.any() % 2 ? Width::bits64 : Width::bits32;
        const bool outcome = evaluate(comparison, width, a, b);
        ASSERT_TRUE(assume(comparison, width, outcome, known_a, known_b)) << int{comparison} << ' ' << a << ' ' << b;
        ASSERT_TRUE(known_a.contains(a)) << int{comparison} << ' ' << a << ' ' << b;
        ASSERT_TRUE(known_b.contains(b)) << int{comparison} << ' ' << a << ' ' << b;
    }
}

TEST(Domain, BranchesOnConstantsAreDecided) {
    Numbers numbers;
    for (int round = 0; round < 20'000; ++round) {
        const std::uint64_t a = numbers.number(), b = numbers.any() % 3 ? numbers.number() : a;
        for (const auto comparison : kComparisons)
            for (const Width width : {Width::bits64, Width::bits32}) {
                Scalar known_a = Scalar::constant(a), known_b = Scalar::constant(b);
                const bool outcome = evaluate(comparison, width, a, b);
                ASSERT_FALSE(assume(comparison, width, !outcome, known_a, known_b))
                    << std::hex << int{comparison} << ' ' << a << ' ' << b;
            }
    }
}

TEST(Domain, SignedDivisionIsThatOfTheSpecification) {
    const auto least = std::uint64_t{1} << 63;
    EXPECT_EQ(evaluate(kDiv, Width::bits64, true, least, ~std::uint64_t{0}), least);
    EXPECT_EQ(evaluate(kMod, Width::bits64, true, least, ~std::uint64_t{0}), 0u);
    EXPECT_EQ(evaluate(kDiv, Width::bits64, true, 0 - std::uint64_t{13}, 4), 0 - std::uint64_t{3});
    EXPECT_EQ(evaluate(kMod, Width::bits64, true, 0 - std::uint64_t{13}, 4), 0 - std::uint64_t{1});
    EXPECT_EQ(evaluate(kDiv, Width::bits64, false, 7, 0), 0u);
    EXPECT_EQ(evaluate(kMod, Width::bits64, false, 7, 0), 7u);
    EXPECT_EQ(evaluate(kDiv, Width::bits32, true, 0x80000000u, 0xffffffffu), 0x80000000u);
    EXPECT_EQ(evaluate(kMod, Width::bits32, false, 0xf00000007u, 0), 7u);
}

/// The stack against bytes: after random stores, what is read is what was written, and only where it was.
TEST(Domain, TheStackIsPreciseToTheByte) {
    std::mt19937_64 random(99);
    for (int round = 0; round < 2'000; ++round) {
        Stack stack;
        std::array<int, 64> bytes;
        bytes.fill(-1);
        for (int step = 0; step < 24; ++step) {
            const std::int32_t size = 1 << (random() % 4);
            const auto offset = -64 + static_cast<std::int32_t>(random() % 57);
            if (random() % 2) {
                const std::uint64_t number = random();
                stack.write(offset, size, Value::constant(number));
                for (std::int32_t i = 0; i < size; ++i)
                    bytes[static_cast<std::size_t>(offset + 64 + i)] = static_cast<int>(number >> (8 * i) & 0xff);
                continue;
            }
            StackFault fault;
            const auto value = stack.read(offset, size, fault);
            bool whole = true;
            std::uint64_t number = 0;
            for (std::int32_t i = 0; i < size; ++i) {
                const int byte = bytes[static_cast<std::size_t>(offset + 64 + i)];
                whole = whole && byte >= 0;
                number |= (static_cast<std::uint64_t>(byte) & 0xff) << (8 * i);
            }
            ASSERT_EQ(value.has_value(), whole);
            if (whole)
                ASSERT_EQ(value->scalar.value(), number);
            else
                ASSERT_EQ(bytes[static_cast<std::size_t>(fault.byte + 64)], -1);
        }
    }
}

}  // namespace
}  // namespace egpu::ebpf
