// SPDX-License-Identifier: Apache-2.0
// Programs for the Linux kernel and for a GPU in one object: libbpf takes its part when ours is switched off.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "fixtures.hpp"

namespace egpu::ebpf {
namespace {

using testing::ElementsAre;

struct Close {
    void operator()(bpf_object* object) const { bpf_object__close(object); }
};
using LinuxObject = std::unique_ptr<bpf_object, Close>;

int be_silent(libbpf_print_level, const char*, va_list) {
    return 0;
}

/// As libbpf opens it, with our programs and maps switched off; the names of what is left.
LinuxObject open_for_linux(const std::vector<std::byte>& bytes, const Object& ours, std::vector<std::string>& programs,
                           std::vector<std::string>& maps) {
    libbpf_set_print(be_silent);
    bpf_object_open_opts options{};
    options.sz = sizeof options;
    options.object_name = "mixed_globals";
    LinuxObject object(bpf_object__open_mem(bytes.data(), bytes.size(), &options));
    if (!object)
        return object;
    bpf_program* program = nullptr;
    bpf_object__for_each_program(program, object.get()) {
        const std::string name = bpf_program__name(program);
        const bool is_ours = std::ranges::find(ours.programs, name, &Program::name) != ours.programs.end();
        bpf_program__set_autoload(program, !is_ours);
        if (!is_ours)
            programs.push_back(name);
    }
    bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object.get()) {
        const std::string name = bpf_map__name(map);
        const bool is_ours = std::ranges::find(ours.maps, name, &MapDefinition::name) != ours.maps.end();
        bpf_map__set_autocreate(map, !is_ours);
        if (!is_ours)
            maps.push_back(name);
    }
    return object;
}

TEST(Mixed, EachSideHasItsProgramsMapsAndVariables) {
    const auto ours = accepted("mixed_globals.bpf.o");
    EXPECT_THAT(ours.linux_programs, ElementsAre("on_call", "on_return"));
    ASSERT_EQ(ours.programs.size(), 1u);
    ASSERT_EQ(ours.maps.size(), 2u);
    EXPECT_EQ(ours.maps[0].name, "warps");
    EXPECT_EQ(ours.maps[1].name, ".data.gpu");
    std::vector<std::string> programs, maps;
    const auto object = open_for_linux(fixture_bytes("mixed_globals.bpf.o"), ours, programs, maps);
    ASSERT_TRUE(object);
    EXPECT_THAT(programs, ElementsAre("on_call", "on_return"));
    EXPECT_THAT(maps, testing::UnorderedElementsAre("processes", "mixed_gl.bss"));
}

/// Names of maps are libbpf's: what a skeleton of the object calls them.
TEST(Mixed, GlobalVariablesHaveTheNamesThatLibbpfGivesThem) {
    for (const auto* name : {"globals", "mixed_globals"}) {
        const auto bytes = fixture_bytes(std::string(name) + ".bpf.o");
        bpf_object_open_opts options{};
        options.sz = sizeof options;
        options.object_name = name;
        const LinuxObject object(bpf_object__open_mem(bytes.data(), bytes.size(), &options));
        ASSERT_TRUE(object);
        for (const auto& map : accepted(std::string(name) + ".bpf.o").maps) {
            const bpf_map* theirs = bpf_object__find_map_by_name(object.get(), map.name.c_str());
            ASSERT_NE(theirs, nullptr) << map.name;
            EXPECT_EQ(bpf_map__value_size(theirs), map.value_bytes) << map.name;
        }
    }
}

TEST(Mixed, TheLinuxKernelLoadsItsPart) {
    const auto ours = accepted("mixed_globals.bpf.o");
    std::vector<std::string> programs, maps;
    const auto object = open_for_linux(fixture_bytes("mixed_globals.bpf.o"), ours, programs, maps);
    ASSERT_TRUE(object);
    const int failed = bpf_object__load(object.get());
    if (failed == -EPERM || failed == -EACCES || failed == -ENOSYS)
        GTEST_SKIP() << "this user may not load programs into the Linux kernel";
    ASSERT_EQ(failed, 0);
    EXPECT_GE(bpf_program__fd(bpf_object__find_program_by_name(object.get(), "on_call")), 0);
    EXPECT_LT(bpf_program__fd(bpf_object__find_program_by_name(object.get(), "on_entry")), 0);
    EXPECT_LT(bpf_map__fd(bpf_object__find_map_by_name(object.get(), "warps")), 0);
}

}  // namespace
}  // namespace egpu::ebpf
