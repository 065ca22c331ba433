// SPDX-License-Identifier: Apache-2.0
// Loads and stores. Stack bytes that are always accessed whole are registers, zero-extended; the others lie in a local
// array. Map values are shared between all threads: accesses of one word, never torn, never cached away.
//
//   r1 = *(u32 *)(r0 + 4)       sm_70:  ld.relaxed.gpu.global.u32 %egpu_r1, [%egpu_d0+4];
//                               sm_60:  ld.volatile.global.u32 %egpu_r1, [%egpu_d0+4];
//   *(u64 *)(r10 - 8) = r1              mov.b64 %egpu_s0, %egpu_r1;
#include "inject/codegen/emitter.hpp"

namespace egpu::inject {

using namespace ebpf;

namespace {

/// "+8", "+-8": PTX has no minus between a register and its offset (PTX ISA 6.4.1).
std::string offset_text(std::int64_t offset) {
    return offset == 0 ? std::string() : fmt::format("+{}", offset);
}

}  // namespace

void Emitter::Place::at(std::string register_or_symbol, std::int64_t bytes) {
    base = std::move(register_or_symbol);
    offset = bytes;
    address = base + offset_text(offset);
}

const StackSlot* Emitter::slot_at(std::uint32_t depth, std::int64_t offset, std::uint32_t bytes) const {
    for (const auto& slot : program_.stack)
        if (slot.depth == depth && offset >= slot.offset && offset + bytes <= slot.offset + slot.bytes)
            return &slot;
    return nullptr;
}

Emitter::Place Emitter::stack_place(std::uint32_t at, std::uint32_t depth, std::int64_t offset, std::uint32_t bytes) {
    Place place;
    const StackSlot* slot = slot_at(depth, offset, bytes);
    if (slot == nullptr) {
        refuse(at, "EGPU-P222", "an access to the stack has no slot", "report this as a defect of egpu");
        return place;
    }
    if (!slot->in_memory) {
        place.kind = Place::Kind::slot;
        place.slot = registers_.named(fmt::format("%egpu_s{}", slot - program_.stack.data()));
        return place;
    }
    place.kind = Place::Kind::local;
    const std::int64_t position = slot->position + (offset - slot->offset);
    place.is_aligned = position % bytes == 0;
    if (!place.is_aligned && !function_.any_alignment)
        refuse(at, "EGPU-P223", fmt::format("an access of {} bytes to the stack is not aligned", bytes),
               "align the variable: misaligned accesses stop a GPU");
    place.at(local_array(), position);
    return place;
}

Emitter::Place Emitter::place_of(std::uint32_t at, const Value& base, std::uint8_t number, std::int64_t offset,
                                 std::uint32_t bytes) {
    Place place;
    if (base.kind == Value::Kind::stack && base.offset_known)
        return stack_place(at, base.map, base.offset + offset, bytes);
    if (base.kind == Value::Kind::stack) {
        place.kind = Place::Kind::local;
        place.at(reg(number, program_.depths[at]), offset);
        return place;
    }
    if (!base.is_static_element() || layout_of(at, base.map) == nullptr) {
        place.at(reg(number, program_.depths[at]), offset);
        return place;
    }
    const std::int64_t byte = base.offset + offset;
    if (byte < 0 || byte + bytes > layout_of(at, base.map)->value_bytes)
        refuse(at, "EGPU-P222", "an access outside a map's value reached the code generator",
               "report this as a defect of egpu");
    place.is_aligned = byte % bytes == 0;
    if (!place.is_aligned && !function_.any_alignment)
        refuse(at, "EGPU-P223", fmt::format("an access of {} bytes to a map's value is not aligned", bytes),
               "align the field: misaligned accesses stop a GPU");
    place.at(addresses_.base_of(base.map + map_base_, base.slot), byte);
    return place;
}

bool Emitter::goes_by_bytes(const Place& place, std::uint32_t bytes) const {
    return function_.any_alignment && bytes > 1 && !place.is_aligned && place.kind != Place::Kind::slot;
}

/// Byte by byte, where it must:
///     ld.local.u8 %d0, [a+3]; shl.b64 %d0, %d0, 8; ld.local.u8 %d1, [a+2]; or.b64 %d0, %d0, %d1; ...
void Emitter::read(std::uint32_t at, const Place& place, std::uint32_t bytes, bool is_signed, const std::string& to) {
    (void)at;
    if (!goes_by_bytes(place, bytes)) {
        read_word(place, bytes, is_signed, to);
        return;
    }
    const std::string sum = registers_.b64(), part = registers_.b64();
    for (std::uint32_t byte = bytes; byte-- > 0;) {
        Place one = place;
        one.at(place.base, place.offset + byte);
        const bool is_highest = byte + 1 == bytes;
        read_word(one, 1, is_signed && is_highest, is_highest ? sum : part);
        if (is_highest)
            continue;
        emit(fmt::format("shl.b64 {}, {}, 8", sum, sum));
        emit(fmt::format("or.b64 {}, {}, {}", sum, sum, part));
    }
    emit(fmt::format("mov.b64 {}, {}", to, sum));
}

void Emitter::read_word(const Place& place, std::uint32_t bytes, bool is_signed, const std::string& to) {
    const char sign = is_signed ? 's' : 'u';
    if (place.kind == Place::Kind::map) {
        const char* form = has_scoped_atomics() ? "ld.relaxed.gpu.global" : "ld.volatile.global";
        if (has_scoped_atomics())
            require_version(6, 0);
        effect(fmt::format("{}.{}{} {}, [{}]", form, sign, bytes * 8, to, place.address));
        return;
    }
    if (place.kind == Place::Kind::local) {
        emit(fmt::format("ld.local.{}{} {}, [{}]", sign, bytes * 8, to, place.address));
        return;
    }
    if (is_signed && bytes < 8) {
        emit(fmt::format("shl.b64 {}, {}, {}", to, place.slot, 64 - bytes * 8));
        emit(fmt::format("shr.s64 {}, {}, {}", to, to, 64 - bytes * 8));
    } else {
        emit(fmt::format("mov.b64 {}, {}", to, place.slot));
    }
}

void Emitter::write(std::uint32_t at, const Place& place, std::uint32_t bytes, const std::string& from) {
    (void)at;
    if (!goes_by_bytes(place, bytes)) {
        write_word(place, bytes, from);
        return;
    }
    const std::string rest = registers_.b64();
    emit(fmt::format("mov.b64 {}, {}", rest, from));
    for (std::uint32_t byte = 0; byte < bytes; ++byte) {
        Place one = place;
        one.at(place.base, place.offset + byte);
        write_word(one, 1, rest);
        emit(fmt::format("shr.u64 {}, {}, 8", rest, rest));
    }
}

void Emitter::write_word(const Place& place, std::uint32_t bytes, const std::string& from) {
    if (place.kind == Place::Kind::map) {
        const char* form = has_scoped_atomics() ? "st.relaxed.gpu.global" : "st.volatile.global";
        if (has_scoped_atomics())
            require_version(6, 0);
        effect(fmt::format("{}.u{} [{}], {}", form, bytes * 8, place.address, from));
    } else if (place.kind == Place::Kind::local) {
        emit(fmt::format("st.local.u{} [{}], {}", bytes * 8, place.address, from));
    } else if (bytes == 8) {
        emit(fmt::format("mov.b64 {}, {}", place.slot, from));
    } else {
        emit(fmt::format("and.b64 {}, {}, {}", place.slot, from, literal64((std::uint64_t{1} << (bytes * 8)) - 1)));
    }
}

void Emitter::load(std::uint32_t at) {
    const Instruction& i = program_.instructions[at];
    const InstructionFacts& facts = program_.facts[at];
    const std::string to = destination(at);
    const std::uint32_t bytes = access_bytes(i);
    const bool is_signed = mode_of(i) == kModeMemSigned;
    if (facts.field == nullptr) {
        read(at, place_of(at, facts.source_before, i.source, i.offset, bytes), bytes, is_signed, to);
        return;
    }
    const std::string whole = field(at, *facts.field);
    // A part of a field, as clang narrows loads: shift it up, then down.
    const std::uint32_t above = 64 - (facts.field_byte + bytes) * 8;
    const std::uint32_t down = 64 - bytes * 8;
    if (facts.field_byte == 0 && bytes == facts.field->bytes && !(is_signed && bytes < 8)) {
        emit(fmt::format("mov.b64 {}, {}", to, whole));
        return;
    }
    emit(fmt::format("shl.b64 {}, {}, {}", to, whole, above));
    emit(fmt::format("shr.{}64 {}, {}, {}", is_signed ? 's' : 'u', to, to, down));
}

void Emitter::store(std::uint32_t at) {
    const Instruction& i = program_.instructions[at];
    const InstructionFacts& facts = program_.facts[at];
    const bool of_immediate = class_of(i) == kClassSt;
    const Value value = of_immediate ? Value::of(static_cast<std::uint64_t>(static_cast<std::int64_t>(i.immediate)))
                                     : facts.source_before;
    const std::string from = in_register(at, i.source, value);
    const Place place = place_of(at, facts.destination_before, i.destination, i.offset, access_bytes(i));
    write(at, place, access_bytes(i), from);
}

}  // namespace egpu::inject
