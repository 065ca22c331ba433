// SPDX-License-Identifier: Apache-2.0
// Any bytes as an unverified program: specialised and emitted, or refused with a code; never a crash, and texts whose
// registers and labels are all declared. The first byte chooses section, target and site, the rest are instructions.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "ebpf/recheck/recheck.hpp"
#include "ebpf/verifier/verifier.hpp"
#include "inject/codegen/codegen.hpp"

using namespace egpu;
using namespace egpu::ebpf;
using namespace egpu::inject;

namespace {

void require(bool holds, const char* what) {
    if (holds)
        return;
    std::fprintf(stderr, "broken promise: %s\n", what);
    std::abort();
}

MapDefinition make_map(const char* name, MapType type, std::uint32_t key_bytes) {
    MapDefinition map;
    map.name = name;
    map.type = type;
    map.key_bytes = key_bytes;
    map.value_bytes = 64;
    map.max_entries = 8;
    return map;
}

Object object_of(const std::uint8_t* data, std::size_t size, std::uint8_t choice) {
    Object object;
    object.maps = {make_map("array", MapType::array, 4), make_map("hash", MapType::hash, 8),
                   make_map("per_sm", MapType::percpu_array, 4), make_map("per_sm_hash", MapType::percpu_hash, 4)};
    object.constants.resize(32, std::byte{7});
    Program program;
    program.name = "fuzzed";
    static constexpr const char* kSections[] = {"gpu/mem", "gpu.warp/mem", "gpu/kernel_entry", "gpu.warp/load_return"};
    program.section = kSections[choice & 3];
    program.point = *parse_section(program.section);
    program.instructions.resize(size / sizeof(Instruction));
    std::memcpy(program.instructions.data(), data, program.instructions.size() * sizeof(Instruction));
    object.programs.push_back(std::move(program));
    return object;
}

SiteBinding site_of(const Program& program, std::uint8_t choice) {
    SiteBinding site;
    site.granularity = program.point.granularity;
    site.event = program.point.event;
    site.guard = (choice & 4) != 0 ? "%p1" : "";
    site.space = (choice & 8) != 0 ? Space::generic : Space::global;
    site.access = (choice & 16) != 0 ? ebpf::Access::store : ebpf::Access::load;
    site.bytes_per_lane = 8;
    site.address_base = "%rd4";
    site.values = {"%f1", "%f2"};
    site.value_type = "f32";
    site.latency = "%rd5";
    site.arguments = {{"a", 8}, {"b", 4}};
    return site;
}

/// Every "$egpu_N" that is jumped to is printed once.
void check_labels(const std::string& text) {
    std::set<std::string> targets, labels;
    for (auto at = text.find("$egpu_"); at != std::string::npos; at = text.find("$egpu_", at + 1)) {
        auto end = at + 6;
        while (end < text.size() && text[end] >= '0' && text[end] <= '9')
            ++end;
        const std::string name = text.substr(at, end - at);
        if (text[end] == ':')
            require(labels.insert(name).second, "a label is printed once");
        else
            targets.insert(name);
    }
    for (const auto& target : targets)
        require(labels.count(target) != 0, "a jump's label is printed");
}

void check(const SpecializedProgram& program, std::uint8_t choice) {
    require(program.facts.size() == program.instructions.size(), "facts for each instruction");
    std::vector<maps::Layout> layouts;
    for (const auto& map : program.object->maps)
        layouts.push_back(maps::make_layout(map.value_bytes, map.max_entries, map.per_sm(), 4));
    Table table;
    FunctionContext function;
    function.target.sm = (choice & 32) != 0 ? 60 : 90;
    function.table = &table;
    function.layouts = &layouts;
    if ((choice & 64) != 0)
        for (const auto& use : program.accumulators)
            function.accumulators.push_back({.shares = {{use.element, 1}}, .register_name = "%egpu_acc0"});
    const auto probe = emit_probe(program, site_of(*program.program, choice), 0, function);
    if (!probe) {
        require(!probe.error().code.empty() && !to_text(probe.error()).empty(), "a refusal has a code and a text");
        return;
    }
    require(probe->text.empty() == (probe->instructions == 0), "an empty text has no instruction");
    require(!program.empty || probe->text.empty(), "an empty program has no text");
    check_labels(probe->text);
    for (const auto& entry : table.entries())
        require(entry.map < layouts.size() && entry.slot < layouts[entry.map].capacity, "table entries exist");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1 + sizeof(Instruction))
        return 0;
    const std::uint8_t choice = data[0];
    const Object object = object_of(data + 1, size - 1, choice);
    SiteConstants constants;
    constants.fields = {{"kernel", 3}, {"site", 7}, {"access", choice >> 4 & 1}, {"bytes_per_lane", 8}};
    if ((choice & 8) == 0)
        constants.fields["space"] = 0;
    std::uint32_t given = 0;
    const auto slot = [&](std::uint32_t map, std::span<const std::byte> key) -> std::optional<std::uint32_t> {
        require(map < object.maps.size() && key.size() == object.maps[map].key_bytes, "keys are of their map");
        if (object.maps[map].is_array()) {
            std::uint32_t index = 0;
            std::memcpy(&index, key.data(), sizeof index);
            return index < 8 ? std::optional(index) : std::nullopt;
        }
        return given < 8 ? std::optional(given++) : std::nullopt;
    };
    const auto program = specialize(object, object.programs[0], constants, slot);
    if (program) {
        VerifierOptions options;
        options.walk_limit = 20'000;
        if (verify(object, object.programs[0], options))
            require(recheck(*program, constants).has_value(), "what was made of a safe program is safe");
        check(*program, choice);
    } else {
        require(!program.error().code.empty() && !to_text(program.error()).empty(), "a refusal has a code and a text");
    }
    return 0;
}
