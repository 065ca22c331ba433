// SPDX-License-Identifier: Apache-2.0
// Helper calls. Lookups with static keys are gone by now: what is left is an array's element at an index known at run
// time, tested against the array's size, or a search (hash.cpp).
//
//   r0 = bpf_map_lookup_elem(&array, &index)     setp.lt.u64 %egpu_p0, %egpu_d1, 64;
//                                                mad.lo.s64 %egpu_d2, %egpu_d1, 16, %egpu_d0;
//                                                selp.b64 %egpu_r0, %egpu_d2, 0, %egpu_p0;
//   ... several chunks (element_at)              shr, and, mad, mad
//   r0 = egpu_clock()                            mov.u64 %egpu_r0, %clock64;
#include <bit>

#include "ebpf/helpers/helpers.hpp"
#include "ebpf/helpers/random.hpp"
#include "inject/codegen/emitter.hpp"

namespace egpu::inject {

using namespace ebpf;
using ebpf::specializer::kFrameBytes;

void Emitter::call(std::uint32_t at) {
    const std::string result = reg(0, program_.depths[at]);
    switch (static_cast<HelperId>(program_.instructions[at].immediate)) {
        case HelperId::map_lookup_elem:
        case HelperId::map_lookup_or_init:
            lookup(at, result);
            break;
        case HelperId::map_update_elem:
            update(at, result);
            break;
        case HelperId::value:
            copy_value(at, result);
            break;
        case HelperId::argument:
            argument(at, result);
            break;
        case HelperId::clock:
            emit(fmt::format("mov.u64 {}, %clock64", result));
            break;
        case HelperId::min:
        case HelperId::max:
            extreme(at, static_cast<HelperId>(program_.instructions[at].immediate) == HelperId::min, result);
            break;
        case HelperId::lanes_sum:
        case HelperId::lanes_min:
        case HelperId::lanes_max:
            over_lanes(at, result);
            break;
        case HelperId::ringbuf_output:
            send(at, result);
            break;
        case HelperId::trace_printk:
        case HelperId::trace_vprintk:
            print(at, result);
            break;
        case HelperId::get_prandom_u32:
            random(result);
            break;
        case HelperId::bpftime_timer:
        case HelperId::ktime_get_ns:
        case HelperId::ktime_get_coarse_ns:
        case HelperId::time_ns:
            emit(fmt::format("mov.u64 {}, %globaltimer", result));
            break;
        case HelperId::get_smp_processor_id:
            emit(fmt::format("mov.b64 {}, {}", result, special32("%smid")));
            break;
        case HelperId::bpftime_barrier:
            effect("membar.sys");
            break;
        case HelperId::bpftime_warp_slot:
            emit(fmt::format("mov.b64 {}, {}", result, special32("%warpid")));
            break;
        case HelperId::bpftime_block_index:
        case HelperId::bpftime_block_size:
        case HelperId::bpftime_thread_index:
        case HelperId::bpftime_grid_size:
        case HelperId::bpftime_sm:
        case HelperId::bpftime_lane:
            fields(at, result);
            break;
    }
}

/// Fields as a result, or written to variables, which hold 64 bits each.
void Emitter::fields(std::uint32_t at, const std::string& result) {
    const InstructionFacts& facts = program_.facts[at];
    const auto names = bpftime_fields(static_cast<HelperId>(program_.instructions[at].immediate));
    for (std::size_t index = 0; index < names.size(); ++index) {
        const ContextField* known = field_named(ContextKind::kernel, names[index]);
        const std::string value = known == nullptr ? constant64(0) : field(at, *known);
        if (names.size() == 1)
            emit(fmt::format("mov.b64 {}, {}", result, value));
        else
            write(at, stack_place(at, facts.arguments[index].map, facts.arguments[index].offset, 8), 8, value);
    }
    if (names.size() > 1 && facts.result_needed)
        emit(fmt::format("mov.u64 {}, 0", result));
}

/// random_number() of the clock and of where the thread runs: the hardware's numbers of SM and warp, since no two
/// threads that run at one time share them.
void Emitter::random(const std::string& result) {
    const std::string stream = registers_.b32(), warp = registers_.b32(), lane = registers_.b32();
    const std::string mixed = registers_.b64(), wide = registers_.b64(), shifted = registers_.b64();
    emit(fmt::format("mov.u64 {}, %clock64", mixed));
    emit(fmt::format("mov.u32 {}, %smid", stream));
    emit(fmt::format("mov.u32 {}, %warpid", warp));
    emit(fmt::format("mov.u32 {}, %laneid", lane));
    emit(fmt::format("mad.lo.s32 {}, {}, {}, {}", stream, stream, kRandomWarps, warp));
    emit(fmt::format("mad.lo.s32 {}, {}, {}, {}", stream, stream, kRandomLanes, lane));
    emit(fmt::format("cvt.u64.u32 {}, {}", wide, stream));
    emit(fmt::format("mad.lo.s64 {}, {}, {}, {}", mixed, wide, literal64(kRandomStep), mixed));
    for (const auto& [shift, factor] : {std::pair{30, kRandomFirst}, std::pair{27, kRandomSecond}}) {
        emit(fmt::format("shr.u64 {}, {}, {}", shifted, mixed, shift));
        emit(fmt::format("xor.b64 {}, {}, {}", mixed, mixed, shifted));
        emit(fmt::format("mul.lo.s64 {}, {}, {}", mixed, mixed, literal64(factor)));
    }
    emit(fmt::format("shr.u64 {}, {}, 32", result, mixed));
}

/// base + index * stride; where a map has several chunks
///     shr.u64 %chunk, %index, 6;  and.b64 %in_chunk, %index, 63;
///     mad.lo.s64 %address, %chunk, <chunk distance>, %base;  mad.lo.s64 %address, %in_chunk, <stride>, %address;
std::string Emitter::element_at(const maps::Layout& layout, const std::string& index, const std::string& base) {
    const std::string address = registers_.b64();
    if (layout.chunks() <= 1) {
        emit(fmt::format("mad.lo.s64 {}, {}, {}, {}", address, index, layout.stride, base));
        return address;
    }
    const std::uint32_t slots = layout.chunk_slots();
    const std::string chunk = registers_.b64(), in_chunk = registers_.b64();
    emit(fmt::format("shr.u64 {}, {}, {}", chunk, index, std::countr_zero(slots)));
    emit(fmt::format("and.b64 {}, {}, {}", in_chunk, index, slots - 1));
    emit(fmt::format("mad.lo.s64 {}, {}, {}, {}", address, chunk, layout.chunk_distance(), base));
    emit(fmt::format("mad.lo.s64 {}, {}, {}, {}", address, in_chunk, layout.stride, address));
    return address;
}

/// Address of an array's element at the index that the key holds; `in_bounds` becomes its test.
std::string Emitter::array_address(std::uint32_t at, std::uint32_t map, const std::string& in_bounds) {
    const InstructionFacts& facts = program_.facts[at];
    const maps::Layout* layout = layout_of(at, map);
    const std::string index = registers_.b64();
    if (layout == nullptr)
        return index;
    const Value& key = facts.arguments[1];
    read(at, stack_place(at, key.map, key.offset, 4), 4, false, index);
    emit(fmt::format("setp.lt.u64 {}, {}, {}", in_bounds, index, layout->capacity));
    return element_at(*layout, index, addresses_.base_of(map + map_base_, 0));
}

void Emitter::lookup(std::uint32_t at, const std::string& result) {
    if (program_.searches(at)) {
        const auto id = static_cast<HelperId>(program_.instructions[at].immediate);
        search(at, program_.facts[at].arguments[0].map, id == HelperId::map_lookup_or_init, false, result);
        return;
    }
    const std::string in_bounds = registers_.predicate();
    const std::string address = array_address(at, program_.facts[at].arguments[0].map, in_bounds);
    emit(fmt::format("selp.b64 {}, {}, 0, {}", result, address, in_bounds));
}

std::uint32_t chunk_at(std::uint32_t done, std::uint32_t total, std::int64_t source_alignment) {
    std::uint32_t chunk = 8;
    while (done % chunk != 0 || chunk > total - done || (source_alignment + done) % chunk != 0)
        chunk /= 2;
    return chunk;
}

/// Bytes of the stack or the constants to an element's address, in the lanes where `condition` ("": all) holds.
void Emitter::copy_to_map(std::uint32_t at, const Value& source, std::uint32_t bytes, const std::string& base,
                          const std::string& condition) {
    const bool from_constants = source.kind == Value::Kind::constant_data;
    for (std::uint32_t done = 0; done < bytes;) {
        const std::uint32_t chunk = chunk_at(done, bytes, from_constants ? 0 : source.offset + kFrameBytes);
        const std::string word = registers_.b64();
        if (from_constants)
            emit(fmt::format("mov.u64 {}, {}", word, literal64(constant_bytes(source.offset + done, chunk))));
        else
            read(at, stack_place(at, source.map, source.offset + done, chunk), chunk, false, word);
        const char* form = has_scoped_atomics() ? "st.relaxed.gpu.global" : "st.volatile.global";
        const std::string text = fmt::format("{}.u{} [{}+{}], {}", form, chunk * 8, base, done, word);
        if (condition.empty())
            effect(text);
        else
            effect_if(condition, text);
        done += chunk;
    }
}

/// bpf_map_update_elem on an array: the value is copied word by word. Concurrent readers may see a part of it, as on
/// Linux.
void Emitter::update(std::uint32_t at, const std::string& result) {
    if (program_.searches(at))
        return update_entry(at, result);
    constexpr std::int64_t kTooBig = -7;  // E2BIG
    const InstructionFacts& facts = program_.facts[at];
    const std::uint32_t map = facts.arguments[0].map;
    const maps::Layout* layout = layout_of(at, map);
    if (layout == nullptr)
        return;
    std::string in_bounds;
    std::string base;
    if (facts.memory) {
        base = addresses_.base_of(map + map_base_, facts.memory->slot);
    } else {
        in_bounds = registers_.predicate();
        base = array_address(at, map, in_bounds);
    }
    copy_to_map(at, facts.arguments[2], layout->value_bytes, base, in_bounds);
    if (facts.result_needed && in_bounds.empty())
        emit(fmt::format("mov.u64 {}, 0", result));
    else if (facts.result_needed)
        emit(fmt::format("selp.b64 {}, 0, {}, {}", result, kTooBig, in_bounds));
}

std::uint64_t Emitter::constant_bytes(std::int64_t offset, std::uint32_t bytes) const {
    std::uint64_t number = 0;
    for (std::uint32_t byte = 0; byte < bytes; ++byte)
        number |= std::to_integer<std::uint64_t>(program_.object->constants[static_cast<std::size_t>(offset) + byte])
                  << (byte * 8);
    return number;
}

namespace {

/// Bytes of the types that a memory instruction moves (PTX ISA 5.2.1); 0 for those that fit no 64-bit word.
std::uint32_t moved_bytes(std::string_view type) {
    static const std::map<std::string_view, std::uint32_t> kBytes = {
        {"b8", 1},    {"u8", 1},     {"s8", 1},  {"b16", 2}, {"u16", 2}, {"s16", 2},
        {"f16", 2},   {"bf16", 2},   {"b32", 4}, {"u32", 4}, {"s32", 4}, {"f32", 4},
        {"f16x2", 4}, {"bf16x2", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8},
    };
    const auto found = kBytes.find(type);
    return found == kBytes.end() ? 0 : found->second;
}

bool is_number(const std::string& operand) {
    return !operand.empty() && ((operand[0] >= '0' && operand[0] <= '9') || operand[0] == '-');
}

}  // namespace

/// One moved register's bits in a 64-bit register, zero-extended. Registers may be wider than what moves, or floating.
std::string Emitter::moved_value(std::size_t index, std::uint32_t bytes) {
    const std::string& from = site_.values[index];
    const std::string wide = registers_.b64();
    if (bytes == 8) {
        emit(fmt::format("mov.b64 {}, {}", wide, from));
    } else if (bytes == 4 && site_.value_register_bits != 64) {
        const std::string narrow = registers_.b32();
        emit(fmt::format("mov.b32 {}, {}", narrow, from));
        emit(fmt::format("cvt.u64.u32 {}, {}", wide, narrow));
    } else if (is_number(from)) {
        emit(fmt::format("mov.u64 {}, {}", wide, from));
        emit(fmt::format("and.b64 {}, {}, {}", wide, wide, (std::uint64_t{1} << (bytes * 8)) - 1));
    } else {
        emit(fmt::format("cvt.u64.u{} {}, {}", bytes * 8, wide, from));
    }
    return wide;
}

/// egpu_value: the moved registers' bytes, in memory order; bytes asked for beyond them are zero.
void Emitter::copy_value(std::uint32_t at, const std::string& result) {
    constexpr std::int64_t kInvalid = -22;  // EINVAL
    const InstructionFacts& facts = program_.facts[at];
    const std::uint32_t bytes = moved_bytes(site_.value_type);
    if (site_.values.empty() || bytes == 0) {
        if (facts.result && *facts.result == 0)
            refuse(at, "EGPU-P226",
                   fmt::format("the program reads its value ({}), which can't be read",
                               site_.value_type.empty() ? "of no known type" : "type " + site_.value_type),
                   "name the opcodes that the program is for in its section");
        else if (facts.result_needed)
            emit(fmt::format("mov.u64 {}, {}", result, kInvalid));
        return;
    }
    const Value& to = facts.arguments[1];
    const auto size = static_cast<std::uint32_t>(facts.arguments[2].constant);
    std::array<std::string, 2> words;
    for (std::uint32_t word = 0; word * 8 < size; ++word)
        words[word] = moved_word(at, word, bytes, size);
    for (std::uint32_t done = 0; done < size;) {
        const bool whole = slot_at(to.map, to.offset, size) != nullptr && !slot_at(to.map, to.offset, size)->in_memory;
        const std::uint32_t chunk = whole ? size : chunk_at(done, size, to.offset + kFrameBytes);
        std::string from = words[done / 8];
        if (done % 8 != 0) {
            from = registers_.b64();
            emit(fmt::format("shr.u64 {}, {}, {}", from, words[done / 8], done % 8 * 8));
        }
        write(at, stack_place(at, to.map, to.offset + done, chunk), chunk, from);
        done += chunk;
    }
    if (facts.result_needed)
        emit(fmt::format("mov.u64 {}, 0", result));
}

/// Bytes 8 * word to 8 * word + 7 of what the instruction moves, for elements of `bytes`; those from `size` on don't
/// matter.
std::string Emitter::moved_word(std::uint32_t at, std::uint32_t word, std::uint32_t bytes, std::uint32_t size) {
    const std::uint32_t elements = 8 / bytes;
    std::string sum;
    for (std::uint32_t element = 0; element < elements; ++element) {
        const std::size_t index = std::size_t{word} * elements + element;
        if (index >= site_.values.size() || index * bytes >= size)
            break;
        if (site_.values[index] == "_")
            refuse(at, "EGPU-P226", "a part of the value is discarded by the instruction (its destination is _)",
                   "ask for fewer bytes, or name the opcodes that the program is for in its section");
        const std::string part = moved_value(index, bytes);
        if (element != 0)
            emit(fmt::format("shl.b64 {}, {}, {}", part, part, element * bytes * 8));
        if (!sum.empty())
            emit(fmt::format("or.b64 {}, {}, {}", part, part, sum));
        sum = part;
    }
    return sum.empty() ? constant64(0) : sum;
}

void Emitter::argument(std::uint32_t at, const std::string& result) {
    const std::uint64_t index = program_.facts[at].arguments[1].constant;
    if (site_.in_device_function) {
        refuse(at, "EGPU-P227", "egpu_arg in a device function, which has no kernel parameters",
               "read the argument at kernel_entry and keep it in a map");
        return;
    }
    if (index >= site_.arguments.size() || site_.arguments[index].bytes == 0 || site_.arguments[index].bytes > 8) {
        refuse(at, "EGPU-P227",
               index >= site_.arguments.size()
                   ? fmt::format("egpu_arg({}): the kernel has {} parameters", index, site_.arguments.size())
                   : fmt::format("egpu_arg({}): the parameter has {} bytes, at most 8 can be read", index,
                                 site_.arguments[index].bytes),
               "choose another parameter, or name the kernels that the program is for in its section");
        return;
    }
    const auto& parameter = site_.arguments[index];
    const std::uint32_t bytes = parameter.bytes;
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) {
        refuse(at, "EGPU-P227", fmt::format("egpu_arg({}): a parameter of {} bytes can't be read", index, bytes),
               "choose a parameter of 1, 2, 4 or 8 bytes");
        return;
    }
    emit(fmt::format("ld.param.u{} {}, [{}]", bytes * 8, result, parameter.name));
}

}  // namespace egpu::inject
