// SPDX-License-Identifier: Apache-2.0
// What is done when a copy costs residency, with a compiler that says what the text tells it to: "// N registers,
// L bytes" for a text without a limit, "// capped: ..." for one with.
#include "host/pipeline/copies.hpp"

#include "host/pipeline/constants.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ptx/syntax/parser.hpp"

namespace egpu::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What the compiler says of one text.
struct Says {
    std::uint32_t registers = 0, local = 0, spills = 0, shared = 0, advice = 0;
};

class Copies : public ::testing::Test {
protected:
    void SetUp() override {
        setenv("EGPU_CACHE", "0", 1);
        folder_ = std::filesystem::temp_directory_path() / ("egpu-copies-test-" + std::to_string(getpid()));
        std::filesystem::create_directories(folder_);
        compiler_.program = (folder_ / "ptxas").string();
        // The last line of the text that begins with "//capped" (if it has a limit) or "//free" is what is printed.
        std::ofstream(compiler_.program) << R"(#!/bin/sh
while [ $# -gt 1 ]; do case $1 in *.ptx) source=$1;; esac; shift; done
kind=free; grep -q maxnreg "$source" && kind=capped
line=$(grep "^//$kind " "$source") || { echo "error: no $kind"; exit 255; }
set -- "$1" $line
cat <<END
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    $4 bytes stack frame, $5 bytes spill stores, 0 bytes spill loads
ptxas info    : Used $3 registers, $6 bytes smem
END
i=0; while [ $i -lt $7 ]; do echo "ptxas info    : (C7519) serialised"; i=$((i+1)); done
echo cubin > "$1"
)";
        std::filesystem::permissions(compiler_.program, std::filesystem::perms::owner_all);
        image_.architecture = 90;
        image_.options = {"sm_90", {}, 60};
        module_without_programs({40, 0, 0, 0, 0});
    }
    void TearDown() override {
        unsetenv("EGPU_CACHE");
        std::filesystem::remove_all(folder_);
    }

    static std::string line(const char* kind, const Says& says) {
        return "//" + std::string(kind) + " " + std::to_string(says.registers) + " " + std::to_string(says.local) +
               " " + std::to_string(says.spills) + " " + std::to_string(says.shared) + " " +
               std::to_string(says.advice) + "\n";
    }
    static std::string text(const Says& free, const Says& capped) {
        return ".version 8.0\n.target sm_90\n.address_size 64\n" + line("free", free) + line("capped", capped) +
               ".visible .entry k()\n{\nret;\n}\n";
    }
    void module_without_programs(const Says& says) {
        auto parsed = ptx::parse(text(says, says), "test");
        ASSERT_TRUE(parsed);
        image_.module = std::make_shared<const ptx::Module>(std::move(*parsed));
    }
    /// What a kernel's copy comes to, with and without sums in registers.
    CopyBuild build(std::optional<CodeFigures> original, const Says& free, const Says& capped, const Says& bare_free,
                    const Says& bare_capped, const Says& spared) {
        CopyBuild build;
        build.kernel_id = 1;
        build.entry = "k";
        build.bounds = {1024, true};
        build.original = original;
        build.rebuild = [=, this](const Knobs& knobs) -> Result<inject::InstrumentedCopy> {
            ++rebuilds_;
            inject::InstrumentedCopy copy;
            copy.sites = 1;
            copy.accumulators = knobs.accumulators ? 2 : 0;
            copy.ptx = knobs.spare_wgmma    ? text(spared, spared)
                       : knobs.accumulators ? text(free, capped)
                                            : text(bare_free, bare_capped);
            return copy;
        };
        auto first = build.rebuild({});
        build.chosen.copy = std::move(*first);
        rebuilds_ = 0;
        return build;
    }
    CopyBuild built(CopyBuild build) {
        std::vector<CopyBuild> builds;
        builds.push_back(std::move(build));
        Assembler assembler;
        build_copies(assembler, compiler_, image_, builds);
        return std::move(builds.front());
    }

    /// With `by_address` done, the form with a bank of 256 bytes that compiles to this. The number of texts compiled.
    std::uint64_t add_bank(CopyBuild& by_address, const Says& bank, const Says& capped, ConstantForm form) {
        by_address.rebuild = [=, rebuild = by_address.rebuild](const Knobs& knobs) -> Result<inject::InstrumentedCopy> {
            auto copy = rebuild(knobs);
            if (!knobs.constants_in_bank)
                return copy;
            copy->ptx = text(bank, capped);
            if (bank.registers != 0)
                copy->bank = {{"table", 200}, {"other", 56}};
            return copy;
        };
        std::vector<CopyBuild> builds;
        builds.push_back(std::move(by_address));
        Assembler assembler;
        add_banks(assembler, &compiler_, image_, form, builds);
        by_address = std::move(builds.front());
        return assembler.counts().compiled;
    }

    std::filesystem::path folder_;
    inject::Compiler compiler_;
    ImageBuild image_;
    int rebuilds_ = 0;
};

constexpr Says kNone{};
constexpr CodeFigures kOriginal{32, 0, 0};

TEST_F(Copies, AFirstBuildThatFitsIsTaken) {
    const auto done = built(build(kOriginal, {32, 0, 0, 0, 0}, kNone, kNone, kNone, kNone));
    ASSERT_FALSE(done.refusal);
    EXPECT_EQ(done.chosen.compiled->registers, 32u);
    EXPECT_THAT(done.notes, IsEmpty());
    EXPECT_EQ(rebuilds_, 0);
    EXPECT_FALSE(done.reassembled);  // nobody waited for it
}

TEST_F(Copies, FewerRegistersFirst) {
    const auto done = built(build(kOriginal, {40, 0, 0, 0, 0}, {32, 0, 0, 0, 0}, kNone, kNone, kNone));
    ASSERT_FALSE(done.refusal);
    EXPECT_EQ(done.chosen.compiled->registers, 32u);
    EXPECT_THAT(done.chosen.copy.ptx, HasSubstr(".maxnreg 32"));
    EXPECT_THAT(done.notes, ElementsAre("registers capped at 32"));
}

TEST_F(Copies, ThenNoSumsInRegisters) {
    const auto done = built(build(kOriginal, {40, 0, 0, 0, 0}, {32, 16, 8, 0, 0}, {32, 0, 0, 0, 0}, kNone, kNone));
    ASSERT_FALSE(done.refusal);
    EXPECT_EQ(done.chosen.compiled->stack_bytes, 0u);
    EXPECT_EQ(done.chosen.copy.accumulators, 0u);
    EXPECT_THAT(done.notes, ElementsAre("no sums in registers"));
}

TEST_F(Copies, ThenTheOneThatSpillsLeast) {
    const auto done =
        built(build(kOriginal, {40, 0, 0, 0, 0}, {32, 64, 80, 0, 0}, {40, 0, 0, 0, 0}, {32, 16, 24, 0, 0}, kNone));
    ASSERT_FALSE(done.refusal);
    EXPECT_EQ(done.chosen.compiled->spill_bytes, 24u);
    EXPECT_THAT(done.notes, ElementsAre("spills 24 bytes", "registers capped at 32", "no sums in registers"));
}

TEST_F(Copies, ThenARefusalWithBothSetsOfNumbers) {
    const auto done = built(
        build(kOriginal, {40, 0, 0, 0, 0}, {32, 2048, 3000, 0, 0}, {40, 0, 0, 0, 0}, {32, 1040, 1100, 0, 0}, kNone));
    ASSERT_TRUE(done.refusal);
    EXPECT_FALSE(done.failed);
    EXPECT_EQ(
        done.refusal->message,
        "32 -> 40 registers: for blocks of 1 024 threads an SM holds 32 warps, not 64; capped at 32 it takes 2048 "
        "bytes of local memory; capped at 32, without sums in registers, it takes 1040 bytes of local memory");
    EXPECT_NE(done.refusal->fix, "");
}

TEST_F(Copies, LocalMemoryThatTheOriginalHasTooIsNoTrouble) {
    const auto done = built(build(CodeFigures{32, 4096, 0}, {32, 4096, 0, 0, 0}, kNone, kNone, kNone, kNone));
    ASSERT_FALSE(done.refusal);
    EXPECT_EQ(rebuilds_, 0);
}

TEST_F(Copies, LocalMemoryAloneIsNotHelpedByFewerRegisters) {
    const auto done = built(build(kOriginal, {32, 2000, 0, 0, 0}, kNone, {32, 2000, 0, 0, 0}, kNone, kNone));
    ASSERT_TRUE(done.refusal);
    EXPECT_EQ(done.refusal->message, "0 -> 2000 bytes of local memory a thread");
    EXPECT_EQ(rebuilds_, 1);
}

TEST_F(Copies, StaticSharedMemoryMustBeThatOfTheRunningCode) {
    const auto done = built(build(CodeFigures{32, 0, 16384}, {32, 0, 0, 0, 0}, kNone, kNone, kNone, kNone));
    ASSERT_TRUE(done.refusal);
    EXPECT_EQ(done.refusal->code, "EGPU-A015");
    EXPECT_THAT(done.refusal->message, HasSubstr("takes 0 bytes of static shared memory, the running code 16384"));
}

TEST_F(Copies, WhatTheDriverCompilesIsHeldAgainstItsPtxWithoutPrograms) {
    module_without_programs({32, 0, 0, 0, 0});
    const auto done = built(build(std::nullopt, {40, 0, 0, 0, 0}, {32, 0, 0, 0, 0}, kNone, kNone, kNone));
    ASSERT_FALSE(done.refusal);
    ASSERT_TRUE(done.reassembled);
    EXPECT_EQ(done.reassembled->registers, 32u);
    EXPECT_THAT(done.notes, ElementsAre("registers capped at 32"));
}

TEST_F(Copies, AdviceThatTheOriginalDoesNotGetSparesWgmma) {
    module_without_programs({32, 0, 0, 0, 1});
    const auto spared = built(build(kOriginal, {32, 0, 0, 0, 2}, kNone, kNone, kNone, {32, 0, 0, 0, 1}));
    ASSERT_FALSE(spared.refusal);
    EXPECT_TRUE(spared.chosen.knobs.spare_wgmma);
    EXPECT_EQ(spared.notes.size(), 1u);
    const auto same = built(build(kOriginal, {32, 0, 0, 0, 1}, kNone, kNone, kNone, kNone));
    ASSERT_FALSE(same.refusal);
    EXPECT_FALSE(same.chosen.knobs.spare_wgmma);
}

TEST_F(Copies, ACompilerThatRefusesIsAFailure) {
    auto one = build(kOriginal, kNone, kNone, kNone, kNone, kNone);
    one.chosen.copy.ptx = "nothing for this compiler";
    const auto done = built(std::move(one));
    ASSERT_TRUE(done.refusal);
    EXPECT_TRUE(done.failed);
    EXPECT_THAT(done.refusal->message, HasSubstr("ptxas refuses the copy of 'k'"));
}

TEST_F(Copies, ManyAtOnceKeepTheirOwn) {
    std::vector<CopyBuild> builds;
    for (std::uint32_t i = 0; i < 20; ++i)
        builds.push_back(build(kOriginal, {i + 1, 0, 0, 0, 0}, kNone, kNone, kNone, kNone));
    Assembler assembler;
    build_copies(assembler, compiler_, image_, builds);
    for (std::uint32_t i = 0; i < 20; ++i)
        EXPECT_EQ(builds[i].chosen.compiled->registers, i + 1);
    EXPECT_EQ(assembler.counts().compiled, 20u);
}

TEST_F(Copies, ConstantsAreReadByAddressWhereThatCostsNoRegisters) {
    auto done = built(build(kOriginal, {32, 0, 0, 0, 0}, kNone, kNone, kNone, kNone));
    EXPECT_EQ(add_bank(done, {24, 0, 0, 0, 0}, kNone, ConstantForm::by_figures), 0u) << "nothing to gain: not compiled";
    EXPECT_FALSE(done.banked);
    EXPECT_THAT(done.notes, IsEmpty());
}

TEST_F(Copies, ConstantsAreKeptInABankWhereThatSavesRegisters) {
    auto done = built(build(CodeFigures{16, 0, 0}, {30, 0, 0, 0, 0}, kNone, kNone, kNone, kNone));
    EXPECT_EQ(add_bank(done, {22, 0, 0, 0, 0}, kNone, ConstantForm::by_figures), 1u);
    ASSERT_TRUE(done.banked);
    EXPECT_EQ(done.banked->compiled->registers, 22u);
    EXPECT_EQ(done.chosen.compiled->registers, 30u) << "the other form goes with it";
    EXPECT_THAT(done.notes,
                ElementsAre("constants in the constant bank (256 bytes, refreshed before each launch)",
                            "constants by address in graphs and where the bank can't be refreshed: 30 registers"));
}

TEST_F(Copies, FewerThanEightRegistersAreNotWorthARefresh) {
    auto done = built(build(CodeFigures{16, 0, 0}, {30, 0, 0, 0, 0}, kNone, kNone, kNone, kNone));
    EXPECT_EQ(add_bank(done, {23, 0, 0, 0, 0}, kNone, ConstantForm::by_figures), 1u);
    EXPECT_FALSE(done.banked);
    EXPECT_THAT(done.notes, IsEmpty());
}

TEST_F(Copies, ABankForSpillsAndACap) {
    auto done =
        built(build(kOriginal, {80, 0, 0, 0, 0}, {32, 64, 120, 0, 0}, {80, 0, 0, 0, 0}, {32, 64, 120, 0, 0}, kNone));
    ASSERT_FALSE(done.refusal);
    add_bank(done, {34, 0, 0, 0, 0}, {32, 0, 0, 0, 0}, ConstantForm::by_figures);
    ASSERT_TRUE(done.banked);
    EXPECT_EQ(done.banked->compiled->spill_bytes, 0u);
    EXPECT_THAT(
        done.notes,
        ElementsAre("registers capped at 32",
                    "constants in the constant bank (256 bytes, refreshed before each launch)",
                    "constants by address in graphs and where the bank can't be refreshed: 32 registers, spills "
                    "120 bytes, registers capped at 32"));
}

TEST_F(Copies, ABankThatCantBeUsedLeavesTheOtherForm) {
    auto refused = built(build(CodeFigures{16, 0, 0}, {30, 0, 0, 0, 0}, kNone, kNone, kNone, kNone));
    add_bank(refused, {20, 4096, 0, 0, 0}, {20, 4096, 0, 0, 0}, ConstantForm::bank);
    EXPECT_FALSE(refused.banked);
    EXPECT_FALSE(refused.refusal);
    auto nothing = built(build(CodeFigures{16, 0, 0}, {30, 0, 0, 0, 0}, kNone, kNone, kNone, kNone));
    EXPECT_EQ(add_bank(nothing, kNone, kNone, ConstantForm::bank), 0u) << "no constant may lie in a bank";
    EXPECT_FALSE(nothing.banked);
}

TEST_F(Copies, WhereConstantsLieCanBeAskedFor) {
    auto bank = built(build(kOriginal, {32, 0, 0, 0, 0}, kNone, kNone, kNone, kNone));
    add_bank(bank, {32, 0, 0, 0, 0}, kNone, ConstantForm::bank);
    EXPECT_TRUE(bank.banked);
    auto address = built(build(CodeFigures{16, 0, 0}, {30, 0, 0, 0, 0}, kNone, kNone, kNone, kNone));
    add_bank(address, {16, 0, 0, 0, 0}, kNone, ConstantForm::by_address);
    EXPECT_FALSE(address.banked);
}

TEST(RegisterLimit, StandsBehindOtherDirectivesAndReplacesAnOldOne) {
    const std::string head = ".version 8.0\n.target sm_90\n.address_size 64\n";
    const auto limited =
        with_register_limit(head + ".entry k()\n.maxntid 128, 1, 1\n.maxnreg 200\n{ ret; }\n", "k", 40);
    EXPECT_THAT(limited, HasSubstr(".maxnreg 40\n{"));
    EXPECT_THAT(limited, ::testing::Not(HasSubstr("200")));
    EXPECT_THAT(limited, HasSubstr(".maxntid 128, 1, 1"));
    EXPECT_TRUE(ptx::parse(limited, "test"));
}

}  // namespace
}  // namespace egpu::host
