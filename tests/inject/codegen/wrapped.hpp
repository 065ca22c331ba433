// SPDX-License-Identifier: Apache-2.0
// A program that returns a number, made into a probe that stores it: for comparing engines.
#pragma once

#include <functional>
#include <vector>

#include "harness.hpp"

namespace egpu::inject::testing {

inline Instruction make(std::uint8_t opcode, std::uint8_t destination, std::uint8_t source, std::int16_t offset,
                        std::int32_t immediate) {
    Instruction i;
    i.opcode = opcode;
    i.destination = destination & 0xf;
    i.source = source & 0xf;
    i.offset = offset;
    i.immediate = immediate;
    return i;
}

/// Replaces instructions by others and moves jumps and calls along.
inline std::vector<Instruction> rewritten(
    const std::vector<Instruction>& program,
    const std::function<std::vector<Instruction>(std::size_t at, bool starts_function)>& replace) {
    std::vector<bool> starts(program.size());
    starts[0] = true;
    const auto second_half = [&](std::size_t at) { return at > 0 && program[at - 1].opcode == kLoadImmediate64; };
    for (std::size_t at = 0; at < program.size(); ++at)
        if (!second_half(at) && program[at].opcode == kCall && program[at].source == kPseudoCall)
            starts[static_cast<std::size_t>(static_cast<std::int64_t>(at) + 1 + program[at].immediate)] = true;
    std::vector<Instruction> out;
    std::vector<std::size_t> place(program.size() + 1), last(program.size());
    for (std::size_t at = 0; at < program.size(); ++at) {
        place[at] = out.size();
        if (second_half(at)) {
            last[at] = out.size() - 1;
            continue;
        }
        for (const auto& i : replace(at, starts[at]))
            out.push_back(i);
        last[at] = out.size() - 1;
    }
    place[program.size()] = out.size();
    for (std::size_t at = 0; at < program.size(); ++at) {
        const Instruction& i = program[at];
        if (second_half(at))
            continue;
        const bool calls = i.opcode == kCall && i.source == kPseudoCall;
        if (!calls && !is_goto(i) && !is_conditional_jump(i))
            continue;
        const auto to = static_cast<std::int64_t>(at) + 1 + (calls ? i.immediate : jump_distance(i));
        const auto distance =
            static_cast<std::int64_t>(place[static_cast<std::size_t>(to)]) - static_cast<std::int64_t>(last[at]) - 1;
        Instruction& moved = out[last[at]];
        if (calls || (is_goto(i) && class_of(i) == kClassJmp32))
            moved.immediate = static_cast<std::int32_t>(distance);
        else
            moved.offset = static_cast<std::int16_t>(distance);
    }
    return out;
}

/// A register set to a number that nobody knows before run time: a zero that the GPU supplies, kept at the bottom of
/// the frame, plus the number.
inline std::vector<Instruction> opaque(const std::vector<Instruction>& program) {
    constexpr std::int16_t kZero = -512, kSpare = -504;
    const auto add = [](std::uint8_t reg, std::int32_t number) {
        return make(kClassAlu64 | std::uint8_t{kAdd}, reg, 0, 0, number);
    };
    return rewritten(program, [&](std::size_t at, bool starts_function) {
        std::vector<Instruction> out;
        if (starts_function) {
            // r1 to r4 live through the call in r6 to r9, r5 on the stack.
            for (std::uint8_t reg = 1; reg <= 4; ++reg)
                out.push_back(make(0xbf, reg + 5, reg, 0, 0));
            out.push_back(make(0x7b, 10, 5, kSpare, 0));
            // The number of the SM is less than 2^32.
            out.push_back(make(kCall, 0, 0, 0, 8));
            out.push_back(make(0x77, 0, 0, 0, 32));
            out.push_back(make(0x7b, 10, 0, kZero, 0));
            for (std::uint8_t reg = 1; reg <= 4; ++reg)
                out.push_back(make(0xbf, reg, reg + 5, 0, 0));
            out.push_back(make(0x79, 5, 10, kSpare, 0));
        }
        const Instruction& i = program[at];
        const bool moves = is_alu(i) && operation_of(i) == kMov && !uses_register(i);
        if (moves) {
            out.push_back(make(0x79, i.destination, 10, kZero, 0));
            out.push_back(make(static_cast<std::uint8_t>(class_of(i) | kAdd), i.destination, 0, 0, i.immediate));
        } else if (i.opcode == kLoadImmediate64 && i.source == 0) {
            const auto low = static_cast<std::uint32_t>(i.immediate);
            out.push_back(make(0x79, i.destination, 10, kZero, 0));
            out.push_back(add(i.destination, program[at + 1].immediate));
            out.push_back(make(0x67, i.destination, 0, 0, 32));
            out.push_back(add(i.destination, static_cast<std::int32_t>(low >> 1)));
            out.push_back(add(i.destination, static_cast<std::int32_t>(low >> 1)));
            out.push_back(add(i.destination, static_cast<std::int32_t>(low & 1)));
        } else {
            out.push_back(i);
            if (i.opcode == kLoadImmediate64)
                out.push_back(program[at + 1]);
        }
        return out;
    });
}

/// A probe at kernel_entry that gives `program` memory of `memory_bytes` (element 0 of map 0) in r1 and its length in
/// r2, and stores what it returns to element 0 of map 1.
inline Object wrapped(const std::vector<Instruction>& program, std::uint32_t memory_bytes) {
    Object object;
    object.maps = {make_map("memory", MapType::array, 4, std::max(memory_bytes, 8u), 1),
                   make_map("result", MapType::array, 4, 8, 1)};
    const std::string text = "stw [%r10-4], 0\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " + map_address(1) +
                             "\ncall 1\nmov %r9, %r0\nmov %r2, %r10\nadd %r2, -4\nlddw %r1, " + map_address(0) +
                             "\ncall 1\nmov %r1, %r0\nmov %r2, " + std::to_string(memory_bytes) +
                             (memory_bytes == 0 ? "\nmov %r1, 0" : "") +
                             "\ncall local f\nstxdw [%r9+0], %r0\nmov %r0, 0\nexit\nf:\nexit\n";
    Object frame = assembled(text, "gpu/kernel_entry");
    frame.maps = object.maps;
    frame.programs[0].instructions.pop_back();
    frame.programs[0].instructions.insert(frame.programs[0].instructions.end(), program.begin(), program.end());
    return frame;
}

}  // namespace egpu::inject::testing
