// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "inject/match/match.hpp"
#include "module.hpp"

namespace egpu::inject {
namespace {

using ptx::AccessSpace;
using testing::kernel;

Matches sites_of(const ptx::Module& module, std::string_view section) {
    const auto point = ebpf::parse_section(section);
    EXPECT_TRUE(point) << section;
    return find_sites(module, {module.function("k")}, *point);
}

/// Opcodes of the sites.
std::vector<std::string> opcodes(const ptx::Module& module, std::string_view section) {
    std::vector<std::string> result;
    for (const auto& site : sites_of(module, section).sites)
        result.emplace_back(site.instruction == nullptr ? "" : site.instruction->opcode);
    return result;
}

const char* const kBody = R"(
    ld.param.u64 %rd1, [p];
    ld.global.nc.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1];
    ld.shared.u32 %r1, [buffer+4];
    ld.const.f32 %f5, [table];
    @%p1 st.global.f32 [%rd1+16], %f5;
    atom.global.add.u32 %r2, [%rd1], 1;
    red.shared.add.u32 [buffer], 1;
    ld.local.u32 %r3, [%rd2];
    cp.async.ca.shared.global [%r1], [%rd1], 16;
    ret;)";
const char* const kBefore = ".shared .align 4 .b8 buffer[64]; .const .align 4 .f32 table[4];";

TEST(Sites, ByEventAndSpace) {
    const auto module = kernel(kBody, kBefore);
    using ::testing::ElementsAre;
    EXPECT_THAT(opcodes(module, "gpu/load"),
                ElementsAre("ld.global.nc.v4.f32", "ld.shared.u32", "ld.const.f32", "ld.local.u32"));
    EXPECT_THAT(opcodes(module, "gpu/load.global"), ElementsAre("ld.global.nc.v4.f32"));
    EXPECT_THAT(opcodes(module, "gpu/load.const"), ElementsAre("ld.const.f32"));
    EXPECT_THAT(opcodes(module, "gpu/store"), ElementsAre("st.global.f32"));
    EXPECT_THAT(opcodes(module, "gpu/atomic"), ElementsAre("atom.global.add.u32", "red.shared.add.u32"));
    EXPECT_THAT(opcodes(module, "gpu.warp/mem.shared"), ElementsAre("ld.shared.u32", "red.shared.add.u32"));
    EXPECT_THAT(opcodes(module, "gpu.warp/load_return.global"), ElementsAre("ld.global.nc.v4.f32"));
    EXPECT_EQ(opcodes(module, "gpu/mem").size(), 7u);
    EXPECT_EQ(opcodes(module, "gpu/kernel_entry").size(), 1u);
}

TEST(Sites, AKernelThatNobodyLeavesHasNoExit) {
    for (const char* body : {"ret;", "L: @%p1 exit; bra L;", "ld.u32 %r1, [%rd1];"})
        EXPECT_EQ(sites_of(kernel(body), "gpu/kernel_exit").sites.size(), 1u) << body;
    const auto endless = kernel("L: ld.u32 %r1, [%rd1]; bra L;");
    for (const char* section : {"gpu/kernel_exit", "gpu.grid/kernel_exit"}) {
        const Matches matches = sites_of(endless, section);
        EXPECT_TRUE(matches.sites.empty()) << section;
        ASSERT_EQ(matches.notes.size(), 1u) << section;
        EXPECT_EQ(matches.notes[0].code, "EGPU-P253");
    }
    EXPECT_EQ(sites_of(endless, "gpu/kernel_entry").sites.size(), 1u);
}

TEST(Sites, AsynchronousCopiesAreAnEventOfTheirOwn) {
    const auto module = kernel(kBody, kBefore);
    using ::testing::ElementsAre;
    EXPECT_THAT(opcodes(module, "gpu/async_copy"), ElementsAre("cp.async.ca.shared.global"));
    EXPECT_THAT(opcodes(module, "gpu.warp/async_copy.global"), ElementsAre("cp.async.ca.shared.global"));
    EXPECT_TRUE(opcodes(module, "gpu/async_copy.shared").empty());
    EXPECT_TRUE(sites_of(module, "gpu/async_copy").notes.empty());
}

/// A size that no register holds is none.
TEST(Sites, BytesOfAsynchronousCopies) {
    const auto module = kernel(
        "cp.async.ca.shared.global [%r1],[%rd1],8,%r2; cp.async.ca.shared.global [%r1],[%rd1],8,!%p1;\n"
        "cp.async.ca.shared.global [%r1],[%rd1],8,buffer; ret;",
        kBefore);
    using Bytes = ptx::MemoryAccess::Bytes;
    std::vector<Bytes> bytes;
    for (const auto& site : sites_of(module, "gpu/async_copy").sites)
        bytes.push_back(site.access.bytes);
    EXPECT_THAT(bytes, ::testing::ElementsAre(Bytes::at_run_time, Bytes::at_run_time, Bytes::unknown));
}

/// What waits for nothing behind it, or has no address, isn't timed, and is in the notes.
TEST(Sites, AtomicsThatGiveAValue) {
    const auto module = kernel(
        "atom.global.add.u32 %r2,[%rd1],1; atom.global.add.u32 _,[%rd1],1; red.global.add.u32 [%rd1],1;\n"
        "atom.shared.add.u32 %r2,[%r1],1; ret;");
    EXPECT_THAT(opcodes(module, "gpu/atomic_return"),
                ::testing::ElementsAre("atom.global.add.u32", "atom.shared.add.u32"));
    EXPECT_THAT(opcodes(module, "gpu.warp/atomic_return.shared"), ::testing::ElementsAre("atom.shared.add.u32"));
    const auto notes = sites_of(module, "gpu/atomic_return").notes;
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_EQ(notes[0].code, "EGPU-P254");
}

TEST(Sites, TexturesLieInNoSpace) {
    const auto module = kernel(
        "tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4},[%rd1,{%r1}]; suld.b.1d.b32.trap %r1,[%rd1,{%r2}]; ld.global.u32 "
        "%r1,[%rd1];\n"
        "ret;");
    EXPECT_EQ(opcodes(module, "gpu/load").size(), 3u);
    EXPECT_EQ(opcodes(module, "gpu/load.global").size(), 1u);
    const auto timed = sites_of(module, "gpu/load_return");
    EXPECT_EQ(timed.sites.size(), 1u);
    EXPECT_EQ(timed.notes.size(), 1u);
}

TEST(Sites, AsynchronousCopiesAreInTheNotes) {
    const auto module = kernel(kBody, kBefore);
    const auto matches = sites_of(module, "gpu/mem");
    ASSERT_EQ(matches.notes.size(), 1u);
    EXPECT_EQ(matches.notes[0].code, "EGPU-P250");
}

TEST(Sites, UnknownSizesAreInTheNotes) {
    const auto module = kernel("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r2]; ret;");
    const auto matches = sites_of(module, "gpu/load");
    EXPECT_TRUE(matches.sites.empty());
    ASSERT_EQ(matches.notes.size(), 1u);
    EXPECT_EQ(matches.notes[0].code, "EGPU-P251");
    EXPECT_NE(matches.notes[0].message.find("tcgen05.ld"), std::string::npos);
}

/// The space of the one load of a body: as resolved, or "tested" where a test at run time is needed for .global.
std::string space_of_load(const std::string& body, std::string_view section = "gpu/load.global") {
    const auto module = kernel(body, kBefore);
    const auto matches = sites_of(module, section);
    if (matches.sites.empty())
        return matches.notes.empty() ? "none" : "noted";
    if (matches.sites[0].tested_space)
        return "tested";
    switch (matches.sites[0].access.space) {
        case AccessSpace::global:
            return "global";
        case AccessSpace::shared:
            return "shared";
        case AccessSpace::generic:
            return "generic";
        default:
            return "other";
    }
}

TEST(GenericAccess, ConversionInTheFunctionIsFollowed) {
    EXPECT_EQ(space_of_load("cvta.global.u64 %rd2,%rd1; ld.f32 %f1,[%rd2]; ret;"), "global");
    EXPECT_EQ(
        space_of_load(
            "cvta.global.u64 %rd2,%rd1; mul.wide.u32 %rd4,%r1,4; add.s64 %rd3,%rd2,%rd4; ld.f32 %f1,[%rd3+8]; ret;"),
        "global");
    EXPECT_EQ(space_of_load("cvta.shared.u64 %rd2,%rd1; ld.f32 %f1,[%rd2]; ret;"), "none");
    EXPECT_EQ(space_of_load("cvta.shared.u64 %rd2,%rd1; ld.f32 %f1,[%rd2]; ret;", "gpu/load"), "shared");
    EXPECT_EQ(space_of_load("ld.param.u64 %rd1,[q]; ld.f32 %f1,[%rd1]; ret;"), "global");
    EXPECT_EQ(space_of_load("cvta.global.u64 %rd2,%rd1; L: ld.f32 %f1,[%rd2]; add.s64 %rd2,%rd2,4; @%p1 bra L; ret;"),
              "global");
    EXPECT_EQ(space_of_load("cvta.global.u64 %rd2,%rd1; cvta.global.u64 %rd3,%rd5; selp.b64 %rd4,%rd2,%rd3,%p1; ld.f32 "
                            "%f1,[%rd4]; ret;"),
              "global");
}

TEST(GenericAccess, DoubtIsTestedAtRunTime) {
    EXPECT_EQ(space_of_load("ld.param.u64 %rd1,[p]; ld.f32 %f1,[%rd1]; ret;"), "tested");
    EXPECT_EQ(space_of_load("cvta.global.u64 %rd2,%rd1; @%p1 cvta.shared.u64 %rd2,%rd1; ld.f32 %f1,[%rd2]; ret;"),
              "tested");
    EXPECT_EQ(
        space_of_load(
            "cvta.global.u64 %rd2,%rd1; ld.shared.u64 %rd4,[%rd1]; add.s64 %rd3,%rd2,%rd4; ld.f32 %f1,[%rd3]; ret;"),
        "tested");
    EXPECT_EQ(space_of_load("cvta.global.u64 %rd2,%rd1; cvta.global.u64 %rd3,%rd5; sub.s64 %rd4,%rd6,%rd3; add.s64 "
                            "%rd4,%rd4,%rd2; ld.f32 %f1,[%rd4]; ret;"),
              "tested");
    EXPECT_EQ(space_of_load("mov.b64 %rd2,{%r1,%r2}; ld.f32 %f1,[%rd2]; ret;"), "tested");
    EXPECT_EQ(space_of_load("ld.f32 %f1,[%rd2]; ret;", "gpu/load"), "generic");
    EXPECT_EQ(space_of_load("ld.f32 %f1,[%rd2]; ret;", "gpu/load.generic"), "generic");
    EXPECT_EQ(space_of_load("ld.f32 %f1,[%rd2]; ret;", "gpu/load.const"), "none");
}

TEST(GenericAccess, ConstantsMadeGenericCannotBeTold) {
    const std::string body = "cvta.const.u64 %rd3,%rd4; ld.f32 %f1,[%rd2]; ret;";
    EXPECT_EQ(space_of_load(body), "noted");
    EXPECT_EQ(space_of_load(body, "gpu/load.const"), "noted");
    EXPECT_EQ(space_of_load(body, "gpu/load.shared"), "tested");
}

}  // namespace
}  // namespace egpu::inject
