// SPDX-License-Identifier: Apache-2.0
// Arithmetic with the meaning of RFC 9669 section 4.1 where PTX's differs: division by zero, shift amounts, 32-bit
// results that clear the upper half, byte swaps.
//
//   r3 /= r4        setp.eq.u64 %egpu_p0, %egpu_r4, 0;
//                   selp.b64 %egpu_d0, 1, %egpu_r4, %egpu_p0;       PTX: division by zero gives any number
//                   div.u64 %egpu_r3, %egpu_r3, %egpu_d0;
//                   selp.b64 %egpu_r3, 0, %egpu_r3, %egpu_p0;
//   w3 <<= w4       and.b32 %egpu_w1, %egpu_w1, 31;                 PTX clamps amounts, eBPF masks them
//                   shl.b32 %egpu_w0, %egpu_w0, %egpu_w1;
//                   cvt.u64.u32 %egpu_r3, %egpu_w0;
#include "inject/codegen/emitter.hpp"

namespace egpu::inject {

using namespace ebpf;

namespace {

/// PTX operation of those that mean the same in both; "" for the others.
std::string plain_operation(std::uint8_t operation, bool wide) {
    const char* bits = wide ? "64" : "32";
    switch (operation) {
        case kAdd:
            return fmt::format("add.s{}", bits);
        case kSub:
            return fmt::format("sub.s{}", bits);
        case kMul:
            return fmt::format("mul.lo.s{}", bits);
        case kOr:
            return fmt::format("or.b{}", bits);
        case kAnd:
            return fmt::format("and.b{}", bits);
        case kXor:
            return fmt::format("xor.b{}", bits);
        default:
            return {};
    }
}

std::string shift_operation(std::uint8_t operation, bool wide) {
    const char* bits = wide ? "64" : "32";
    switch (operation) {
        case kLsh:
            return fmt::format("shl.b{}", bits);
        case kRsh:
            return fmt::format("shr.u{}", bits);
        case kArsh:
            return fmt::format("shr.s{}", bits);
        default:
            return {};
    }
}

}  // namespace

void Emitter::alu(std::uint32_t at) {
    const Instruction& i = program_.instructions[at];
    const InstructionFacts& facts = program_.facts[at];
    const bool wide = class_of(i) == kClassAlu64;
    const bool needs_a = operation_of(i) != kMov;
    const bool needs_b = operation_of(i) != kNeg && operation_of(i) != kEnd;
    const bool swaps = operation_of(i) == kEnd;
    Value b_value = uses_register(i) ? facts.source_before
                                     : Value::of(static_cast<std::uint64_t>(static_cast<std::int64_t>(i.immediate)));
    std::string a, b;
    if (needs_a)
        a = swaps  ? in_register(at, i.destination, facts.destination_before)
            : wide ? operand64(at, i.destination, facts.destination_before)
                   : operand32(at, i.destination, facts.destination_before);
    if (operation_of(i) == kMov)
        b = in_register(at, i.source, b_value);
    else if (needs_b)
        b = wide ? operand64(at, i.source, b_value) : operand32(at, i.source, b_value);
    const std::string to = destination(at);
    if (swaps)
        end(i, to, a);
    else if (operation_of(i) == kMov)
        move_extended(i, to, b);
    else if (wide)
        alu64(i, to, a, b, b_value);
    else
        alu32(i, to, a, b, b_value);
}

/// Moves with and without sign extension (RFC 9669 4.1, MOVSX).
void Emitter::move_extended(const Instruction& i, const std::string& to, const std::string& from) {
    const bool wide = class_of(i) == kClassAlu64;
    if (i.offset != 0) {
        const int unused = 64 - i.offset;
        emit(fmt::format("shl.b64 {}, {}, {}", to, from, unused));
        emit(fmt::format("shr.s64 {}, {}, {}", to, to, unused));
    } else if (wide) {
        emit(fmt::format("mov.b64 {}, {}", to, from));
    }
    if (!wide)
        emit(fmt::format("and.b64 {}, {}, 0xffffffff", to, i.offset != 0 ? to : from));
}

void Emitter::alu64(const Instruction& i, const std::string& to, const std::string& a, const std::string& b,
                    const Value& b_value) {
    const auto operation = operation_of(i);
    if (const auto plain = plain_operation(operation, true); !plain.empty())
        emit(fmt::format("{} {}, {}, {}", plain, to, a, b));
    else if (const auto shift = shift_operation(operation, true); !shift.empty())
        emit(fmt::format("{} {}, {}, {}", shift, to, a, shift_amount(b, b_value, true)));
    else if (operation == kNeg)
        emit(fmt::format("neg.s64 {}, {}", to, a));
    else
        divide(i, true, to, a, b, b_value);
}

void Emitter::alu32(const Instruction& i, const std::string& to, const std::string& a, const std::string& b,
                    const Value& b_value) {
    const auto operation = operation_of(i);
    const std::string result = registers_.b32();
    if (const auto plain = plain_operation(operation, false); !plain.empty())
        emit(fmt::format("{} {}, {}, {}", plain, result, a, b));
    else if (const auto shift = shift_operation(operation, false); !shift.empty())
        emit(fmt::format("{} {}, {}, {}", shift, result, a, shift_amount(b, b_value, false)));
    else if (operation == kNeg)
        emit(fmt::format("neg.s32 {}, {}", result, a));
    else
        divide(i, false, result, a, b, b_value);
    emit(fmt::format("cvt.u64.u32 {}, {}", to, result));
}

std::string Emitter::shift_amount(const std::string& b, const Value& b_value, bool wide) {
    const std::uint32_t mask = wide ? 63 : 31;
    if (b_value.is_constant())
        return fmt::format("{}", b_value.constant & mask);
    std::string amount = registers_.b32();
    if (wide)
        emit(fmt::format("cvt.u32.u64 {}, {}", amount, b));
    emit(fmt::format("and.b32 {}, {}, {}", amount, wide ? amount : b, mask));
    return amount;
}

/// Quotient or remainder. The divisor is made one that PTX divides by: 0 and, signed, -1 are set right afterwards
/// (RFC 9669 4.1: x / 0 = 0, x % 0 = x; least / -1 = least, x % -1 = 0).
void Emitter::divide(const Instruction& i, bool wide, const std::string& to, const std::string& a, const std::string& b,
                     const Value& b_value) {
    const bool is_signed = i.offset == 1;
    const bool remainder = operation_of(i) == kMod;
    const char* bits = wide ? "64" : "32";
    const std::string dividend = wide ? registers_.b64() : registers_.b32();
    const std::string divisor = wide ? registers_.b64() : registers_.b32();
    const std::string zero = registers_.predicate();
    const std::string minus = registers_.predicate();
    emit(fmt::format("mov.b{} {}, {}", bits, dividend, a));
    emit(fmt::format("mov.b{} {}, {}", bits, divisor, b));
    const std::uint64_t known = wide ? b_value.constant : b_value.constant & 0xffffffff;
    const bool may_be_zero = !b_value.is_constant() || known == 0;
    const bool may_be_minus = is_signed && (!b_value.is_constant() || known == (wide ? ~0ull : 0xffffffffull));
    if (may_be_zero) {
        emit(fmt::format("setp.eq.s{} {}, {}, 0", bits, zero, divisor));
        emit(fmt::format("selp.b{} {}, 1, {}, {}", bits, divisor, divisor, zero));
    }
    if (may_be_minus) {
        emit(fmt::format("setp.eq.s{} {}, {}, -1", bits, minus, divisor));
        emit(fmt::format("selp.b{} {}, 1, {}, {}", bits, divisor, divisor, minus));
    }
    emit(fmt::format("{}.{}{} {}, {}, {}", remainder ? "rem" : "div", is_signed ? 's' : 'u', bits, to, dividend,
                     divisor));
    if (may_be_zero)
        emit(fmt::format("selp.b{} {}, {}, {}, {}", bits, to, remainder ? dividend : "0", to, zero));
    if (may_be_minus && remainder) {
        emit(fmt::format("selp.b{} {}, 0, {}, {}", bits, to, to, minus));
    } else if (may_be_minus) {
        const std::string negative = wide ? registers_.b64() : registers_.b32();
        emit(fmt::format("neg.s{} {}, {}", bits, negative, dividend));
        emit(fmt::format("selp.b{} {}, {}, {}, {}", bits, to, negative, to, minus));
    }
}

/// RFC 9669 4.2. GPUs are little endian: "to little" truncates, the others swap bytes by prmt (PTX ISA 9.7.9.6).
void Emitter::end(const Instruction& i, const std::string& to, const std::string& a) {
    const bool swaps = class_of(i) == kClassAlu64 || uses_register(i);
    if (!swaps) {
        if (i.immediate == 64)
            emit(fmt::format("mov.b64 {}, {}", to, a));
        else
            emit(fmt::format("and.b64 {}, {}, {}", to, a, i.immediate == 16 ? "0xffff" : "0xffffffff"));
        return;
    }
    const std::string low = registers_.b32();
    const std::string high = registers_.b32();
    emit(fmt::format("mov.b64 {{{}, {}}}, {}", low, high, a));
    if (i.immediate == 64) {
        emit(fmt::format("prmt.b32 {}, {}, 0, 0x0123", low, low));
        emit(fmt::format("prmt.b32 {}, {}, 0, 0x0123", high, high));
        emit(fmt::format("mov.b64 {}, {{{}, {}}}", to, high, low));
        return;
    }
    emit(fmt::format("prmt.b32 {}, {}, 0, {}", low, low, i.immediate == 16 ? "0x4401" : "0x0123"));
    emit(fmt::format("cvt.u64.u32 {}, {}", to, low));
}

}  // namespace egpu::inject
