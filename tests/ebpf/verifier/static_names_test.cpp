// SPDX-License-Identifier: Apache-2.0
// What the verifier calls static is: at one site, a lookup that isn't in Verification::dynamic_lookups names one
// element of one map at each visit of each firing; an addition in Verification::register_adds adds to one place. Random
// programs with loops, branches and calls, run on contexts that differ in all but the fields of the site.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>

#include "ebpf/events/events.hpp"
#include "ebpf/events/known.hpp"
#include "ebpf/helpers/helpers.hpp"
#include "ebpf/interpreter/interpreter.hpp"
#include "ebpf/isa/instruction.hpp"
#include "ebpf/verifier/verifier.hpp"

namespace egpu::ebpf::test {
namespace {

/// Text of a program. r6 and r7 hold numbers out of which keys are made, r8 counts rounds, r9 is the context.
class Writer {
public:
    explicit Writer(std::uint32_t seed) : random_(seed) {}

    std::string program() {
        calls_ = below(3) == 0;
        text_ = "mov %r9, %r1\n";
        field(6);
        field(7);
        text_ += "stw [%r10-8], 1\nstw [%r10-4], 2\nmov %r8, 0\nnext:\n";
        block(6);
        text_ += fmt::format("add %r8, 1\njlt %r8, {}, next\n", 1 + below(3));
        block(3);
        text_ += "mov %r0, 0\nexit\n";
        if (calls_) {
            text_ += "f:\nmov %r6, %r1\nmov %r7, %r2\nmov %r8, 0\nstw [%r10-8], 3\nstw [%r10-4], 0\n";
            in_function_ = true;
            block(3);
            text_ += "mov %r0, 0\nexit\n";
        }
        return text_;
    }

private:
    unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
    unsigned number_register() { return 6 + below(2); }

    void field(unsigned to) {
        constexpr unsigned kOffsets[]{0, 4, 88, 92, 96, 36, 24};  // five of the site, then lane and warp
        text_ += fmt::format("ldxw %r{}, [%r9+{}]\nand %r{}, 3\n", to, kOffsets[below(7)], to);
    }

    void block(unsigned steps) {
        for (unsigned i = 0; i < steps; ++i)
            step();
    }

    void step() {
        switch (below(9)) {
            case 0:
                text_ += fmt::format("mov %r{}, %r{}\n", number_register(), number_register());
                break;
            case 1:
                text_ += fmt::format("add %r{0}, {1}\nand %r{0}, 3\n", number_register(), below(3));
                break;
            case 2:
                text_ += fmt::format("mov %r{}, {}\n", number_register(), below(4));
                break;
            case 3:
                text_ += fmt::format("stxw [%r10-{}], %r{}\n", below(2) ? 4 : 8, number_register());
                break;
            case 4:
                branch();
                break;
            case 5:
                if (calls_ && !in_function_)
                    text_ += "mov %r1, %r6\nmov %r2, %r7\ncall local f\n";
                else
                    place_of_index();
                break;
            default:
                lookup();
        }
    }

    /// Over the next steps: by the clock (a bit of its own each), the lane or the site.
    void branch() {
        const std::string label = fmt::format("over{}", labels_++);
        const unsigned how = below(3);
        if (how == 0 || in_function_)
            text_ += fmt::format("call egpu_clock\njset %r0, {}, {}\n", 1u << below(16), label);
        else
            text_ += fmt::format("ldxw %r1, [%r9+{}]\njset %r1, 1, {}\n", how == 1 ? 36 : 92, label);
        step();
        if (below(2))
            step();
        text_ += label + ":\n";
    }

    /// A variable at an index.
    void place_of_index() {
        text_ += fmt::format(
            "mov %r1, %r{}\nand %r1, 1\nlsh %r1, 2\nmov %r2, %r10\nadd %r2, -8\nadd %r2, %r1\n"
            "ldxw %r{}, [%r2+0]\n",
            number_register(), number_register());
    }

    void lookup() {
        const unsigned map = below(2);
        switch (below(3)) {
            case 0:
                text_ += fmt::format("stxw [%r10-4], %r{}\nmov %r2, %r10\nadd %r2, -4\n", number_register());
                break;
            case 1:
                text_ +=
                    fmt::format("mov %r1, %r{}\nand %r1, 1\nlsh %r1, 2\nmov %r2, %r10\nadd %r2, -8\nadd %r2, %r1\n",
                                number_register());
                break;
            default:
                text_ += fmt::format("mov %r1, %r{}\nand %r1, 3\nlsh %r1, 2\nlddw %r2, 0x{:x}00000000\nadd %r2, %r1\n",
                                     number_register(), kConstants);
        }
        const unsigned label = labels_++;
        text_ +=
            fmt::format("lddw %r1, 0x{:x}00000000\ncall bpf_map_lookup_elem\njeq %r0, 0, null{}\n", kMaps + map, label);
        if (below(2))
            text_ += fmt::format("mov %r1, %r{}\nand %r1, 1\nlsh %r1, 3\nadd %r0, %r1\n", number_register());
        text_ += fmt::format("mov %r1, 1\nlock add [%r0+0], %r1\nnull{}:\n", label);
    }

public:
    static constexpr std::uint32_t kMaps = 0x6d617000, kConstants = 0x636f6e00;

private:
    std::mt19937 random_;
    std::string text_;
    unsigned labels_ = 0;
    bool calls_ = false, in_function_ = false;
};

std::string with_numbers(std::string text) {
    for (const Helper& each : helpers()) {
        const std::string call = "call " + std::string(each.name) + "\n";
        for (auto at = text.find(call); at != std::string::npos; at = text.find(call))
            text.replace(at, call.size(), fmt::format("call {:#x}\n", static_cast<std::uint32_t>(each.id)));
    }
    return text;
}

void put_addresses(std::vector<Instruction>& program) {
    for (std::size_t i = 0; i + 1 < program.size(); ++i) {
        if (program[i].opcode != kLoadImmediate64)
            continue;
        const auto mark = static_cast<std::uint32_t>(program[i + 1].immediate);
        const bool constants = mark == Writer::kConstants;
        program[i].source = constants ? kPseudoMapValue : kPseudoMap;
        program[i].immediate = constants ? static_cast<std::int32_t>(Object::kConstantsMap)
                                         : static_cast<std::int32_t>(mark - Writer::kMaps);
        program[i + 1].immediate = 0;
    }
}

Object object_of(const std::string& text) {
    Object object;
    for (const char* name : {"first", "second"}) {
        MapDefinition map;
        map.name = name;
        map.type = MapType::array;
        map.key_bytes = 4;
        map.value_bytes = 16;
        map.max_entries = 4;
        object.maps.push_back(std::move(map));
    }
    for (const int number : {2, 0, 1, 2}) {
        object.constants.push_back(static_cast<std::byte>(number));
        object.constants.resize(object.constants.size() + 3);
    }
    Program program;
    program.name = "random";
    program.section = "gpu/mem";
    program.point.event = Event::mem;
    auto assembled = assemble(with_numbers(text));
    EXPECT_TRUE(assembled) << (assembled ? text : to_text(assembled.error()) + text);
    program.instructions = std::move(*assembled);
    put_addresses(program.instructions);
    object.programs.push_back(std::move(program));
    return object;
}

/// Fields of the site from one seed, all others from another.
std::vector<std::byte> context_of(const InjectionPoint& point, std::uint32_t site, std::uint32_t firing) {
    std::mt19937 of_site(site), of_firing(firing);
    std::vector<std::byte> context(context_bytes(ContextKind::mem));
    for (const ContextField& field : context_fields()) {
        if (!field.in_mem_context)
            continue;
        std::uint64_t value = variability_at(field, point) == Variability::site ? of_site() % 3 : of_firing() % 32;
        std::memcpy(context.data() + field.offset, &value, field.bytes);
    }
    return context;
}

using Place = std::vector<std::size_t>;
using Element = std::tuple<std::uint32_t, std::vector<std::byte>, std::size_t>;  // map, key, byte of the value

class Observed {
public:
    explicit Observed(const Verification& verified) : verified_(verified) {
        for (const auto& [at, map] : verified.dynamic_lookups)
            dynamic_.insert(at);
    }
    void see(const NamedElement& named, const std::vector<ReferenceMap>& maps) {
        const bool is_lookup = named.bytes == nullptr;
        const auto at = static_cast<std::uint32_t>(named.at);
        if (is_lookup ? dynamic_.contains(at) : !verified_.register_adds.contains(at))
            return;
        Place place = named.returns;
        place.push_back(named.at);
        const Element element = is_lookup ? Element{named.map, named.key, 0} : element_of(named.bytes, maps);
        const auto [first, fresh] = seen_.emplace(place, element);
        if (!fresh && first->second != element)
            problem = fmt::format("instruction {} names two elements", named.at);
        ++visits;
    }
    std::string problem;
    int visits = 0;

private:
    static Element element_of(const std::byte* bytes, const std::vector<ReferenceMap>& maps) {
        for (std::uint32_t map = 0; map < maps.size(); ++map)
            for (const auto& [key, value] : maps[map])
                if (bytes >= value.data() && bytes < value.data() + value.size())
                    return {map, key, static_cast<std::size_t>(bytes - value.data())};
        return {};
    }

    const Verification& verified_;
    std::set<std::uint32_t> dynamic_;
    std::map<Place, Element> seen_;
};

TEST(StaticNames, HoldAtEachVisit) {
    int accepted = 0, visits = 0;
    for (std::uint32_t seed = 1; seed <= 4000; ++seed) {
        const std::string text = Writer(seed).program();
        const Object object = object_of(text);
        const Program& program = object.programs.front();
        const auto verified = verify(object, program);
        if (!verified)
            continue;
        ++accepted;
        for (std::uint32_t site = 1; site <= 3; ++site) {
            Observed observed(*verified);
            for (std::uint32_t firing = 1; firing <= 12; ++firing) {
                std::vector<ReferenceMap> maps(object.maps.size());
                Execution execution;
                execution.context = context_of(program.point, site, firing);
                execution.maps = &maps;
                execution.clock = std::mt19937(firing)();
                execution.on_name = [&](const NamedElement& named) { observed.see(named, maps); };
                const auto result = interpret(object, program.instructions, execution);
                ASSERT_TRUE(result) << to_text(result.error()) << text;
            }
            ASSERT_EQ(observed.problem, "") << "seed " << seed << ", site " << site << '\n' << text;
            visits += observed.visits;
        }
    }
    EXPECT_GE(accepted, 2000) << "too few programs are accepted to show anything";
    EXPECT_GE(visits, 100'000) << "too few static names are passed to show anything";
}

}  // namespace
}  // namespace egpu::ebpf::test
