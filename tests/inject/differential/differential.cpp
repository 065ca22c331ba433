// SPDX-License-Identifier: Apache-2.0
#include "differential.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "../../ebpf/verifier/random_program.hpp"
#include "../simulated_device.hpp"
#include "ebpf/helpers/helpers.hpp"
#include "ebpf/interpreter/interpreter.hpp"
#include "ebpf/recheck/recheck.hpp"
#include "ebpf/verifier/verifier.hpp"
#include "inject/standalone/opaque.hpp"
#include "maps/layout/ring_buffer.hpp"
#include "maps/storage/storage.hpp"
#include "site.hpp"

namespace egpu::inject::testing {

using namespace ebpf;

namespace {

constexpr std::uint32_t kHashMap = 1, kRing = 3, kHashEntries = 64;
constexpr std::size_t kTailInstructions = 7;  ///< what random_instructions ends with: r0 = 0, six times, and exit

/// Clocks and random numbers differ from engine to engine: numbers stand in their place.
void replace_what_differs(std::vector<Instruction>& program) {
    for (auto& i : program) {
        if (i.opcode != kCall || i.source != 0)
            continue;
        const auto id = static_cast<HelperId>(i.immediate);
        if (id == HelperId::clock || id == HelperId::time_ns || id == HelperId::ktime_get_ns ||
            id == HelperId::ktime_get_coarse_ns || id == HelperId::get_prandom_u32)
            i = {.opcode = kClassAlu64 | kMov, .immediate = i.immediate};
    }
}

/// Before the end: r6, r7, r8 (those of bits 0 to 2 of `mask`) to an element of the array, where they can be seen; with
/// bit 3, r6 mixed with the words of the stack; with bit 4, words of the stack to the ring; with bit 5, r6 and r7
/// printed.
std::vector<Instruction> with_epilogue(std::vector<Instruction> program, std::uint32_t mask) {
    std::string text;
    for (std::uint32_t word = 1; word <= 4 && (mask & 8) != 0; ++word)
        text += fmt::format("ldxdw %r1, [%r10-{}]\nmul %r6, 31\nxor %r6, %r1\n", word * 8);
    if ((mask & 16) != 0)
        text +=
            fmt::format("mov %r2, %r10\nadd %r2, -32\nmov %r3, {}\nmov %r4, 0\nlddw %r1, {}\ncall 130\nadd %r6, %r0\n",
                        8 + mask % 25, kRing);
    if ((mask & 32) != 0)
        text += fmt::format("mov %r3, %r6\nmov %r4, %r7\nmov %r2, {}\nlddw %r1, 0x{:08x}{:08x}\ncall 6\n",
                            test::kRandomTextBytes, test::kRandomText, Object::kConstantsMap);
    text += "stdw [%r10-8], 3\nmov %r2, %r10\nadd %r2, -8\nlddw %r1, 0\ncall 1\njeq %r0, 0, out\n";
    for (std::uint32_t i = 0; i < 3; ++i)
        if ((mask >> i & 1) != 0)
            text += fmt::format("stxdw [%r0+{}], %r{}\n", 40 + i * 8, 6 + i);
    auto epilogue = *assemble(text + "out:\nexit\n");
    epilogue.pop_back();
    for (auto& i : epilogue)
        if (i.opcode == kLoadImmediate64)
            i.source = i.immediate == static_cast<std::int32_t>(Object::kConstantsMap) ? kPseudoMapValue : kPseudoMap;
    program.insert(program.end() - kTailInstructions, epilogue.begin(), epilogue.end());
    return program;
}

/// And its maps with keys that are known only at run time are marked.
bool is_accepted(Object& object) {
    VerifierOptions options;
    options.walk_limit = 20'000;
    const auto verified = verify(object, object.programs.front(), options);
    if (verified)
        for (const std::uint32_t map : verified->searched_maps)
            object.maps[map].keys_at_run_time = true;
    return verified.has_value();
}

/// The program of `bytes`, if the verifier takes it, with as many registers made visible as it takes.
bool make_program(Object& object, std::span<const std::uint8_t> bytes, std::uint32_t visible) {
    Program& program = object.programs.front();
    std::vector<std::uint8_t> from(bytes.begin(), bytes.end());
    from.insert(from.begin(), 0);  // from templates
    auto plain = ebpf::test::random_instructions(from);
    replace_what_differs(plain);
    for (std::uint32_t mask : {visible & 63, visible & 47, visible & 15, visible & 7, visible & 3, visible & 1}) {
        if ((mask & 7) == 0)
            continue;
        program.instructions = with_epilogue(plain, mask);
        if (is_accepted(object))
            return true;
    }
    program.instructions = std::move(plain);
    return is_accepted(object);
}

/// Slots of keys: an array's index, a hash's in order of first use.
struct Slots {
    const Object* object = nullptr;
    std::map<std::vector<std::byte>, std::uint32_t> of_hash;

    std::optional<std::uint32_t> operator()(std::uint32_t map, std::span<const std::byte> key) {
        if (object->maps[map].is_array()) {
            std::uint32_t index = 0;
            std::memcpy(&index, key.data(), sizeof index);
            return index < object->maps[map].max_entries ? std::optional(index) : std::nullopt;
        }
        const auto slot = static_cast<std::uint32_t>(of_hash.size());
        return of_hash.try_emplace({key.begin(), key.end()}, slot).first->second;
    }
};

/// Elements that may be kept in registers, as rewrite chooses them.
std::vector<Accumulator> accumulators_of(const SpecializedProgram& program) {
    std::vector<Accumulator> chosen;
    for (const auto& use : program.accumulators) {
        const auto blocks = [&](const MapAccess& access) { return stands_in_the_way(access, use.element); };
        const auto is_same = [&](const Accumulator& other) { return other.is_sum_of(use.element); };
        if (chosen.size() < 4 && std::ranges::none_of(program.accesses, blocks) &&
            std::ranges::none_of(chosen, is_same))
            chosen.push_back({{{use.element, 1}}, fmt::format("%egpu_acc{}", chosen.size()), false});
    }
    return chosen;
}

/// Whether a look-up that makes no entry finds one depends on what other threads did before: on their order.
bool looks_for_entries(const Object& object, const SpecializedProgram& program) {
    for (std::size_t at = 0; at < program.instructions.size(); ++at) {
        const Helper* const called = called_helper(program.instructions[at]);
        const auto& arguments = program.facts[at].arguments;  // none where nothing comes to
        const bool looks = called != nullptr && called->id == HelperId::map_lookup_elem && !arguments.empty();
        if (looks && object.maps[arguments[0].map].keys_at_run_time)
            return true;
    }
    return false;
}

/// What is left by all firings.
struct Left {
    std::vector<ReferenceMap> maps;
    std::vector<std::vector<std::byte>> records;  ///< in the order of their bytes
};

std::vector<std::byte> element_of(const SimulatedDevice& device, std::uint32_t map, std::uint32_t slot) {
    const maps::Layout& layout = device.layout(map);
    std::vector<std::byte> bytes(layout.value_bytes);
    if (!device.read(map, layout.device_offset_of(slot, 0), bytes.data(), bytes.size()))
        bytes.clear();
    return bytes;
}

std::string hexadecimal(const std::vector<std::byte>& bytes) {
    std::string text;
    for (const std::byte byte : bytes)
        text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
    return text;
}

/// The entries of a table that the GPU filled.
ReferenceMap entries_of(const MapDefinition& definition, std::uint32_t map, const SimulatedDevice& device) {
    const maps::HashTable table = maps::hash_table_of(definition);
    ReferenceMap entries;
    for (std::uint32_t slot = 0; slot < table.entries; ++slot) {
        const auto bytes = element_of(device, map, slot);
        if (bytes.empty() || bytes[0] != std::byte{1})
            break;
        const auto key = bytes.begin() + table.key_offset(), value = bytes.begin() + table.value_offset();
        entries.emplace(std::vector<std::byte>(key, key + definition.key_bytes),
                        std::vector<std::byte>(value, value + definition.value_bytes));
    }
    return entries;
}

/// What threads sent, in the order of its bytes: the engines let them come in another one.
std::vector<std::vector<std::byte>> records_of(const MapDefinition& definition, std::uint32_t map,
                                               const SimulatedDevice& device) {
    const maps::RingBuffer ring = maps::ring_buffer_of(definition);
    std::vector<std::byte> bytes(ring.header_offset() + maps::RingBuffer::kHeaderBytes);
    std::vector<std::vector<std::byte>> records;
    if (!device.read(map, 0, bytes.data(), bytes.size()))
        return records;
    const auto number = [&](std::uint64_t at) {
        std::uint32_t value = 0;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        return value;
    };
    for (std::uint32_t chunk = 0; chunk < maps::RingBuffer::kChunks; ++chunk) {
        const std::uint64_t word = ring.header_offset() + maps::RingBuffer::kWordsOffset + chunk * 8;
        const std::uint32_t end = std::min(number(word), ring.chunk_bytes());
        if (end != number(word + 4))
            records.push_back({});  // given out and never written: it will be found to differ
        for (std::uint32_t at = 0; at < end;) {
            const std::uint64_t place = std::uint64_t{chunk} * ring.chunk_bytes() + at;
            const std::uint32_t payload = number(place) & ~maps::RingBuffer::kFiller;
            const auto* begin = bytes.data() + place + maps::RingBuffer::kRecordHeaderBytes;
            if (payload == number(place))
                records.emplace_back(begin, begin + payload);
            at += maps::RingBuffer::record_bytes(payload);
        }
    }
    std::ranges::sort(records);
    return records;
}

std::string different_records(const std::vector<std::vector<std::byte>>& sent,
                              const std::vector<std::vector<std::byte>>& wanted) {
    std::string text = fmt::format("{} records sent on the GPU, {} by the interpreter\n", sent.size(), wanted.size());
    for (std::size_t i = 0; i < std::max(sent.size(), wanted.size()); ++i) {
        const auto of = [&](const auto& records) { return i < records.size() ? hexadecimal(records[i]) : "-"; };
        if (of(sent) != of(wanted))
            return text + fmt::format("  interpreter {}\n  PTX         {}\n", of(wanted), of(sent));
    }
    return text;
}

/// "" or the first element that differs.
std::string difference(const Object& object, const Left& left, const Slots& slots, const SimulatedDevice& device) {
    const std::vector<ReferenceMap>& expected = left.maps;
    if (const auto sent = records_of(object.maps[kRing], kRing, device); sent != left.records)
        return different_records(sent, left.records);
    for (std::uint32_t map = 0; map < object.maps.size(); ++map) {
        const auto& definition = object.maps[map];
        const auto check = [&](const std::vector<std::byte>& key, std::uint32_t slot) -> std::string {
            std::vector<std::byte> wanted(definition.value_bytes);
            if (const auto found = expected[map].find(key); found != expected[map].end())
                wanted = found->second;
            wanted.resize(definition.value_bytes);
            const auto got = element_of(device, map, slot);
            return got == wanted ? std::string()
                                 : fmt::format("map {}, key {}:\n  interpreter {}\n  PTX         {}\n", definition.name,
                                               hexadecimal(key), hexadecimal(wanted), hexadecimal(got));
        };
        if (definition.is_ring())
            continue;
        if (definition.keys_at_run_time) {
            const auto made = entries_of(definition, map, device);
            if (made != expected[map])
                return fmt::format(
                    "map {}, {} entries made on the GPU, {} by the interpreter, or their values differ\n",
                    definition.name, made.size(), expected[map].size());
            continue;
        }
        if (definition.is_array()) {
            for (std::uint32_t index = 0; index < definition.max_entries; ++index) {
                std::vector<std::byte> key(4);
                std::memcpy(key.data(), &index, 4);
                if (auto wrong = check(key, index); !wrong.empty())
                    return wrong;
            }
            continue;
        }
        for (const auto& [key, slot] : slots.of_hash)
            if (auto wrong = check(key, slot); !wrong.empty())
                return wrong;
        for (const auto& [key, value] : expected[map])
            if (!slots.of_hash.contains(key) &&
                std::ranges::any_of(value, [](std::byte byte) { return byte != std::byte{0}; }))
                return fmt::format("map {}, key {}: PTX has no such entry\n", definition.name, hexadecimal(key));
    }
    return {};
}

/// What the program leaves if all its firings come one after the other; nothing where the reference engine faults,
/// which soundness_test and the verifier's fuzzer are for.
std::optional<Left> interpreted(const Object& object, const DifferentialSite& site, bool all_fire) {
    Left left;
    left.maps.resize(object.maps.size());
    for (std::uint32_t thread = 0; thread < site.threads(); ++thread) {
        const std::uint32_t mask = all_fire ? site.warp_mask(thread) : 1u << thread % 32;
        const bool leads = site.granularity != Granularity::warp || (mask & ((1u << thread % 32) - 1)) == 0;
        if ((!all_fire && thread != site.chosen) || !leads)
            continue;
        Execution execution;
        execution.context = site.context_of(thread, mask);
        execution.maps = &left.maps;
        execution.value.resize(16);
        std::memcpy(execution.value.data(), site.value.data(), 16);
        execution.arguments = site.arguments(all_fire);
        execution.step_limit = 20'000;
        if (!interpret(object, object.programs.front().instructions, execution))
            return std::nullopt;
        for (auto& record : execution.records)
            left.records.push_back(std::move(record.bytes));
    }
    std::ranges::sort(left.records);
    return left;
}

std::string listing(const Program& program) {
    std::string text;
    for (std::size_t at = 0; at < program.instructions.size(); ++at) {
        const bool wide = program.instructions[at].opcode == kLoadImmediate64;
        text += fmt::format("{}: {}\n", at,
                            to_text(program.instructions[at], wide ? &program.instructions[at + 1] : nullptr));
        at += wide ? 1 : 0;
    }
    return text;
}

enum class Form { specialized, unspecialized, hidden };
constexpr const char* kFormNames[] = {"specialised", "unspecialised", "constants hidden"};

bool is_zero(const std::vector<ReferenceMap>& maps) {
    for (const auto& map : maps)
        for (const auto& [key, value] : map)
            if (std::ranges::any_of(value, [](std::byte byte) { return byte != std::byte{0}; }))
                return false;
    return true;
}

/// One form of the program against what the reference engine says of it.
class Trial {
public:
    Trial(const Object& object, const DifferentialSite& site, DifferentialStatistics& statistics)
        : object_(object), site_(site), statistics_(statistics) {
        for (const auto& map : object.maps)
            layouts_.push_back(maps::layout_of(map, 1));
    }

    std::optional<std::string> run(Form form) {
        Slots slots{&object_, {}};
        const auto constants = form == Form::unspecialized ? SiteConstants{} : site_.constants();
        const auto program =
            specialize(object_, object_.programs.front(), constants,
                       [&](std::uint32_t map, std::span<const std::byte> key) { return slots(map, key); });
        if (!program)
            return refused(form, program.error());
        // With hidden constants it isn't what the verifier accepted.
        if (const auto checked = form == Form::hidden ? ok() : recheck(*program, constants); !checked)
            return fmt::format("{}, checked again: {}\n{}", kFormNames[static_cast<int>(form)],
                               to_text(checked.error()), listing(object_.programs.front()));
        for (const bool all_fire : {false, true}) {
            const bool commutes = std::ranges::all_of(program->accesses, &MapAccess::is_commuting_add) &&
                                  !looks_for_entries(object_, *program);
            if (all_fire && !commutes)
                break;
            for (const bool in_registers : {false, true})
                if (auto wrong = compare(form, *program, slots, all_fire, in_registers))
                    return wrong;
        }
        return std::nullopt;
    }

private:
    std::optional<std::string> refused(Form form, const Diagnostic& diagnostic) {
        ++statistics_.refused[fmt::format("{}, {}", kFormNames[static_cast<int>(form)], diagnostic.code)];
        return std::nullopt;
    }

    std::optional<std::string> compare(Form form, const SpecializedProgram& program, const Slots& slots, bool all_fire,
                                       bool in_registers) {
        Table table;
        FunctionContext function;
        function.target = function.required = {site_.sm, 7, 8};
        function.table = &table;
        function.layouts = &layouts_;
        if (in_registers)
            function.accumulators = accumulators_of(program);
        if (in_registers && function.accumulators.empty())
            return std::nullopt;
        const auto probe = emit_probe(program, site_.binding(), 0, function);
        if (!probe)
            return refused(form, probe.error());
        const std::string start = emit_accumulator_start(function);
        const std::string flush = emit_accumulator_flush(function, false);
        const std::string ptx = site_.module(function, start, probe->text, flush);
        const auto expected = interpreted(object_, site_, all_fire);
        if (!expected)
            return std::nullopt;
        SimulatedDevice device(layouts_);
        std::string wrong =
            device.launch(ptx, "differential", table.entries(), {1, 1, 1}, site_.block, site_.parameters(all_fire));
        if (wrong.empty())
            wrong = difference(object_, *expected, slots, device);
        statistics_.effects += is_zero(expected->maps) ? 0 : 1;
        statistics_.sent += expected->records.empty() ? 0 : 1;
        const bool searched = std::ranges::any_of(object_.maps, &MapDefinition::keys_at_run_time);
        statistics_.searched += searched ? 1 : 0;
        count(form, all_fire, in_registers);
        if (wrong.empty())
            return std::nullopt;
        return fmt::format("{}, {} of {} threads, sums in registers: {}\n{}\n{}\n{}",
                           kFormNames[static_cast<int>(form)],
                           all_fire ? "all" : fmt::format("thread {}", site_.chosen), site_.threads(), in_registers,
                           wrong, listing(object_.programs.front()), ptx);
    }

    void count(Form form, bool all_fire, bool in_registers) {
        ++statistics_.compared;
        statistics_.of_many_lanes += all_fire ? 1 : 0;
        statistics_.unspecialized += form == Form::unspecialized ? 1 : 0;
        statistics_.hidden += form == Form::hidden ? 1 : 0;
        statistics_.accumulators += in_registers ? 1 : 0;
    }

    const Object& object_;
    const DifferentialSite& site_;
    DifferentialStatistics& statistics_;
    std::vector<maps::Layout> layouts_;
};

}  // namespace

std::string DifferentialStatistics::text() const {
    std::string out = fmt::format(
        "{} programs, {} accepted, {} runs compared: {} leave something, {} of many lanes, {} unspecialised, {} with "
        "hidden constants, {} with sums in registers, {} with keys known at run time, {} with records sent\n",
        programs, accepted, compared, effects, of_many_lanes, unspecialized, hidden, accumulators, searched, sent);
    for (const auto& [what, count] : refused)
        out += fmt::format("  {} refuses {}\n", what, count);
    return out;
}

std::optional<std::string> disagreement(std::span<const std::uint8_t> bytes, DifferentialStatistics& statistics) {
    if (bytes.size() <= DifferentialSite::kChoiceBytes)
        return std::nullopt;
    ++statistics.programs;
    const DifferentialSite site(bytes.first(DifferentialSite::kChoiceBytes));
    Object object = ebpf::test::random_object();
    object.maps[kHashMap].max_entries = kHashEntries;
    object.programs.front().point.granularity = site.granularity;
    if (!make_program(object, bytes.subspan(DifferentialSite::kChoiceBytes), bytes[0]))
        return std::nullopt;
    ++statistics.accepted;
    for (const Form form : {Form::specialized, Form::unspecialized})
        if (auto wrong = Trial(object, site, statistics).run(form))
            return wrong;
    object.programs.front().instructions = with_hidden_constants(object.programs.front().instructions);
    return Trial(object, site, statistics).run(Form::hidden);
}

}  // namespace egpu::inject::testing
