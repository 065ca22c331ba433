// SPDX-License-Identifier: Apache-2.0
// Programs for tests of the specialiser and the code generator, from C or from the assembler.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ebpf/object/object.hpp"
#include "ebpf/recheck/recheck.hpp"
#include "ebpf/specializer/specializer.hpp"
#include "ebpf/verifier/verifier.hpp"

namespace egpu::ebpf::testing {

/// "lddw %r1, 0x4d41500000000002" becomes the address of map 2.
inline constexpr std::int32_t kMapMark = 0x4d415000;
inline std::string map_address(std::uint32_t map) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%08x%08x", static_cast<unsigned>(kMapMark), map);
    return text;
}

/// "lddw %r1, 0x4d41540000000008" becomes the address of byte 8 of the constants.
inline constexpr std::int32_t kConstantsMark = 0x4d415400;
inline std::string constants_address(std::uint32_t offset) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%08x%08x", static_cast<unsigned>(kConstantsMark), offset);
    return text;
}

/// Texts that programs of assembled() can print: so many numbers each, at these places of its constants.
inline constexpr char kTexts[] = "%u %lx %d\0%ld";
inline constexpr std::uint32_t kThreeNumbers = 0, kThreeNumbersBytes = 10, kOneNumber = 10, kOneNumberBytes = 4;

inline MapDefinition make_map(std::string name, MapType type, std::uint32_t key_bytes, std::uint32_t value_bytes,
                              std::uint32_t max_entries) {
    MapDefinition map;
    map.name = std::move(name);
    map.type = type;
    map.key_bytes = key_bytes;
    map.value_bytes = value_bytes;
    map.max_entries = max_entries;
    return map;
}

/// An object with one program. Map 0 is an array of 8 values of 64 bytes, map 1 a hash, map 2 an array per SM, map 3 a
/// ring buffer, which takes what bpf_printk sends, too. The constants are kTexts.
inline Object assembled(const std::string& text, const std::string& section = "gpu/mem") {
    Object object;
    object.maps = {make_map("array", MapType::array, 4, 64, 8), make_map("hash", MapType::hash, 8, 64, 16),
                   make_map("per_sm", MapType::percpu_array, 4, 64, 8), make_map("ring", MapType::ringbuf, 0, 0, 4096)};
    object.print_map = 3;
    const auto texts = std::as_bytes(std::span(kTexts));
    object.constants.assign(texts.begin(), texts.end());
    auto code = assemble(text);
    EXPECT_TRUE(code) << (code ? "" : to_text(code.error())) << text;
    if (!code)
        return object;
    for (std::size_t at = 0; at + 1 < code->size(); ++at) {
        auto& low = (*code)[at];
        auto& high = (*code)[at + 1];
        if (low.opcode == kLoadImmediate64 && high.immediate == kMapMark) {
            low.source = kPseudoMap;
            high.immediate = 0;
        }
        if (low.opcode == kLoadImmediate64 && high.immediate == kConstantsMark) {
            low.source = kPseudoMapValue;
            high.immediate = std::exchange(low.immediate, static_cast<std::int32_t>(Object::kConstantsMap));
        }
    }
    Program program;
    program.name = "tested";
    program.section = section;
    auto point = parse_section(section);
    EXPECT_TRUE(point) << section;
    if (point)
        program.point = *point;
    program.instructions = *code;
    object.programs.push_back(std::move(program));
    return object;
}

/// A program in C, compiled with clang.
inline Object compiled_file(const std::string& path) {
    auto elf = compile_source(path, EGPU_SOURCE_DIR "/core/include");
    EXPECT_TRUE(elf) << (elf ? "" : to_text(elf.error()));
    if (!elf)
        return {};
    auto object = read_object(*elf, path);
    EXPECT_TRUE(object) << (object ? "" : to_text(object.error()));
    return object ? *std::move(object) : Object{};
}

inline Object compiled(const std::string& name, const std::string& source) {
    const std::string path = std::string(::testing::TempDir()) + name + ".bpf.c";
    std::ofstream(path) << source;
    return compiled_file(path);
}

inline Object bundled(const std::string& name) {
    return compiled_file(std::string(EGPU_SOURCE_DIR "/plugins/") + name + "/" + name + ".bpf.c");
}

/// Site fields of a global load of 4 bytes a lane, kernel 3, site 7.
inline SiteConstants global_load() {
    SiteConstants constants;
    constants.fields = {{"kernel", 3}, {"site", 7}, {"space", 0}, {"access", 0}, {"bytes_per_lane", 4}};
    return constants;
}

/// Arrays: the index; hashes: slots in order of first use, up to `capacity` for all maps.
struct SlotGiver {
    const Object* object = nullptr;
    std::uint32_t capacity = 1000;
    std::map<std::pair<std::uint32_t, std::vector<std::byte>>, std::uint32_t> given;
    std::uint32_t calls = 0;

    SlotOfKey function() {
        return [this](std::uint32_t map, std::span<const std::byte> key) -> std::optional<std::uint32_t> {
            ++calls;
            if (object->maps[map].is_array()) {
                std::uint32_t index = 0;
                std::memcpy(&index, key.data(), sizeof index);
                return index < object->maps[map].max_entries ? std::optional(index) : std::nullopt;
            }
            const std::pair<std::uint32_t, std::vector<std::byte>> entry{map, {key.begin(), key.end()}};
            if (const auto found = given.find(entry); found != given.end())
                return found->second;
            if (given.size() >= capacity)
                return std::nullopt;
            const auto slot = static_cast<std::uint32_t>(given.size());
            given.emplace(entry, slot);
            return slot;
        };
    }
};

/// What the verifier accepts, it accepts as it was made for a site, too, at no higher cost. Some programs of tests it
/// does not accept.
inline void expect_confirmed(const SpecializedProgram& program, const SiteConstants& constants) {
    const auto verified = verify(*program.object, *program.program);
    if (!verified)
        return;
    const auto confirmed = recheck(program, constants, verified->worst_instructions);
    EXPECT_TRUE(confirmed) << to_text(confirmed.error());
}

/// As specialize(), and checked again.
inline Result<SpecializedProgram> confirmed(const Object& object, const SiteConstants& constants, SlotGiver& slots) {
    auto program = specialize(object, object.programs.at(0), constants, slots.function());
    if (program)
        expect_confirmed(*program, constants);
    return program;
}

inline SpecializedProgram specialized(const Object& object, const SiteConstants& constants = global_load()) {
    SlotGiver slots{&object, 1000, {}, 0};
    auto result = confirmed(object, constants, slots);
    EXPECT_TRUE(result) << (result ? "" : to_text(result.error()));
    return result ? *std::move(result) : SpecializedProgram{};
}

inline Diagnostic refusal(const Object& object, const SiteConstants& constants = global_load()) {
    SlotGiver slots{&object, 1000, {}, 0};
    auto result = specialize(object, object.programs.at(0), constants, slots.function());
    EXPECT_FALSE(result);
    return result ? Diagnostic{} : result.error();
}

/// Needed instructions as text, in the order of the program.
inline std::vector<std::string> needed(const SpecializedProgram& program) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < program.instructions.size(); ++at)
        if (program.facts[at].needed)
            out.push_back(to_text(program.instructions[at],
                                  at + 1 < program.instructions.size() ? &program.instructions[at + 1] : nullptr));
    return out;
}

}  // namespace egpu::ebpf::testing
