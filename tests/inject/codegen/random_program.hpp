// SPDX-License-Identifier: Apache-2.0
// Programs made at random that are safe by construction: accesses inside the stack and the memory they are given,
// aligned unless asked for otherwise, jumps forward only.
#pragma once

#include <random>
#include <string>

#include <fmt/format.h>

namespace egpu::inject::testing {

/// Assembly of a function with memory of 64 bytes in r1; all registers, stack words and the memory go into its result.
class RandomProgram {
public:
    explicit RandomProgram(std::uint32_t seed, bool misaligned = false) : random_(seed), misaligned_(misaligned) {}

    std::string text(int length) {
        std::string out = "mov %r6, %r1\n";
        for (int reg : {0, 2, 3, 4, 5, 7})
            out += fmt::format("ldxdw %r{}, [%r6+{}]\n", reg, below(7) * 8);
        // Some registers are constants, so that known and unknown values meet.
        out += fmt::format("mov %r8, {}\nlddw %r9, 0x{:x}\nmov %r1, {}\n", number(), wide(), number());
        for (int word = 1; word <= 4; ++word)
            out += fmt::format("stxdw [%r10-{}], {}\n", word * 8, any());
        for (int i = 0; i < length; ++i)
            out += one(i);
        for (int pending : pending_)
            out += fmt::format("l{}:\n", pending);
        for (int reg : {1, 2, 3, 4, 5, 7, 8, 9})
            out += fmt::format("mul %r0, 31\nxor %r0, %r{}\n", reg);
        for (int word = 1; word <= 4; ++word)
            out += fmt::format("ldxdw %r1, [%r10-{}]\nmul %r0, 31\nadd %r0, %r1\n", word * 8);
        return out + "exit\n";
    }

private:
    std::uint32_t below(std::uint32_t limit) {
        return std::uniform_int_distribution<std::uint32_t>(0, limit - 1)(random_);
    }
    std::uint64_t wide() {
        constexpr std::uint64_t kCorners[] = {0, 1, ~0ull, 1ull << 63, 1ull << 31, 0xffffffff, 0x100000000, 63, 64};
        return below(3) == 0 ? kCorners[below(9)] : random_();
    }
    std::int32_t number() { return static_cast<std::int32_t>(wide()); }
    std::string any() {
        constexpr int kRegisters[] = {0, 1, 2, 3, 4, 5, 7, 8, 9};
        return fmt::format("%r{}", kRegisters[below(9)]);
    }
    std::string operand() { return below(2) == 0 ? any() : fmt::format("{}", number()); }

    std::string alu() {
        constexpr const char* kBinary[] = {"add", "sub", "mul", "div",  "sdiv", "or",   "and",
                                           "lsh", "rsh", "mod", "smod", "xor",  "arsh", "mov"};
        constexpr const char* kUnary[] = {"neg",  "neg32", "le16",    "le32",    "le64",   "be16",
                                          "be32", "be64",  "bswap16", "bswap32", "bswap64"};
        constexpr const char* kExtend[] = {"movsx832", "movsx1632", "movsx864", "movsx1664", "movsx3264"};
        const std::uint32_t kind = below(10);
        if (kind == 0)
            return fmt::format("{} {}\n", kUnary[below(11)], any());
        if (kind == 1)
            return fmt::format("{} {}, {}\n", kExtend[below(5)], any(), any());
        return fmt::format("{}{} {}, {}\n", kBinary[below(14)], below(2) == 0 ? "" : "32", any(), operand());
    }

    std::string memory() {
        constexpr const char* kSizes[] = {"b", "h", "w", "dw"};
        const std::uint32_t size = below(4);
        const std::uint32_t bytes = 1u << size;
        const bool on_stack = below(2) == 0;
        const std::uint32_t room = on_stack ? 32 : 64;
        const std::uint32_t at = misaligned_ ? below(room - bytes + 1) : below(room / bytes) * bytes;
        const std::string place = on_stack ? fmt::format("[%r10-{}]", 32 - at) : fmt::format("[%r6+{}]", at);
        switch (below(5)) {
            case 0:
                return fmt::format("st{} {}, {}\n", kSizes[size], place, number());
            case 1:
                return fmt::format("stx{} {}, {}\n", kSizes[size], place, any());
            case 2:
                return size < 3 ? fmt::format("ldxs{} {}, {}\n", kSizes[size], any(), place)
                                : fmt::format("ldxdw {}, {}\n", any(), place);
            case 3:
                return fmt::format("ldx{} {}, {}\n", kSizes[size], any(), place);
            default:
                return atomic(on_stack);
        }
    }

    std::string atomic(bool on_stack) {
        constexpr const char* kOperations[] = {"add", "or", "and", "xor", "xchg", "cmpxchg"};
        const std::uint32_t operation = below(6);
        const bool narrow = below(2) == 0;
        const std::uint32_t bytes = narrow ? 4 : 8;
        const std::uint32_t at = below((on_stack ? 32 : 64) / bytes) * bytes;
        const std::string place = on_stack ? fmt::format("[%r10-{}]", 32 - at) : fmt::format("[%r6+{}]", at);
        const bool fetch = operation < 4 && below(2) == 0;
        return fmt::format("lock {}{}{} {}, {}\n", fetch ? "fetch " : "", kOperations[operation], narrow ? "32" : "",
                           place, any());
    }

    std::string jump(int at) {
        constexpr const char* kJumps[] = {"jeq",  "jgt", "jge", "jset", "jne", "jsgt",
                                          "jsge", "jlt", "jle", "jslt", "jsle"};
        pending_.push_back(at);
        return fmt::format("{}{} {}, {}, l{}\n", kJumps[below(11)], below(2) == 0 ? "" : "32", any(), operand(), at);
    }

    std::string one(int at) {
        std::string out;
        if (!pending_.empty() && below(3) == 0) {
            out += fmt::format("l{}:\n", pending_.back());
            pending_.pop_back();
        }
        const std::uint32_t kind = below(10);
        return out + (kind < 5 ? alu() : kind < 8 ? memory() : jump(at));
    }

    std::mt19937_64 random_;
    bool misaligned_;
    std::vector<int> pending_;
};

}  // namespace egpu::inject::testing
