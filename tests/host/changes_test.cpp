// SPDX-License-Identifier: Apache-2.0
// Probes that come and go where copies are compiled: the figures and notes of the copy that a kernel runs, fallbacks
// and refusals, copies that come back. With a compiler that says what the programs in its text cost.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "host/pipeline/pipeline.hpp"

namespace egpu::host {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kKernels = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry first(.param .u64 p)
{
.reg .u64 %rd<3>;
.reg .u32 %r<2>;
ld.param.u64 %rd1, [p];
cvta.to.global.u64 %rd2, %rd1;
ld.global.u32 %r1, [%rd2];
st.global.u32 [%rd2+4], %r1;
ret;
}
.visible .entry second(.param .u64 p)
{
.reg .u64 %rd<3>;
.reg .u32 %r<2>;
ld.param.u64 %rd1, [p];
cvta.to.global.u64 %rd2, %rd1;
ld.global.u32 %r1, [%rd2+8];
st.global.u32 [%rd2+4], %r1;
ret;
}
)";

/// Without programs 30 registers; with bandwidth 31; with coalescing 40, which a limit mends; with latency 200, which a
/// limit makes worse.
constexpr const char* kCompiler = R"(#!/bin/sh
[ "$1" = --version ] && { echo "Cuda compilation tools, release 13.0, V13.0.88"; exit; }
while [ $# -gt 1 ]; do case $1 in *.ptx) source=$1;; esac; shift; done
entry=$(sed -n 's/.*\.entry \([a-z]*\).*/\1/p' "$source" | head -1)
registers=30 local=0
grep -q red.relaxed "$source" && registers=31
grep -q match.any "$source" && registers=40
grep -q maxnreg "$source" && registers=32
grep -q clock64 "$source" && { [ $registers = 32 ] && local=4096 || registers=200; }
echo "$entry $registers" >> "${0%/*}/calls"
cat <<END
ptxas info    : Compiling entry function '$entry' for 'sm_90'
ptxas info    : Function properties for $entry
    $local bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used $registers registers, 0 bytes smem
END
echo "cubin $entry $registers" > "$1"
)";

class Changes : public ::testing::Test {
protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("egpu-changes-test-" + std::to_string(getpid()));
        std::filesystem::create_directories(folder_);
        const auto program = folder_ / "ptxas";
        std::ofstream(program) << kCompiler;
        std::filesystem::permissions(program, std::filesystem::perms::owner_all);
        setenv("EGPU_PTXAS", program.c_str(), 1);
        setenv("EGPU_CACHE", "0", 1);
        pipeline_.emplace(std::vector<LoadedProbe>{}, KernelSelection{}, 4U);
        device_.simulated = false;
        const std::string text = kKernels;
        answer_ = pipeline_->add_image(std::as_bytes(std::span(text.c_str(), text.size() + 1)), "test", device_);
    }
    void TearDown() override {
        pipeline_.reset();
        unsetenv("EGPU_PTXAS");
        unsetenv("EGPU_CACHE");
        std::filesystem::remove_all(folder_);
    }

    static LoadedProbe probe(const std::string& name) {
        auto loaded = load_probe(EGPU_BINARY_DIR "/plugins/" + name + "/" + name + ".bpf.o");
        EXPECT_TRUE(loaded) << (loaded ? "" : to_text(loaded.error()));
        return std::move(*loaded);
    }
    ProbeChange added(const std::string& name) {
        const auto room = [](const std::vector<Map>& maps) -> Result<std::vector<maps::Layout>> {
            std::vector<maps::Layout> layouts;
            for (const auto& map : maps)
                layouts.push_back(maps::make_layout(map.definition.value_bytes, map.definition.max_entries,
                                                    map.definition.per_sm(), 4));
            return layouts;
        };
        auto change = pipeline_->add_probe(probe(name), room, 1);
        EXPECT_TRUE(change) << (change ? "" : to_text(change.error()));
        return std::move(*change);
    }
    ProbeChange removed(const std::string& name) {
        auto change = pipeline_->remove_probe(name, 2);
        EXPECT_TRUE(change) << (change ? "" : to_text(change.error()));
        return std::move(*change);
    }
    const Kernel& kernel(std::uint32_t id) { return *pipeline_->catalogue().kernel(id); }
    std::string image_of(std::uint32_t copy_id) {
        const auto& image = pipeline_->copy(copy_id).image;
        return {reinterpret_cast<const char*>(image.data()), image.size()};
    }
    std::size_t calls() {
        std::ifstream file(folder_ / "calls");
        return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
    }

    std::filesystem::path folder_;
    std::optional<Pipeline> pipeline_;
    Device device_;
    ImageAnswer answer_;
};

TEST_F(Changes, AProbeOfARunningSessionIsCompiledAndGoes) {
    EXPECT_THAT(answer_.kernels, SizeIs(2));
    EXPECT_THAT(answer_.copies, IsEmpty());
    EXPECT_EQ(calls(), 0u);
    EXPECT_THAT(added("bandwidth").copies, ElementsAre(1, 2));
    for (const std::uint32_t id : {1u, 2u}) {
        EXPECT_EQ(kernel(id).state, KernelState::instrumented);
        EXPECT_EQ(kernel(id).copy, id);
        EXPECT_EQ(kernel(id).architecture, 90u);
        EXPECT_EQ(kernel(id).registers.reassembled, 30u);
        EXPECT_EQ(kernel(id).registers.instrumented, 31u);
    }
    EXPECT_EQ(image_of(2), "cubin second 31\n");
    EXPECT_EQ(kernel(1).proof_reason, "the driver compiles this PTX itself");
    EXPECT_THAT(removed("bandwidth").originals, ElementsAre(1, 2));
    EXPECT_EQ(kernel(1).state, KernelState::not_matched);
    EXPECT_EQ(kernel(1).registers.instrumented, std::nullopt);
    EXPECT_EQ(kernel(1).registers.reassembled, 30u);
}

/// A kernel that only writes to a surface has no place for bandwidth, which asks for the space: the probe says why.
TEST_F(Changes, WhatAProbeCantCountIsSaidOfAKernelWithoutAPlace) {
    const std::string text =
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry surfaces(.param .u64 p)\n{\n"
        ".reg .u64 %rd<3>;\n.reg .b32 %r<3>;\nld.param.u64 %rd1, [p];\n"
        "sust.b.1d.b32.trap [%rd1, {%r1}], %r2;\nret;\n}\n";
    const auto notes = [&] { return pipeline_->catalogue().probes.at(0).notes; };
    const auto says_why = ElementsAre(AllOf(HasSubstr("surfaces: 1 accesses"), HasSubstr("reads space")));
    // At first, then where it comes to a running session.
    std::vector<LoadedProbe> probes;
    probes.push_back(probe("bandwidth"));
    pipeline_.emplace(std::move(probes), KernelSelection{}, 4U);
    pipeline_->add_image(std::as_bytes(std::span(text.c_str(), text.size() + 1)), "test", device_);
    EXPECT_EQ(kernel(1).state, KernelState::not_matched);
    EXPECT_THAT(notes(), says_why);
    pipeline_.emplace(std::vector<LoadedProbe>{}, KernelSelection{}, 4U);
    pipeline_->add_image(std::as_bytes(std::span(text.c_str(), text.size() + 1)), "test", device_);
    added("bandwidth");
    EXPECT_EQ(kernel(1).state, KernelState::not_matched);
    EXPECT_THAT(notes(), says_why);
    EXPECT_EQ(pipeline_->catalogue().probes.at(0).state, ProbeState::matched_nothing);
}

TEST_F(Changes, ASetThatComesBackHasItsCopiesAndNothingIsCompiled) {
    added("bandwidth");
    removed("bandwidth");
    const auto before = calls();
    EXPECT_EQ(before, 4u);  // each kernel with and without programs
    EXPECT_THAT(added("bandwidth").copies, ElementsAre(1, 2));
    EXPECT_EQ(calls(), before);
    EXPECT_EQ(kernel(2).registers.instrumented, 31u);
}

TEST_F(Changes, FiguresNotesAndSitesAreThoseOfTheCopyThatRuns) {
    added("bandwidth");
    const auto sites = pipeline_->catalogue().sites.size();
    EXPECT_EQ(sites, 4u);
    EXPECT_THAT(added("coalescing").copies, ElementsAre(3, 4));
    EXPECT_EQ(kernel(1).registers.instrumented, 32u);
    EXPECT_THAT(kernel(1).notes, ElementsAre("registers capped at 32"));
    EXPECT_THAT(pipeline_->catalogue().copies[2].probes, ElementsAre(0, 1));
    // Built twice, and the places have the numbers that they had.
    EXPECT_EQ(pipeline_->catalogue().sites.size(), sites);
    EXPECT_THAT(removed("coalescing").copies, ElementsAre(1, 2));
    EXPECT_EQ(kernel(1).registers.instrumented, 31u);
    EXPECT_THAT(kernel(1).notes, IsEmpty());
}

TEST_F(Changes, AProbeThatCostsTooMuchIsRefusedAndOthersGoOn) {
    added("bandwidth");
    const auto change = added("latency");
    EXPECT_THAT(change.copies, IsEmpty());
    EXPECT_THAT(change.attached, IsEmpty());
    ASSERT_THAT(change.refused, SizeIs(2));
    EXPECT_THAT(change.refused[0].second, HasSubstr("30 -> 200 registers"));
    EXPECT_EQ(kernel(1).state, KernelState::instrumented);
    EXPECT_EQ(kernel(1).copy, 1u);
    EXPECT_EQ(kernel(1).registers.instrumented, 31u);
    EXPECT_EQ(pipeline_->catalogue().probes[1].state, ProbeState::matched_nothing);
    // Alone it is refused as well; what was said of it goes with it.
    EXPECT_THAT(removed("bandwidth").originals, ElementsAre(1, 2));
    EXPECT_EQ(kernel(1).state, KernelState::refused);
    EXPECT_THAT(kernel(1).reason, HasSubstr("30 -> 200 registers"));
    EXPECT_NE(kernel(1).fix, "");
    removed("latency");
    EXPECT_EQ(kernel(1).state, KernelState::not_matched);
    EXPECT_EQ(kernel(1).fix, "");
}

TEST_F(Changes, AnImageThatComesAgainHasTheCopiesOfNow) {
    added("bandwidth");
    const std::string text = kKernels;
    const auto bytes = std::as_bytes(std::span(text.c_str(), text.size() + 1));
    const auto before = calls();
    const auto again = pipeline_->add_image(bytes, "test", device_);
    EXPECT_EQ(again.kernels, answer_.kernels);
    ASSERT_THAT(again.copies, SizeIs(2));
    EXPECT_EQ(again.copies[1].copy_id, 2u);
    EXPECT_EQ(calls(), before);
    // Other options of the call that loads it do not go unsaid.
    pipeline_->add_image(bytes, "test", device_, LoadOptions{32, 4});
    EXPECT_THAT(pipeline_->catalogue().diagnostics, ElementsAre(HasSubstr("other JIT options")));
    removed("bandwidth");
    EXPECT_THAT(pipeline_->known_image(content_hash(bytes))->copies, IsEmpty());
}

}  // namespace
}  // namespace egpu::host
