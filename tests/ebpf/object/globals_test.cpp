// SPDX-License-Identifier: Apache-2.0
// Global variables that programs write to are maps of one element.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "fixtures.hpp"

namespace egpu::ebpf {
namespace {

using testing::ElementsAre;

const MapDefinition& map_named(const Object& object, const std::string& name) {
    const auto found = std::ranges::find(object.maps, name, &MapDefinition::name);
    EXPECT_NE(found, object.maps.end()) << name;
    static const MapDefinition none;
    return found == object.maps.end() ? none : *found;
}

std::vector<std::string> fields_of(const MapDefinition& map) {
    std::vector<std::string> names;
    for (const auto& field : map.value.fields)
        names.push_back(field.name);
    std::ranges::sort(names);
    return names;
}

template <typename Number>
Number first_value(const MapDefinition& map, const std::string& name) {
    const auto field = std::ranges::find(map.value.fields, name, &TypeField::name);
    EXPECT_NE(field, map.value.fields.end()) << name;
    Number number{};
    if (field != map.value.fields.end() && field->offset + sizeof number <= map.initial.size())
        std::memcpy(&number, map.initial.data() + field->offset, sizeof number);
    return number;
}

TEST(Globals, AreMapsOfOneElementNamedAsLibbpfNamesThem) {
    const auto object = accepted("globals.bpf.o");
    ASSERT_EQ(object.maps.size(), 3u);  // what no program uses is left out
    for (const auto& map : object.maps) {
        EXPECT_EQ(map.type, MapType::array);
        EXPECT_EQ(map.key_bytes, 4u);
        EXPECT_EQ(map.max_entries, 1u);
        EXPECT_EQ(map.placement, Placement::device);
    }
    const auto& zeroes = map_named(object, "globals.bss");
    EXPECT_THAT(fields_of(zeroes), ElementsAre("by_lane", "bytes_read", "count.calls", "last_width"));
    EXPECT_TRUE(zeroes.initial.empty());
    const auto& data = map_named(object, "globals.data");
    EXPECT_EQ(first_value<std::uint64_t>(data, "left"), 1000u);
    EXPECT_EQ(first_value<std::int32_t>(data, "sign"), -5);
    EXPECT_EQ(first_value<std::uint64_t>(map_named(object, ".data.counts"), "narrow"), 3u);
}

TEST(Globals, HaveTheTypesAndPlacesOfTheirVariables) {
    const auto object = accepted("globals.bpf.o");
    const auto& map = map_named(object, "globals.bss");
    std::uint32_t end = 0;
    auto fields = map.value.fields;
    std::ranges::sort(fields, {}, &TypeField::offset);
    for (const auto& field : fields) {
        EXPECT_GE(field.offset, end) << field.name;
        end = field.offset + field.bytes * field.elements;
        EXPECT_EQ(field.elements, field.name == "by_lane" ? 32u : 1u);
        EXPECT_EQ(field.bytes, field.name == "last_width" ? 4u : 8u);
        EXPECT_EQ(field.role, field.name == "bytes_read"   ? Role::bytes
                              : field.name == "last_width" ? Role::plain
                                                           : Role::count);
    }
    EXPECT_LE(end, map.value_bytes);
}

TEST(Globals, AddressesNameTheMapAndTheByte) {
    const auto object = accepted("globals.bpf.o");
    ASSERT_EQ(object.programs.size(), 1u);
    const auto& code = object.programs[0].instructions;
    std::vector<std::pair<std::string, std::uint32_t>> found;
    for (std::size_t i = 0; i + 1 < code.size(); ++i)
        if (code[i].opcode == kLoadImmediate64 && code[i].source == kPseudoMapValue &&
            code[i].immediate != static_cast<std::int32_t>(Object::kConstantsMap)) {
            const auto& map = object.maps.at(static_cast<std::size_t>(code[i].immediate));
            const auto at = static_cast<std::uint32_t>(code[i + 1].immediate);
            const auto field = std::ranges::find(map.value.fields, at, &TypeField::offset);
            ASSERT_NE(field, map.value.fields.end()) << map.name << " " << at;
            found.emplace_back(map.name + ": " + field->name, at);
        }
    std::vector<std::string> names;
    for (const auto& [name, at] : found)
        names.push_back(name);
    EXPECT_THAT(names, testing::IsSupersetOf({"globals.bss: bytes_read", "globals.bss: last_width",
                                              "globals.bss: by_lane", "globals.bss: count.calls", "globals.data: left",
                                              "globals.data: sign", ".data.counts: narrow"}));
}

TEST(Globals, OfLinuxProgramsAreNoneOfOurs) {
    const auto object = accepted("mixed.bpf.o");
    for (const auto& map : object.maps)
        EXPECT_EQ(map.name.find(".bss"), std::string::npos);
}

}  // namespace
}  // namespace egpu::ebpf
