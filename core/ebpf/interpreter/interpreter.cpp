// SPDX-License-Identifier: Apache-2.0
#include "ebpf/interpreter/interpreter.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ebpf/interpreter/machine.hpp"
#include "ebpf/isa/semantics.hpp"

namespace egpu::ebpf {
namespace {

Diagnostic fault(std::string message) {
    return error("EGPU-V090", std::move(message));
}

std::uint64_t extended(std::int32_t value) {
    return static_cast<std::uint64_t>(std::int64_t{value});
}

}  // namespace

Machine::Machine(const Object& object, std::span<const Instruction> program, Execution& execution)
    : object_(object), program_(program), execution_(execution) {
    context_address_ = memory_.add_constant("the context", execution.context);
    constants_address_ = memory_.add_constant("the constants", object.constants);
    registers_[1] = context_address_;
    if (!execution.memory.empty()) {
        registers_[1] = memory_.add("the memory", execution.memory);
        registers_[2] = execution.memory.size();
    }
    frames_.resize(kDepthLimit);
}

Result<std::uint64_t> Machine::run() {
    // The first frame is entered like any other, from nowhere.
    if (auto status = enter({.opcode = kCall, .source = kPseudoCall, .immediate = -1}); !status)
        return status.errors();
    std::uint64_t steps = 0;
    while (!done_) {
        const std::size_t at = next_;
        const Instruction& instruction = program_[at];
        Status status = ++steps > execution_.step_limit
                            ? fault(fmt::format("more than {} instructions were executed", execution_.step_limit))
                            : ok();
        ++next_;
        if (status)
            status = step(instruction);
        if (!status) {
            auto wrong = status.error();
            wrong.detail = fmt::format("at insn {}: {}", at,
                                       to_text(instruction, at + 1 < program_.size() ? &program_[at + 1] : nullptr));
            return wrong;
        }
    }
    return registers_[0];
}

Status Machine::set(std::uint8_t destination, std::uint64_t value) {
    if (destination == kFramePointer)
        return fault("r10 is written, which is read-only");
    registers_[destination] = value;
    return ok();
}

Status Machine::step(const Instruction& i) {
    const auto operand = uses_register(i) ? registers_[i.source] : extended(i.immediate);
    switch (class_of(i)) {
        case kClassAlu:
        case kClassAlu64:
            return set(i.destination, arithmetic_result(i, registers_[i.destination], operand));
        case kClassJmp:
        case kClassJmp32:
            return jump(i);
        case kClassLd:
            return load_immediate64(i);
        case kClassLdx:
            return load(i);
        default:
            return mode_of(i) == kModeAtomic ? atomic(i) : store(i);
    }
}

Status Machine::load(const Instruction& i) {
    const std::uint64_t address = registers_[i.source] + extended(i.offset);
    execution_.was_misaligned |= address % access_bytes(i) != 0;
    const auto value = memory_.load(address, access_bytes(i));
    if (!value)
        return value.errors();
    return set(i.destination, mode_of(i) == kModeMemSigned ? sign_extended(*value, access_bytes(i)) : *value);
}

Status Machine::store(const Instruction& i) {
    const auto value = class_of(i) == kClassSt ? extended(i.immediate) : registers_[i.source];
    const std::uint64_t address = registers_[i.destination] + extended(i.offset);
    execution_.was_misaligned |= address % access_bytes(i) != 0;
    return memory_.store(address, access_bytes(i), value);
}

Status Machine::atomic(const Instruction& i) {
    const auto bytes = access_bytes(i);
    auto place = memory_.atomic(registers_[i.destination] + extended(i.offset), bytes);
    if (!place)
        return place.errors();
    tell({0, {}, 0, {}, place->data()});
    std::uint64_t old = 0;
    std::memcpy(&old, place->data(), bytes);
    const std::uint64_t mask = bytes == 8 ? UINT64_MAX : UINT32_MAX;
    const bool compares = i.immediate == kCompareExchange;
    if (!compares || old == (registers_[0] & mask)) {
        const std::uint64_t fresh = atomic_result(i.immediate, old, registers_[i.source], bytes);
        std::memcpy(place->data(), &fresh, bytes);
    }
    if (compares)
        return set(0, old);
    return (i.immediate & kFetch) != 0 ? set(i.source, old) : ok();
}

Status Machine::load_immediate64(const Instruction& i) {
    const Instruction& second = program_[next_++];
    if (i.source == kPseudoMap)
        return set(i.destination, kMapHandle + static_cast<std::uint32_t>(i.immediate));
    if (i.source == kPseudoMapValue) {
        const auto address = value_address(static_cast<std::uint32_t>(i.immediate), second.immediate);
        return address ? set(i.destination, *address) : Status(address.errors());
    }
    return set(i.destination, (std::uint64_t{static_cast<std::uint32_t>(second.immediate)} << 32) |
                                  static_cast<std::uint32_t>(i.immediate));
}

Status Machine::jump(const Instruction& i) {
    if (i.opcode == kExit) {
        leave();
        return ok();
    }
    if (i.opcode == kCall)
        return i.source == kPseudoCall ? enter(i) : call(static_cast<std::uint32_t>(i.immediate));
    const auto operand = uses_register(i) ? registers_[i.source] : extended(i.immediate);
    if (is_goto(i) || is_taken(i, registers_[i.destination], operand))
        next_ = static_cast<std::size_t>(static_cast<std::int64_t>(next_) + jump_distance(i));
    return ok();
}

Status Machine::enter(const Instruction& call) {
    if (callers_.size() == kDepthLimit)
        return fault(fmt::format("more than {} functions call one another", kDepthLimit));
    Frame& frame = frames_[callers_.size()];
    if (frame.stack == nullptr) {
        frame.stack = std::make_unique<std::array<std::byte, kStackBytes>>();
        frame.stack_address = memory_.add("the stack", *frame.stack);
    }
    frame.stack->fill(std::byte{0});
    Caller caller{next_, {}};
    std::copy_n(registers_.begin() + 6, caller.saved.size(), caller.saved.begin());
    callers_.push_back(caller);
    registers_[kFramePointer] = frame.stack_address + kStackBytes;
    // Of the first frame: from before instruction 0 to instruction 0.
    next_ = callers_.size() == 1 ? 0 : static_cast<std::size_t>(static_cast<std::int64_t>(next_) + call.immediate);
    return ok();
}

void Machine::leave() {
    const Caller caller = callers_.back();
    callers_.pop_back();
    done_ = callers_.empty();
    if (done_)
        return;
    next_ = caller.next;
    std::ranges::copy(caller.saved, registers_.begin() + 6);
    registers_[kFramePointer] = frames_[callers_.size() - 1].stack_address + kStackBytes;
}

Result<std::uint64_t> interpret(const Object& object, std::span<const Instruction> program, Execution& execution) {
    if (auto status = check_encoding(program); !status)
        return status.errors();
    return Machine(object, program, execution).run();
}

}  // namespace egpu::ebpf
