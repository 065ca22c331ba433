// SPDX-License-Identifier: Apache-2.0
// Values as operands. What the specialiser knows is written where it is used; the rest is in 64-bit registers.
//
//   r1 known to be 4:                    add.s64 %egpu_r3, %egpu_r3, 4;
//   r0 known to be traffic[0] + 8:       ld.const.u64 %egpu_d0, [egpu_table];
//                                        ... [%egpu_d0+8]
#include "inject/codegen/emitter.hpp"

namespace egpu::inject {

using Kind = ebpf::specializer::Value::Kind;

std::string Emitter::reg(std::uint8_t number, std::uint32_t depth) {
    const bool of_frame = number >= 6 && depth > 0;
    return registers_.named(of_frame ? fmt::format("%egpu_r{}f{}", number, depth) : fmt::format("%egpu_r{}", number));
}

std::string Emitter::destination(std::uint32_t at) {
    return reg(program_.instructions[at].destination, program_.depths[at]);
}

std::string Emitter::operand64(std::uint32_t at, std::uint8_t number, const Value& value) {
    if (value.is_constant())
        return literal64(value.constant);
    return in_register(at, number, value);
}

std::string Emitter::operand32(std::uint32_t at, std::uint8_t number, const Value& value) {
    if (value.is_constant())
        return literal32(value.constant);
    const std::string narrow = registers_.b32();
    emit(fmt::format("cvt.u32.u64 {}, {}", narrow, in_register(at, number, value)));
    return narrow;
}

std::string Emitter::in_register(std::uint32_t at, std::uint8_t number, const Value& value) {
    return value.is_known() ? materialised(at, value) : reg(number, program_.depths[at]);
}

std::string Emitter::constant64(std::uint64_t number) {
    const std::string wide = registers_.b64();
    emit(fmt::format("mov.u64 {}, {}", wide, literal64(number)));
    return wide;
}

std::string Emitter::materialised(std::uint32_t at, const Value& value) {
    if (value.is_constant())
        return constant64(value.constant);
    const std::string wide = registers_.b64();
    if (value.is_static_element() && layout_of(at, value.map) != nullptr) {
        const std::string base = addresses_.base_of(value.map + map_base_, value.slot);
        emit(fmt::format("add.s64 {}, {}, {}", wide, base, value.offset));
        return wide;
    }
    // The address of a frame's bytes is only taken where the whole frame lies in the local array.
    const ebpf::StackSlot* slot =
        value.kind == Kind::stack ? slot_at(value.map, -ebpf::specializer::kFrameBytes, 1) : nullptr;
    if (slot != nullptr && slot->in_memory && slot->bytes == ebpf::specializer::kFrameBytes) {
        emit(fmt::format("mov.u64 {}, {}", wide, local_array()));
        emit(fmt::format("add.s64 {}, {}, {}", wide, wide, slot->position + value.offset - slot->offset));
        return wide;
    }
    refuse(at, "EGPU-P221", "an address of the context, the stack or a map is used as a number",
           "use the pointer only to access what it points to");
    return wide;
}

const maps::Layout* Emitter::layout_of(std::uint32_t at, std::uint32_t program_map) {
    const std::size_t map = std::size_t{program_map} + map_base_;
    if (program_map != ebpf::kAnyMap && function_.layouts != nullptr && map < function_.layouts->size())
        return &(*function_.layouts)[map];
    refuse(at, "EGPU-P222", "a map of the program has no place in the session", "report this as a defect of egpu");
    return nullptr;
}

std::string Emitter::local_array() {
    if (local_array_.empty())
        local_array_ = fmt::format("egpu_stack_{}", function_.next_label++);
    return local_array_;
}

void Emitter::effect_if(const std::string& condition, const std::string& text) {
    if (predicate_.empty()) {
        body_.add(fmt::format("@{} {}", condition, text));
        return;
    }
    // "@!%p1 " to "!%p1".
    const std::string firing = predicate_.substr(1, predicate_.size() - 2);
    const std::string both = registers_.predicate();
    if (firing.front() == '!') {
        body_.add(fmt::format("not.pred {}, {}", both, firing.substr(1)));
        body_.add(fmt::format("and.pred {}, {}, {}", both, both, condition));
    } else {
        body_.add(fmt::format("and.pred {}, {}, {}", both, firing, condition));
    }
    body_.add(fmt::format("@{} {}", both, text));
}

}  // namespace egpu::inject
