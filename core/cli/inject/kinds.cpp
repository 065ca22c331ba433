// SPDX-License-Identifier: Apache-2.0
#include "cli/inject/kinds.hpp"

#include <array>

#include <fmt/format.h>

#include "ebpf/verifier/verifier.hpp"

namespace egpu::cli {
namespace {

constexpr std::array<const char*, 4> kGranularities{"gpu", "gpu.warp", "gpu.block", "gpu.grid"};
constexpr std::array kSpaces{ebpf::Space::global, ebpf::Space::shared, ebpf::Space::local, ebpf::Space::constant,
                             ebpf::Space::generic};

/// Events of the grammar, in its order; `instruction` is the last.
std::vector<ebpf::Event> all_events() {
    std::vector<ebpf::Event> events;
    for (int event = 0; event <= static_cast<int>(ebpf::Event::instruction); ++event)
        events.push_back(static_cast<ebpf::Event>(event));
    return events;
}

/// `gpu.warp/load`, `gpu/instruction/*`
std::string section_of(const char* granularity, ebpf::Event event, const char* space) {
    return fmt::format("{}/{}{}{}{}", granularity, ebpf::to_name(event), space == nullptr ? "" : ".",
                       space == nullptr ? "" : space, event == ebpf::Event::instruction ? "/*" : "");
}

void add_kinds(const char* granularity, ebpf::Event event, std::vector<Kind>& kinds) {
    const std::string section = section_of(granularity, event, nullptr);
    const auto point = ebpf::parse_section(section);
    if (!point)
        return;  // this version doesn't offer it
    kinds.push_back({section, {*point}});
    Kind spaces{section_of(granularity, event, "SPACE"), {}};
    for (const auto space : kSpaces)
        if (const auto with_space = ebpf::parse_section(section_of(granularity, event, ebpf::to_name(space))))
            spaces.points.push_back(*with_space);
    if (!spaces.points.empty())
        kinds.push_back(std::move(spaces));
}

ebpf::Instruction load_map_address(std::uint8_t destination) {
    ebpf::Instruction load;
    load.opcode = ebpf::kLoadImmediate64;
    load.destination = destination & 0xf;
    load.source = ebpf::kPseudoMap;
    return load;  // immediate: map 0
}

Result<std::vector<ebpf::Instruction>> counting_code(std::size_t element) {
    const auto rest =
        ebpf::assemble(fmt::format("stw [%r10-4], {}\nmov %r2, %r10\nadd %r2, -4\ncall 1\njeq %r0, 0, out\nmov %r1, 1\n"
                                   "lock add [%r0], %r1\nout:\nmov %r0, 0\nexit\n",
                                   element));
    if (!rest)
        return rest.errors();
    std::vector<ebpf::Instruction> code{load_map_address(1), {}};
    code.insert(code.end(), rest->begin(), rest->end());
    return code;
}

using Code = Result<std::vector<ebpf::Instruction>> (*)(std::size_t element);

Result<KindPrograms> make_programs(const std::vector<Kind>& kinds, std::string_view verb, Code code_of) {
    KindPrograms made;
    made.object.path = fmt::format("programs that {}", verb);
    for (const Kind& kind : kinds) {
        auto& indices = made.programs.emplace_back();
        for (const auto& point : kind.points) {
            indices.push_back(made.object.programs.size());
            ebpf::Program program;
            program.name = fmt::format("{}_{}", verb, indices.back());
            program.section = ebpf::to_section(point);
            program.point = point;
            auto code = code_of(indices.back());
            if (!code)
                return code.errors();
            program.instructions = std::move(*code);
            made.object.programs.push_back(std::move(program));
        }
    }
    return made;
}

Result<KindPrograms> verified(KindPrograms made) {
    for (const auto& program : made.object.programs)
        if (const auto verification = ebpf::verify(made.object, program); !verification)
            return verification.errors();
    return made;
}

}  // namespace

std::vector<Kind> offered_kinds() {
    std::vector<Kind> kinds;
    for (const auto event : all_events())
        for (const char* granularity : kGranularities)
            add_kinds(granularity, event, kinds);
    return kinds;
}

Result<std::vector<Kind>> kinds_named(const std::string& name) {
    std::vector<Kind> found;
    for (Kind& kind : offered_kinds())
        if (kind.name == name || ebpf::to_name(kind.points.front().event) == name)
            found.push_back(std::move(kind));
    if (!found.empty())
        return found;
    auto point = ebpf::parse_section(name);
    if (!point)
        return point.errors();
    return std::vector<Kind>{{name, {std::move(*point)}}};
}

Result<KindPrograms> programs_that_do_nothing(const std::vector<Kind>& kinds) {
    auto made = make_programs(kinds, "do_nothing", [](std::size_t) { return ebpf::assemble("mov %r0, 0\nexit\n"); });
    return made ? verified(std::move(*made)) : std::move(made);
}

Result<KindPrograms> programs_that_count(const std::vector<Kind>& kinds) {
    auto made = make_programs(kinds, "count", counting_code);
    if (!made)
        return made;
    ebpf::MapDefinition counts;
    counts.name = "counts";
    counts.type = ebpf::MapType::percpu_array;
    counts.key_bytes = 4;
    counts.value_bytes = 8;
    counts.max_entries = static_cast<std::uint32_t>(made->object.programs.size());
    ebpf::TypeField count;
    count.bytes = 8;
    count.role = ebpf::Role::count;
    counts.value = {"egpu_count_t", 8, {count}};
    made->object.maps.push_back(std::move(counts));
    return verified(std::move(*made));
}

}  // namespace egpu::cli
