// SPDX-License-Identifier: Apache-2.0
// Programs that clang compiled, run by the reference engine: reading, relocating and meaning together.
#include <gtest/gtest.h>

#include <cstring>

#include "../object/fixtures.hpp"
#include "ebpf/interpreter/interpreter.hpp"

namespace egpu::ebpf {
namespace {

void set_field(Execution& execution, const char* name, std::uint64_t value) {
    const auto* field = field_named(ContextKind::mem, name);
    ASSERT_NE(field, nullptr) << name;
    execution.context.resize(context_bytes(ContextKind::mem));
    std::memcpy(execution.context.data() + field->offset, &value, field->bytes);
}

template <typename T>
T word(const std::vector<std::byte>& bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

TEST(Programs, BandwidthCounts) {
    const auto object = accepted("bandwidth.bpf.o");
    std::vector<ReferenceMap> maps(object.maps.size());
    for (std::uint64_t i = 0; i < 10; ++i) {
        Execution execution;
        execution.maps = &maps;
        set_field(execution, "kernel", 3);
        set_field(execution, "space", 1);
        set_field(execution, "access", i % 2);
        set_field(execution, "bytes_per_lane", 4 + i);
        const auto result = interpret(object, object.programs.at(0).instructions, execution);
        ASSERT_TRUE(result) << to_text(result.error());
        EXPECT_EQ(*result, 0u);
    }
    ASSERT_EQ(maps[0].size(), 2u);
    for (const auto& [key, value] : maps[0]) {
        EXPECT_EQ(word<std::uint32_t>(key, 0), 3u);
        EXPECT_EQ(word<std::uint32_t>(key, 4), 1u);
        const bool odd = word<std::uint32_t>(key, 8) == 1;
        EXPECT_EQ(word<std::uint64_t>(value, 0), odd ? 5u + 7 + 9 + 11 + 13 : 4u + 6 + 8 + 10 + 12);
        EXPECT_EQ(word<std::uint64_t>(value, 8), 5u);
    }
}

TEST(Programs, LatencyFillsTheSlotOfItsPowerOfTwo) {
    const auto object = accepted("latency.bpf.o");
    for (unsigned bit = 0; bit < 64; ++bit) {
        std::vector<ReferenceMap> maps(1);
        for (const std::uint64_t latency : {std::uint64_t{1} << bit, (std::uint64_t{2} << bit) - 1}) {
            Execution execution;
            execution.maps = &maps;
            set_field(execution, "latency", latency);
            ASSERT_TRUE(interpret(object, object.programs.at(0).instructions, execution));
        }
        const auto& slots = maps[0].begin()->second;
        for (unsigned slot = 0; slot < 64; ++slot)
            EXPECT_EQ(word<std::uint64_t>(slots, slot * 8), slot == bit ? 2u : 0u) << bit;
    }
}

/// Options, constants, subprograms and CO-RE of one program, by every instruction set that clang writes.
TEST(Programs, EveryInstructionSetMeansTheSame) {
    for (const auto& version : instruction_sets()) {
        const std::string name = "everything." + version + ".o";
        auto object = accepted(name);
        ASSERT_TRUE(set_option(object, "limit", "100"));
        std::vector<ReferenceMap> maps(object.maps.size());
        maps[1].emplace(std::vector<std::byte>{std::byte{1}, {}, std::byte{2}, {}, std::byte{3}, {}},
                        std::vector<std::byte>(8));
        Execution execution;
        execution.maps = &maps;
        set_field(execution, "sm", 6);  // & 3 = 2: weights[2] = 30 is no element of a map of 4
        set_field(execution, "block.y", 1000);
        const auto& entry = program_named(object, "entry").instructions;
        ASSERT_TRUE(interpret(object, entry, execution)) << version;
        EXPECT_EQ(word<std::uint64_t>(maps[1].begin()->second, 0), 0u);

        std::uint32_t weight = 3;  // change the constant table: weights[2] = 3
        for (std::size_t i = 0; i + 4 <= object.constants.size(); i += 4)
            if (word<std::uint32_t>(object.constants, i) == 30)
                std::memcpy(object.constants.data() + i, &weight, 4);
        const auto result = interpret(object, entry, execution);
        ASSERT_TRUE(result) << version << to_text(result.error());
        std::vector<std::byte> key(4);
        key[0] = std::byte{3};
        // inner(limit): 100 * 3 + block.y; outer(3): 9; shift: -3; without_help: 2^40
        EXPECT_EQ(word<std::uint64_t>(maps[0].at(key), 0), 300u + 1000 + 9 - 3 + (1ull << 40)) << version;
        EXPECT_EQ(word<std::uint64_t>(maps[1].begin()->second, 0), 1u + 8) << version;
        set_field(execution, "grid_dim.z", 7);
        EXPECT_EQ(*interpret(object, program_named(object, "again").instructions, execution), 21u) << version;
        set_field(execution, "thread.y", 5);
        EXPECT_EQ(*interpret(object, program_named(object, "leave").instructions, execution), 15u) << version;
    }
}

TEST(Programs, AnOlderContextsFieldsAreFound) {
    const auto object = accepted("moved_fields.bpf.o");
    std::vector<ReferenceMap> maps(1);
    Execution execution;
    execution.maps = &maps;
    set_field(execution, "sectors", 5);
    set_field(execution, "address", 0x7f0000000000);
    set_field(execution, "latency", 0x100000000);  // more than the 4 bytes that the object's header had
    set_field(execution, "block_dim.y", 32);
    const auto result = interpret(object, object.programs.at(0).instructions, execution);
    ASSERT_TRUE(result) << to_text(result.error());
    ASSERT_EQ(maps[0].size(), 1u);
    EXPECT_EQ(word<std::uint32_t>(maps[0].begin()->first, 0), 5u);
    EXPECT_EQ(word<std::uint64_t>(maps[0].begin()->second, 0), 0x7f0000000000u + 0x100000000 + 32);
}

}  // namespace
}  // namespace egpu::ebpf
