// SPDX-License-Identifier: Apache-2.0
// Programs written for bpftime: what each of its sections, maps and helpers is here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures.hpp"

namespace egpu::ebpf {
namespace {

TEST(Bpftime, SectionsAreInjectionPointsOfOurs) {
    struct Row {
        const char *section, *means;
    };
    for (const auto& row : {Row{"kprobe/_Z9vectorAddPKfS0_Pf", "gpu/kernel_entry/_Z9vectorAddPKfS0_Pf"},
                            {"kretprobe/_Z9vectorAddPKfS0_Pf", "gpu/kernel_exit/_Z9vectorAddPKfS0_Pf"},
                            {"kprobe/plain", "gpu/kernel_entry/plain"},
                            {"kprobe/cuda__Z9vectorAddPKfS0_Pf", "gpu/kernel_entry/_Z9vectorAddPKfS0_Pf"},
                            {"kprobe/cuda_plain", "gpu/kernel_entry/cuda_plain"},
                            {"kprobe/__memcapture", "gpu/mem"}}) {
        const auto point = parse_bpftime_section(row.section);
        ASSERT_TRUE(point) << row.section;
        EXPECT_EQ(to_section(*point), row.means);
    }
    for (const auto* section : {"kprobe/__directly_run", "kretprobe/__memcapture", "kprobe/a,b", "kprobe/a+0x10"}) {
        const auto point = parse_bpftime_section(section);
        ASSERT_FALSE(point) << section;
        EXPECT_EQ(point.error().code, "EGPU-B016") << section;
        EXPECT_FALSE(point.error().hints.empty());
    }
    EXPECT_FALSE(parse_bpftime_section("kprobe/"));
}

TEST(Bpftime, ProgramsOfTheLinuxKernelStayThose) {
    EXPECT_TRUE(is_bpftime_program("kprobe/f", "cuda__probe"));
    EXPECT_TRUE(is_bpftime_program("kretprobe/f", "cuda__probe"));
    EXPECT_TRUE(is_bpftime_program("kprobe/__memcapture", "count"));
    EXPECT_FALSE(is_bpftime_program("kprobe/do_exit", "probe"));
    EXPECT_FALSE(is_bpftime_program("uprobe/x:f", "cuda__probe"));
    EXPECT_FALSE(is_bpftime_program("gpu/load", "cuda__probe"));
}

TEST(Bpftime, MapsAreThoseThatMeanTheSame) {
    const auto places = accepted("bpftime_places.bpf.o");
    ASSERT_EQ(places.maps.size(), 2u);
    EXPECT_EQ(places.maps[0].type, MapType::array);
    EXPECT_EQ(places.maps[1].type, MapType::array);
    EXPECT_EQ(places.maps[1].placement, Placement::device);
    const auto memory = accepted("bpftime_memory.bpf.o");
    ASSERT_EQ(memory.maps.size(), 3u);
    EXPECT_EQ(memory.maps[1].type, MapType::hash);
    EXPECT_EQ(memory.maps[2].type, MapType::array);
    EXPECT_EQ(memory.maps[2].placement, Placement::linux_kernel);
}

TEST(Bpftime, ArgumentsHoldNothing) {
    const auto object = accepted("bpftime_places.bpf.o");
    ASSERT_EQ(object.programs.size(), 2u);
    EXPECT_EQ(program_named(object, "cuda__entry").section, "gpu/kernel_entry/_Z10vector_addPKfS0_Pfj");
    EXPECT_EQ(program_named(object, "cuda__exit").section, "gpu/kernel_exit/_Z10vector_addPKfS0_Pfj");
    for (const auto& program : object.programs)
        EXPECT_FALSE(program.has_context);
    EXPECT_TRUE(accepted("everything.bpf.o").programs.at(0).has_context);
}

}  // namespace
}  // namespace egpu::ebpf
