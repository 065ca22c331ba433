// SPDX-License-Identifier: Apache-2.0
// What is read from objects that clang wrote.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "fixtures.hpp"

namespace egpu::ebpf {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(Object, ReadsTheBandwidthProgram) {
    const auto object = accepted("bandwidth.bpf.o");
    EXPECT_EQ(object.license, "Dual BSD/GPL");
    ASSERT_EQ(object.maps.size(), 1u);
    const auto& map = object.maps[0];
    EXPECT_EQ(map.name, "traffic");
    EXPECT_EQ(map.type, MapType::percpu_hash);
    EXPECT_TRUE(map.per_sm());
    EXPECT_EQ(map.key_bytes, 12u);
    EXPECT_EQ(map.value_bytes, 16u);
    EXPECT_EQ(map.max_entries, 4096u);
    EXPECT_EQ(map.placement, Placement::device);
    ASSERT_EQ(map.key.fields.size(), 3u);
    EXPECT_EQ(map.key.name, "traffic_key");
    EXPECT_EQ(map.key.fields[0].role, Role::kernel_id);
    EXPECT_EQ(map.key.fields[1].name, "space");
    EXPECT_EQ(map.key.fields[1].enumerators[3], (std::pair<std::int64_t, std::string>(3, "const")));
    EXPECT_EQ(map.key.fields[2].enumerators[2], (std::pair<std::int64_t, std::string>(2, "atomic")));
    EXPECT_EQ(map.value.fields[0].role, Role::bytes);
    EXPECT_EQ(map.value.fields[1].role, Role::count);
    EXPECT_EQ(map.value.fields[1].offset, 8u);
    ASSERT_EQ(object.programs.size(), 1u);
    const auto& program = object.programs[0];
    EXPECT_EQ(program.name, "count_traffic");
    EXPECT_EQ(program.point.event, Event::mem);
    EXPECT_THAT(text_of(program), Contains("r1 = map[0]"));
    EXPECT_THAT(text_of(program), Contains("call egpu_map_lookup_or_init#65539"));
}

TEST(Object, NamesTheSourceLineOfEachInstruction) {
    const auto object = accepted("bandwidth.bpf.o");
    const auto& program = object.programs.at(0);
    EXPECT_TRUE(std::ranges::is_sorted(program.lines, {}, &LineInfo::instruction));
    int atomics = 0;
    for (std::uint32_t i = 0; i < program.instructions.size(); ++i) {
        const auto* line = program.line_of(i);
        ASSERT_NE(line, nullptr);
        EXPECT_EQ(line->file, "plugins/bandwidth/bandwidth.bpf.c");
        EXPECT_GT(line->line, 0u);
        if (program.instructions[i].opcode == 0xdb) {  // lock add of 8 bytes
            EXPECT_THAT(line->text, HasSubstr("__sync_fetch_and_add"));
            EXPECT_EQ(line->column, 2u);
            ++atomics;
        }
    }
    EXPECT_EQ(atomics, 2);
    EXPECT_EQ(Program{}.line_of(0), nullptr);
}

TEST(Object, NamesLinesOfTheHeaderToo) {
    const auto object = accepted("latency.bpf.o");
    bool found = false;
    for (const auto& line : object.programs.at(0).lines)
        found |= line.file == "core/include/egpu/bpf/egpu.bpf.h" &&
                 line.text.find("__sync_fetch_and_add") != std::string::npos;
    EXPECT_TRUE(found);
}

TEST(Object, ReadsHistograms) {
    const auto object = accepted("latency.bpf.o");
    const auto& field = object.maps.at(0).value.fields.at(0);
    EXPECT_EQ(field.name, "slot");
    EXPECT_EQ(field.elements, 64u);
    EXPECT_EQ(field.histogram, "log2_cycles");
    EXPECT_EQ(object.maps[0].key.name, "egpu_site_id_t");
    EXPECT_EQ(object.maps[0].key.fields.at(0).role, Role::site_id);
    EXPECT_EQ(object.programs.at(0).point.granularity, Granularity::warp);
}

TEST(Object, ReadsMapsOfEachTypeAndPlacementInSourceOrder) {
    const auto object = accepted("everything.bpf.o");
    ASSERT_EQ(object.maps.size(), 4u);
    EXPECT_EQ(object.maps[0].name, "first");
    EXPECT_EQ(object.maps[1].name, "second");
    EXPECT_EQ(object.maps[1].type, MapType::lru_hash);
    EXPECT_EQ(object.maps[1].key_bytes, 6u);
    EXPECT_EQ(object.maps[1].key.fields.at(0).elements, 6u);  // a bare size that is no number: bytes
    EXPECT_EQ(object.maps[1].value.fields.at(0).bytes, 8u);
    EXPECT_EQ(object.maps[2].placement, Placement::mapped);
    EXPECT_EQ(object.maps[3].placement, Placement::linux_kernel);
    const auto leave = text_of(program_named(object, "leave"));
    EXPECT_THAT(leave, Contains("r1 = map[2]"));
    EXPECT_THAT(leave, Contains("r1 = map[3]"));
    const auto entry = text_of(program_named(object, "entry"));
    EXPECT_THAT(entry, Contains("r1 = map[0]"));
    EXPECT_THAT(entry, Contains("r1 = map[1]"));  // a static map: relocated against its section
}

TEST(Object, AppendsTheFunctionsThatAProgramCalls) {
    const auto object = accepted("everything.bpf.o");
    ASSERT_EQ(object.programs.size(), 3u);
    const auto exits = [](const Program& program) {
        return std::ranges::count(program.instructions, kExit, &Instruction::opcode);
    };
    EXPECT_EQ(exits(program_named(object, "entry")), 4);  // itself, inner, outer, leaf
    const auto& again = program_named(object, "again");
    EXPECT_EQ(exits(again), 2);
    for (const auto& program : object.programs) {
        EXPECT_TRUE(check_encoding(program.instructions)) << program.name;
        for (std::size_t i = 0; i < program.instructions.size(); ++i) {
            const auto& call = program.instructions[i];
            if (call.opcode != kCall || call.source != kPseudoCall)
                continue;
            const auto target = i + 1 + static_cast<std::size_t>(call.immediate);
            ASSERT_LT(target, program.instructions.size());
            EXPECT_EQ(program.instructions[target - 1].opcode, kExit);  // a function's first instruction
        }
    }
    EXPECT_EQ(program_named(object, "leave").point.kernel_pattern, "*gemm*");
}

TEST(Object, PutsConstantsAndOptionsInOneBlock) {
    const auto object = accepted("everything.bpf.o");
    ASSERT_EQ(object.options.size(), 4u);
    const auto option = [&](const std::string& name) {
        return *std::ranges::find(object.options, name, &Option::name);
    };
    EXPECT_EQ(option("limit").help, "stop there");
    EXPECT_EQ(option("limit").type, "__u32");
    EXPECT_EQ(option("enabled").type, "bool");
    EXPECT_TRUE(option("shift").is_signed);
    EXPECT_EQ(option("without_help").help, "");
    std::uint64_t value = 0;
    std::memcpy(&value, object.constants.data() + option("without_help").offset, 8);
    EXPECT_EQ(value, 1ull << 40);
    // The static table: found through the address that the program loads.
    const auto& code = program_named(object, "entry").instructions;
    const std::uint32_t weights[] = {10, 20, 30, 40};
    bool found = false;
    for (std::size_t i = 0; i + 1 < code.size(); ++i)
        if (code[i].opcode == kLoadImmediate64 && code[i].source == kPseudoMapValue) {
            EXPECT_EQ(static_cast<std::uint32_t>(code[i].immediate), Object::kConstantsMap);
            const auto offset = static_cast<std::size_t>(code[i + 1].immediate);
            ASSERT_LT(offset, object.constants.size());
            found |= offset + 16 <= object.constants.size() && std::memcmp(&object.constants[offset], weights, 16) == 0;
        }
    EXPECT_TRUE(found);
}

TEST(Object, AnswersQuestionsAboutFields) {
    const auto text = text_of(program_named(accepted("everything.bpf.o"), "entry"));
    EXPECT_THAT(text, Contains(HasSubstr(" = 1")));  // ctx->sm exists
    EXPECT_THAT(text, Contains(HasSubstr(" = 8")));  // ctx->launch has 8 bytes
}

TEST(Object, PutsFieldsOfAnOlderContextWhereTheyAre) {
    const auto object = accepted("moved_fields.bpf.o");
    const auto& program = object.programs.at(0);
    const auto offset_of = [](const char* name) {
        return fmt::format("+{})", field_named(ContextKind::mem, name)->offset);
    };
    const auto text = text_of(program);
    EXPECT_THAT(text, Contains(HasSubstr("*(u32 *)(r6 " + offset_of("sectors"))));
    EXPECT_THAT(text, Contains(HasSubstr("*(u64 *)(r6 " + offset_of("address"))));
    EXPECT_THAT(text, Contains(HasSubstr("*(u64 *)(r6 " + offset_of("latency"))));  // was read as 4 bytes
    EXPECT_THAT(text, Contains(HasSubstr(fmt::format(" = {}", field_named(ContextKind::mem, "block_dim.x")->offset))));
    // The field of the future does not exist, and its guarded access can't be reached.
    EXPECT_THAT(text, Contains(HasSubstr(fmt::format("#{}", kMissingFieldCall))));
}

TEST(Object, DescribesKeysAndValues) {
    const auto object = accepted("shapes.bpf.o");
    const auto& map = object.maps.at(0);
    std::vector<std::string> names;
    for (const auto& field : map.value.fields)
        names.push_back(fmt::format("{}@{}:{}x{}", field.name, field.offset, field.bytes, field.elements));
    EXPECT_THAT(names, testing::ElementsAre("cycles@0:8x1", "time@8:8x1", "sizes@16:8x64", "places[0].kernel@528:4x1",
                                            "places[0].inner.site@532:4x1", "places[0].inner.pair@536:2x6",
                                            "places[1].kernel@548:4x1", "places[1].inner.site@552:4x1",
                                            "places[1].inner.pair@556:2x6", "colour@568:4x1", "signed_number@572:4x1",
                                            "last@576:8x1", "access@584:4x1", "name@588:1x12"));
    const auto field = [&](const std::string& name) {
        return *std::ranges::find(map.value.fields, name, &TypeField::name);
    };
    EXPECT_EQ(field("cycles").role, Role::cycles);
    EXPECT_EQ(field("time").role, Role::nanoseconds);
    EXPECT_EQ(field("sizes").histogram, "log2_bytes");
    EXPECT_EQ(field("colour").enumerators[1], (std::pair<std::int64_t, std::string>(-2, "GREEN")));
    EXPECT_TRUE(field("colour").is_signed);
    EXPECT_TRUE(field("signed_number").is_signed);
    EXPECT_EQ(field("last").role, Role::address);
    EXPECT_EQ(field("access").enumerators[1].second, "store");
    EXPECT_EQ(map.key.fields.at(0).role, Role::kernel_id);
}

TEST(Object, LeavesTheLinuxKernelsPartAlone) {
    const auto object = accepted("mixed.bpf.o");
    EXPECT_THAT(object.linux_programs, testing::ElementsAre("on_call"));
    ASSERT_EQ(object.programs.size(), 1u);
    ASSERT_EQ(object.maps.size(), 1u);  // the stack map is the Linux kernel's alone
    EXPECT_EQ(object.maps[0].name, "shared");
    EXPECT_THAT(text_of(object.programs[0]), Contains("r1 = map[0]"));
}

/// libbpf's USDT support brings maps and functions of its own: none of it is the GPU's.
TEST(Object, ReadsAGpuProgramBesideAUsdtProgram) {
    const auto object = accepted("launch_latency.bpf.o");
    EXPECT_THAT(object.linux_programs, testing::ElementsAre("on_launch_call"));
    ASSERT_EQ(object.maps.size(), 2u);
    EXPECT_EQ(object.maps[0].name, "called_at");
    EXPECT_EQ(object.maps[0].placement, Placement::linux_kernel);
    EXPECT_EQ(object.maps[1].value.fields.at(0).histogram, "log2_ns");
    EXPECT_EQ(object.programs.at(0).name, "on_kernel_entry");
}

TEST(Object, ReadsEveryInstructionSetOfClang) {
    for (const auto& version : instruction_sets()) {
        const std::string name = "everything." + version + ".o";
        const auto object = accepted(name);
        EXPECT_EQ(object.programs.size(), 3u) << version;
        for (const auto& program : object.programs)
            EXPECT_TRUE(check_encoding(program.instructions)) << version << " " << program.name;
    }
}

TEST(Object, HeaderWorksAfterVmlinux) {
    const auto object = accepted("after_vmlinux.bpf.o");
    ASSERT_EQ(object.options.size(), 1u);
    EXPECT_EQ(object.options[0].type, "bool");
}

}  // namespace
}  // namespace egpu::ebpf
