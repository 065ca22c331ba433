// SPDX-License-Identifier: Apache-2.0
#include "random_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "ebpf/helpers/helpers.hpp"
#include "ebpf/interpreter/interpreter.hpp"
#include "ebpf/verifier/verifier.hpp"

namespace egpu::ebpf::test {
namespace {

/// Choices read from bytes; 0 at their end.
class Choices {
public:
    explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
    bool done() const { return next_ >= bytes_.size(); }
    unsigned byte() { return done() ? 0 : bytes_[next_++]; }
    unsigned below(unsigned limit) { return byte() % limit; }
    /// Often one of those that survive calls.
    std::uint8_t a_register() {
        const unsigned choice = byte();
        return static_cast<std::uint8_t>(choice >= 128 ? 6 + choice % 3 : choice % 10);
    }

private:
    std::span<const std::uint8_t> bytes_;
    std::size_t next_ = 0;
};

Instruction make(unsigned opcode, unsigned destination, unsigned source, int offset, std::int32_t immediate) {
    Instruction i;
    i.opcode = static_cast<std::uint8_t>(opcode);
    i.destination = static_cast<std::uint8_t>(destination) & 15;
    i.source = static_cast<std::uint8_t>(source) & 15;
    i.offset = static_cast<std::int16_t>(offset);
    i.immediate = immediate;
    return i;
}

std::int32_t small_number(Choices& choices) {
    constexpr std::array<std::int32_t, 16> kNumbers{0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, -1, -8, 0x7fffffff};
    return kNumbers[choices.below(16)];
}

void put_arithmetic(Choices& choices, std::vector<Instruction>& out) {
    constexpr std::array<std::uint8_t, 12> kCodes{kAdd, kSub, kMul, kDiv, kOr,  kAnd,
                                                  kLsh, kRsh, kMod, kXor, kMov, kArsh};
    const std::uint8_t code = kCodes[choices.below(kCodes.size())];
    const unsigned form = choices.byte();
    const unsigned opcode = code | (form & 1 ? kClassAlu64 : kClassAlu);
    const bool is_signed = (form & 16) != 0 && (code == kDiv || code == kMod);
    if (form & 8) {
        const std::array<unsigned, 3> kOthers{kClassAlu64 | kNeg, kClassAlu | kEnd, kClassAlu64 | kEnd};
        const unsigned which = choices.below(3);
        out.push_back(make(kOthers[which], choices.a_register(), 0, 0, which == 0 ? 0 : 16 << choices.below(3)));
        return;
    }
    if (form & 2) {
        const int extend = code == kMov && (form & 32) ? (form & 64 ? 8 : 16) : is_signed ? 1 : 0;
        out.push_back(make(opcode | kSourceRegister, choices.a_register(), choices.below(11), extend, 0));
    } else {
        const bool shifts = code == kLsh || code == kRsh || code == kArsh;
        const std::int32_t number =
            shifts ? static_cast<std::int32_t>(choices.below(form & 1 ? 64 : 32)) : small_number(choices);
        out.push_back(make(opcode, choices.a_register(), 0, is_signed ? 1 : 0, number));
    }
}

void put_branch(Choices& choices, std::vector<Instruction>& out) {
    constexpr std::array<std::uint8_t, 11> kCodes{kJeq,  kJne,  kJgt,  kJge,  kJlt, kJle,
                                                  kJsgt, kJsge, kJslt, kJsle, kJset};
    const unsigned form = choices.byte();
    const unsigned opcode = kCodes[choices.below(kCodes.size())] | (form & 1 ? kClassJmp : kClassJmp32);
    const int distance =
        form & 4 && (form & 8) ? -static_cast<int>(choices.below(8)) - 1 : static_cast<int>(choices.below(6));
    if (form & 2)
        out.push_back(make(opcode | kSourceRegister, choices.a_register(), choices.a_register(), distance, 0));
    else
        out.push_back(make(opcode, choices.a_register(), 0, distance, small_number(choices)));
}

void put_memory(Choices& choices, std::vector<Instruction>& out) {
    const unsigned form = choices.byte();
    const unsigned size = choices.below(4) << 3;
    const unsigned base = form & 1 ? kFramePointer : choices.a_register();
    const int offset = form & 1 ? -static_cast<int>(choices.below(40)) : static_cast<int>(choices.below(72)) - 4;
    const unsigned other = choices.a_register();
    switch ((form >> 1) % 5) {
        case 0:
            out.push_back(make(kClassLdx | kModeMem | size, other, base, offset, 0));
            break;
        case 1:
            out.push_back(make(kClassStx | kModeMem | size, base, other, offset, 0));
            break;
        case 2:
            out.push_back(make(kClassSt | kModeMem | size, base, 0, offset, small_number(choices)));
            break;
        case 3: {
            constexpr std::array<std::int32_t, 6> kAtomics{kAdd,          kAdd | kFetch, kOr,
                                                           kXor | kFetch, kExchange,     kCompareExchange};
            out.push_back(make(kClassStx | kModeAtomic | (size & 8 ? 0x18u : 0u), base, other, offset,
                               kAtomics[choices.below(kAtomics.size())]));
            break;
        }
        default:
            out.push_back(make(kClassLdx | kModeMemSigned | (size == 0x18 ? 0u : size), other, base, offset, 0));
    }
}

void put_map(std::vector<Instruction>& out, unsigned destination, std::int32_t map) {
    out.push_back(make(kLoadImmediate64, destination, kPseudoMap, 0, map));
    out.push_back({});
}

/// A lookup by a key on the stack, then a test for NULL that jumps over what follows.
void put_lookup(Choices& choices, std::vector<Instruction>& out) {
    const unsigned map = choices.below(3);
    if (map == 1 && (choices.byte() & 3) == 0)  // of the hash, a key that may be known only at run time
        out.push_back(make(kClassStx | kModeMem | 0x18, kFramePointer, 6 + choices.below(3), -8, 0));
    else
        out.push_back(make(kClassSt | kModeMem | 0x18, kFramePointer, 0, -8, small_number(choices)));
    out.push_back(make(kClassAlu64 | kMov | kSourceRegister, 2, kFramePointer, 0, 0));
    out.push_back(make(kClassAlu64 | kAdd, 2, 0, 0, -8));
    put_map(out, 1, static_cast<std::int32_t>(map));
    out.push_back(
        make(kCall, 0, 0, 0, choices.byte() & 3 ? static_cast<std::int32_t>(HelperId::map_lookup_or_init) : 1));
    out.push_back(make(kClassJmp | kJeq, 0, 0, static_cast<int>(choices.below(5)), 0));
}

/// A value of a map, read or written at an index out of a field that is bounded in some way; jumped over where the
/// lookup gives NULL.
void put_index(Choices& choices, std::vector<Instruction>& out) {
    put_lookup(choices, out);
    out.back() = make(kClassJmp | kJeq, 0, 0, 0, 0);
    const std::size_t test = out.size() - 1;
    const unsigned index = 1 + choices.below(5);
    const unsigned form = choices.byte();
    out.push_back(make(kClassLdx | kModeMem, index, 9, 24, 0));
    if (form & 1)
        put_arithmetic(choices, out);
    if (form & 2)
        out.push_back(make((form & 4 ? kClassAlu64 : kClassAlu) | kAnd, index, 0, 0, small_number(choices)));
    const std::size_t bound = out.size();
    if ((form & 2) == 0)
        out.push_back(make((form & 4 ? kClassJmp : kClassJmp32) | kJgt, index, 0, 0, small_number(choices)));
    if (form & 8)
        out.push_back(make(kClassAlu64 | kLsh, index, 0, 0, static_cast<std::int32_t>(choices.below(4))));
    out.push_back(make(kClassAlu64 | kAdd | kSourceRegister, 0, index, 0, 0));
    const unsigned size = choices.below(4) << 3;
    const int offset = static_cast<int>(choices.below(68)) & (form & 16 ? -8 : -1);
    if (form & 64) {
        out.push_back(make(kClassAlu64 | kMov | kSourceRegister, 1, 0, 0, 0));
        out.push_back(make(kClassAlu64 | kAdd, 1, 0, 0, offset));
        out.push_back(make(kClassAlu64 | kMov | kSourceRegister, 2, index == 1 ? 9 : index, 0, 0));
        out.push_back(make(kClassAlu64 | kMov, 3, 0, 0, size & 8 ? 4 : 8));
        out.push_back(make(kCall, 0, 0, 0, static_cast<std::int32_t>(size & 16 ? HelperId::min : HelperId::max)));
    } else if (form & 32)
        out.push_back(make(kClassLdx | kModeMem | size, 6 + choices.below(3), 0, offset, 0));
    else
        out.push_back(make(kClassSt | kModeMem | size, 0, 0, offset, 1));
    out[test].offset = static_cast<std::int16_t>(out.size() - test - 1);
    if ((form & 2) == 0)
        out[bound].offset = static_cast<std::int16_t>(out.size() - bound - 1);
    out.push_back(make(kClassAlu64 | kMov, 0, 0, 0, 0));
    for (unsigned i = 1; i < 6; ++i)
        out.push_back(make(kClassAlu64 | kMov, i, 0, 0, static_cast<std::int32_t>(i)));
}

/// What most programs are for: a lookup, and an addition to a word of the value.
void put_count(Choices& choices, std::vector<Instruction>& out) {
    put_lookup(choices, out);
    out.back() = make(kClassJmp | kJeq, 0, 0, 0, 0);
    const std::size_t test = out.size() - 1;
    const unsigned form = choices.byte();
    const unsigned number = form & 1 ? 6 + choices.below(3) : 1;
    if ((form & 1) == 0)
        out.push_back(make(kClassAlu64 | kMov, 1, 0, 0, small_number(choices)));
    const bool wide = (form & 6) != 0;
    const int offset = static_cast<int>(choices.below(4)) * 8 + ((form & 8) != 0 && !wide ? 4 : 0);
    if ((form & 0x30) == 0x30) {
        // The smallest or the largest so far; what the word held goes into r6.
        out.push_back(make(kClassAlu64 | kMov | kSourceRegister, 2, number, 0, 0));
        out.push_back(make(kClassAlu64 | kMov | kSourceRegister, 1, 0, 0, 0));
        out.push_back(make(kClassAlu64 | kAdd, 1, 0, 0, offset));
        out.push_back(make(kClassAlu64 | kMov, 3, 0, 0, wide ? 8 : 4));
        out.push_back(make(kCall, 0, 0, 0, static_cast<std::int32_t>(form & 0x40 ? HelperId::min : HelperId::max)));
        if (form & 0x80)
            out.push_back(make(kClassAlu64 | kMov | kSourceRegister, 6, 0, 0, 0));
    } else {
        out.push_back(make(kClassStx | kModeAtomic | (wide ? 0x18u : 0u), 0, number, offset, kAdd));
    }
    out[test].offset = static_cast<std::int16_t>(out.size() - test - 1);
    out.push_back(make(kClassAlu64 | kMov, 0, 0, 0, 0));
    for (unsigned i = 1; i < 6; ++i)
        out.push_back(make(kClassAlu64 | kMov, i, 0, 0, static_cast<std::int32_t>(i)));
}

/// A field of the context, or a part of one, as clang narrows loads.
void put_field(Choices& choices, std::vector<Instruction>& out) {
    const auto fields = context_fields();
    const ContextField& field = fields[choices.below(static_cast<unsigned>(fields.size()))];
    const unsigned form = choices.byte();
    const unsigned bytes = form & 1 ? field.bytes : std::min(1u << (form >> 1 & 3), field.bytes);
    const unsigned size = bytes == 8 ? 0x18 : bytes == 4 ? 0 : bytes == 2 ? 0x08 : 0x10;
    const unsigned mode = (form & 8) != 0 && bytes < 8 ? kModeMemSigned : kModeMem;
    const unsigned part = form & 1 ? 0 : choices.below(field.bytes / bytes) * bytes;
    out.push_back(make(kClassLdx | mode | size, form & 16 ? 6 + choices.below(3) : choices.below(9), 9,
                       static_cast<int>(field.offset + part), 0));
}

void put_other(Choices& choices, std::vector<Instruction>& out) {
    switch (choices.below(6)) {
        case 0: {
            out.push_back(make(kLoadImmediate64, choices.a_register(), kPseudoMapValue, 0,
                               static_cast<std::int32_t>(Object::kConstantsMap)));
            Instruction second;
            second.immediate = static_cast<std::int32_t>(choices.below(20));
            out.push_back(second);
            break;
        }
        case 1: {
            constexpr HelperId kNumbers[] = {HelperId::clock, HelperId::get_prandom_u32, HelperId::lanes_sum,
                                             HelperId::lanes_min};
            out.push_back(make(kCall, 0, 0, 0, static_cast<std::int32_t>(kNumbers[choices.below(4)])));
            break;
        }
        case 2:
            out.push_back(make(kClassAlu64 | kMov | kSourceRegister, 1, 9, 0, 0));
            break;
        case 3:
            out.push_back(make(kClassAlu64 | kMov | kSourceRegister, 1, 9, 0, 0));
            out.push_back(make(kClassAlu64 | kMov | kSourceRegister, 2, kFramePointer, 0, 0));
            out.push_back(make(kClassAlu64 | kAdd, 2, 0, 0, -8 * static_cast<std::int32_t>(1 + choices.below(4))));
            out.push_back(make(kClassAlu64 | kMov, 3, 0, 0, static_cast<std::int32_t>(1 + choices.below(17))));
            out.push_back(make(kCall, 0, 0, 0, static_cast<std::int32_t>(HelperId::value)));
            break;
        case 4:
            out.push_back(make(kCall, 0, kPseudoCall, 0, static_cast<std::int32_t>(choices.below(24))));
            break;
        default:
            out.push_back(make(kExit, 0, 0, 0, 0));
    }
}

std::vector<Instruction> from_templates(std::span<const std::uint8_t> bytes) {
    Choices choices(bytes);
    std::vector<Instruction> out;
    out.push_back(make(kClassAlu64 | kMov | kSourceRegister, 9, 1, 0, 0));
    for (unsigned i = 0; i < 9; ++i)
        if (i != 1)
            out.push_back(make(kClassAlu64 | kMov, i, 0, 0, static_cast<std::int32_t>(i)));
    // Numbers that nobody knows before the program runs, and a stack with something in it.
    if (const unsigned start = choices.byte(); start & 1) {
        constexpr std::array<int, 4> kUnknown{104, 120, 36, 76};  // address, latency, lane, thread.x
        for (unsigned i = 0; i < 3; ++i) {
            const int field = kUnknown[(start >> (1 + 2 * i)) & 3];
            out.push_back(make(kClassLdx | kModeMem | (field >= 104 ? 0x18u : 0u), 6 + i, 9, field, 0));
        }
        for (unsigned word = 1; word <= 4; ++word)
            out.push_back(make(kClassStx | kModeMem | 0x18u, kFramePointer, 5 + word - (word == 4),
                               -8 * static_cast<int>(word), 0));
    }
    while (!choices.done() && out.size() < 400) {
        switch (choices.below(14)) {
            case 11:
                put_count(choices, out);
                break;
            case 12:
            case 13:
                put_field(choices, out);
                break;
            case 0:
            case 1:
            case 2:
                put_arithmetic(choices, out);
                break;
            case 3:
            case 4:
                put_branch(choices, out);
                break;
            case 5:
            case 6:
                put_memory(choices, out);
                break;
            case 7:
                put_lookup(choices, out);
                break;
            case 8:
            case 9:
                put_index(choices, out);
                break;
            default:
                put_other(choices, out);
        }
    }
    for (int i = 0; i < 6; ++i)
        out.push_back(make(kClassAlu64 | kMov, 0, 0, 0, 0));
    out.push_back(make(kExit, 0, 0, 0, 0));
    return out;
}

std::vector<std::byte> context_of(std::uint64_t seed) {
    std::vector<std::byte> context(context_bytes(ContextKind::mem));
    const auto number = [&seed] {
        seed = (seed ^ (seed >> 29)) * 0xbf58476d1ce4e5b9u + 0x9e3779b97f4a7c15u;
        switch (seed >> 61) {
            case 0:
                return std::uint64_t{0};
            case 1:
                return ~std::uint64_t{0};
            case 2:
                return (seed >> 20) % 64;
            default:
                return seed;
        }
    };
    for (const ContextField& field : context_fields()) {
        if (!field.in_mem_context)  // it lies where others of this context do
            continue;
        std::uint64_t value = number();
        // The bounds that rules/context.cpp relies on.
        const std::array<std::pair<std::string_view, std::uint64_t>, 7> kLargest{{{"lane", 31},
                                                                                  {"active_lanes", 32},
                                                                                  {"space", 4},
                                                                                  {"access", 2},
                                                                                  {"bytes_per_lane", 144},
                                                                                  {"bytes", 4608},
                                                                                  {"sectors", 64}}};
        for (const auto& [name, largest] : kLargest)
            if (field.name == name)
                value %= largest + 1;
        std::memcpy(context.data() + field.offset, &value, field.bytes);
    }
    return context;
}

}  // namespace

Object random_object() {
    Object object;
    object.path = "random";
    const auto add = [&](const char* name, MapType type, std::uint32_t value_bytes) {
        MapDefinition map;
        map.name = name;
        map.type = type;
        map.key_bytes = type == MapType::hash ? 8 : 4;
        map.value_bytes = value_bytes;
        map.max_entries = 4;
        object.maps.push_back(std::move(map));
    };
    add("array", MapType::array, 64);
    add("hash", MapType::hash, 40);
    add("parts", MapType::percpu_array, 32);
    for (int i = 0; i < 16; ++i)
        object.constants.push_back(static_cast<std::byte>(i * 7));
    MapDefinition ring;
    ring.name = "ring";
    ring.type = MapType::ringbuf;
    ring.max_entries = 16384;
    object.print_map = static_cast<std::uint32_t>(object.maps.size());
    object.maps.push_back(std::move(ring));
    for (const char letter : std::string_view("%lx %d\0", kRandomTextBytes))
        object.constants.push_back(static_cast<std::byte>(letter));
    Program program;
    program.name = "random";
    program.section = "gpu/load_return.global";
    program.point.event = Event::load_return;
    object.programs.push_back(std::move(program));
    return object;
}

std::vector<Instruction> random_instructions(std::span<const std::uint8_t> bytes) {
    if (bytes.empty())
        return {};
    if ((bytes[0] & 1) == 0)
        return from_templates(bytes.subspan(1));
    std::vector<Instruction> out((bytes.size() - 1) / sizeof(Instruction));
    if (!out.empty())
        std::memcpy(out.data(), bytes.data() + 1, out.size() * sizeof(Instruction));
    return out;
}

std::optional<std::string> run_if_accepted(const Object& object, const Program& program, bool& accepted) {
    VerifierOptions options;
    options.walk_limit = 20'000;
    const auto verified = verify(object, program, options);
    accepted = verified.has_value();
    if (!accepted)
        return std::nullopt;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        std::vector<ReferenceMap> maps(object.maps.size());
        Execution execution;
        execution.context = context_of(seed);
        execution.maps = &maps;
        execution.clock = seed * 1000;
        execution.value.assign(16, static_cast<std::byte>(seed * 37));
        execution.arguments = {1, 2, 3};
        execution.step_limit = 600;  // more than a firing may take: a loop that outlasts it is a fault, too
        const auto result = interpret(object, program.instructions, execution);
        if (result)
            continue;
        std::string text = to_text(result.error());
        for (std::size_t i = 0; i < program.instructions.size(); ++i) {
            const bool wide = program.instructions[i].opcode == kLoadImmediate64;
            text += fmt::format("{}: {}\n", i,
                                to_text(program.instructions[i], wide ? &program.instructions[i + 1] : nullptr));
            i += wide;
        }
        return text;
    }
    return std::nullopt;
}

}  // namespace egpu::ebpf::test
