// SPDX-License-Identifier: Apache-2.0
#include "inject/compile/compile.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "inject/compile/messages.hpp"
#include "inject/compile/options.hpp"
#include "inject/compile/process.hpp"

namespace egpu::inject {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Options, OnlyThoseThatChangeCode) {
    std::vector<std::string> dropped;
    EXPECT_THAT(code_options({"-maxrregcount", "32", "-O", "1", "-arch", "sm_90", "-dlcm", "cg", "-m", "64", "-fmad",
                              "false", "-lineinfo", "--opt-level=2", "-O3"},
                             &dropped),
                ElementsAre("--maxrregcount=32", "--opt-level=1", "--def-load-cache=cg", "--fmad=false",
                            "--generate-line-info", "--opt-level=2", "--opt-level=3"));
    EXPECT_THAT(dropped, IsEmpty());  // architecture and machine are no part of how
    EXPECT_THAT(code_options({"-future-option", "3", "--gpu-name=sm_90", "-g", "-v", "-O", "1"}, &dropped),
                ElementsAre("--opt-level=1"));
    EXPECT_THAT(dropped, ElementsAre("-future-option", "3", "-g"));
}

TEST(Options, MachineCodeWasMadeByItsNoteAndNothingElse) {
    OriginalOptions original;
    original.runs_cubin = true;
    original.cubin_note = " -maxrregcount 32 -lineinfo  -arch sm_75 -dlcm cg -m 64 ";
    original.ptx_record = "-maxrregcount=64";
    original.max_registers = 40;
    original.optimisation_level = 0;
    EXPECT_THAT(options_of_original(original),
                ElementsAre("--maxrregcount=32", "--generate-line-info", "--def-load-cache=cg"));
}

TEST(Options, WhatTheDriverCompilesFollowsTheLoadCallBeforeTheRecord) {
    OriginalOptions original;
    original.ptx_record = "-dlcm=cg  -maxrregcount=32 --generate-line-info";
    EXPECT_THAT(options_of_original(original),
                ElementsAre("--def-load-cache=cg", "--maxrregcount=32", "--generate-line-info"));
    original.max_registers = 40;
    original.optimisation_level = 1;
    EXPECT_THAT(options_of_original(original),
                ElementsAre("--def-load-cache=cg", "--generate-line-info", "--maxrregcount=40", "--opt-level=1"));
    original.optimisation_level = 5;  // no level that there is
    EXPECT_THAT(options_of_original(original),
                ElementsAre("--def-load-cache=cg", "--generate-line-info", "--maxrregcount=40"));
}

TEST(Options, NothingThatNamesAFileGetsThrough) {
    EXPECT_THAT(code_options({"-o", "/etc/passwd", "--options-file=/tmp/x", "-optf", "y", "-fmad", "../x",
                              "-maxrregcount=-o", "-dlcm=", "fmad", "-e", "k", "-O", "/x", "-maxrregcount"}),
                IsEmpty());
}

TEST(Messages, FiguresOfTheEntry) {
    const char* const output =
        "ptxas info    : 0 bytes gmem, 24 bytes cmem[3]\n"
        "ptxas info    : Compiling entry function 'other' for 'sm_90'\n"
        "ptxas info    : Function properties for other\n"
        "    64 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads\n"
        "ptxas info    : Used 99 registers, used 0 barriers, 1 bytes smem\n"
        "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
        "ptxas info    : Function properties for k\n"
        "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
        "ptxas info    : Used 20 registers, used 1 barriers, 16 bytes cumulative stack size, 4096 bytes smem, 360 "
        "bytes cmem[0]\n"
        "ptxas info    : Function properties for device_function\n"
        "    32 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
    Compiled compiled;
    read_figures(output, "k", compiled);
    EXPECT_EQ(compiled.registers, 20u);
    EXPECT_EQ(compiled.spill_bytes, 20u);
    EXPECT_EQ(compiled.stack_bytes, 16u);
    EXPECT_EQ(compiled.static_shared_bytes, 4096u);
    EXPECT_EQ(release_in("Cuda compilation tools, release 13.0, V13.0.88"), "13.0");
    EXPECT_EQ(release_in("something else"), "");
    EXPECT_EQ(advice_count(output), 0u);
    EXPECT_EQ(advice_count("ptxas info    : (C7519) a\nptxas info    : (C7508) b\n"), 2u);
}

/// A folder with a script that stands for ptxas.
class FakeTool : public ::testing::Test {
protected:
    void SetUp() override {
        folder_ = std::filesystem::temp_directory_path() / ("egpu-test-" + std::to_string(getpid()));
        std::filesystem::create_directories(folder_ / "tmp");
        setenv("TMPDIR", (folder_ / "tmp").c_str(), 1);
    }
    void TearDown() override {
        unsetenv("TMPDIR");
        std::filesystem::remove_all(folder_);
    }
    std::string script(const std::string& text) {
        const auto path = folder_ / "ptxas";
        std::ofstream(path) << "#!/bin/sh\n" << text;
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
        return path.string();
    }
    std::size_t files_left() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_ / "tmp"), {}));
    }
    std::filesystem::path folder_;
};

TEST_F(FakeTool, ArgumentsPassAsTheyAreAndNothingIsLeft) {
    const auto tool = script(
        "for a; do echo \"arg $a\"; last=$a; done; echo cubin > \"$last\"; stat -c %a \"$(dirname \"$last\")\"\n");
    const auto compiled = compile_ptx(tool, "text", "k$str", {"sm_90a", {"-fmad", "false"}, 20});
    ASSERT_TRUE(compiled) << to_text(compiled.error());
    EXPECT_THAT(compiled->messages, HasSubstr("arg -arch=sm_90a\narg --fmad=false\n"));
    EXPECT_THAT(compiled->messages, HasSubstr("\n700\n"));
    EXPECT_EQ(compiled->cubin.size(), 6u);
    EXPECT_EQ(files_left(), 0u);
}

TEST_F(FakeTool, ATimeoutKillsItAndItsChildren) {
    const auto tool = script("sleep 60 & sleep 60\n");
    const auto begin = std::chrono::steady_clock::now();
    const auto compiled = compile_ptx(tool, "text", "k", {"sm_90", {}, 1});
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().code, "EGPU-P303");
    EXPECT_THAT(compiled.error().message, HasSubstr("within 1 s"));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    EXPECT_EQ(files_left(), 0u);
}

TEST_F(FakeTool, ItsOwnMessagesAreShown) {
    const auto tool = script("echo 'ptxas copy.ptx, line 7; error   : Unknown symbol x' >&2; exit 255\n");
    const auto compiled = compile_ptx(tool, "text", "k", {"sm_90", {}, 20});
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().code, "EGPU-P303");
    EXPECT_THAT(compiled.error().detail, HasSubstr("line 7; error   : Unknown symbol x"));
}

TEST_F(FakeTool, SuccessWithoutACubinIsAnError) {
    EXPECT_FALSE(compile_ptx(script("exit 0\n"), "text", "k", {"sm_90", {}, 20}));
}

TEST_F(FakeTool, OutputWithoutEndIsCut) {
    const auto finished = run_process({script("head -c 9000000 /dev/zero\n")}, 20);
    ASSERT_TRUE(finished);
    EXPECT_EQ(finished->output.size(), kOutputLimit);
}

TEST_F(FakeTool, NamedToolIsTakenOrNone) {
    setenv("EGPU_PTXAS", script("exit 0\n").c_str(), 1);
    EXPECT_EQ(find_ptxas(), (folder_ / "ptxas").string());
    setenv("EGPU_PTXAS", (folder_ / "missing").c_str(), 1);
    EXPECT_EQ(find_ptxas(), std::nullopt);
    unsetenv("EGPU_PTXAS");
}

TEST_F(FakeTool, ACrashIsSaidToBeOne) {
    const auto compiled = compile_ptx(script("kill -SEGV $$\n"), "text", "k", {"sm_90", {}, 20});
    ASSERT_FALSE(compiled);
    EXPECT_THAT(compiled.error().message, HasSubstr("ptxas crashed (signal 11) on the copy of 'k'"));
}

TEST_F(FakeTool, AStopEndsIt) {
    Compiler compiler;
    compiler.program = script("sleep 60\n");
    std::stop_source stop;
    std::jthread stopper([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        stop.request_stop();
    });
    const auto begin = std::chrono::steady_clock::now();
    const auto compiled = compile_ptx(compiler, "text", "k", {"sm_90", {}, 100}, stop.get_token());
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().code, "EGPU-P306");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

/// EGPU_PTXAS and the tool that stands for the driver's.
class Choice : public FakeTool {
protected:
    void SetUp() override {
        FakeTool::SetUp();
        driver_ = (folder_ / "egpu-driver-compile").string();
        std::ofstream(driver_) << "#!/bin/sh\necho release 12.4\n";
        std::filesystem::permissions(driver_, std::filesystem::perms::owner_all);
    }
    void TearDown() override {
        unsetenv("EGPU_PTXAS");
        FakeTool::TearDown();
    }
    std::string driver_;
};

TEST_F(Choice, PtxasFirst) {
    const auto tool = script("echo release 13.0, V13.0.88\n");
    setenv("EGPU_PTXAS", tool.c_str(), 1);
    const auto compiler = choose_compiler(driver_, 13000);
    ASSERT_TRUE(compiler);
    EXPECT_EQ(compiler->kind, Compiler::Kind::ptxas);
    EXPECT_EQ(compiler->version, "13.0");
    EXPECT_THAT(untold_options(*compiler, {"-fmad", "false"}), IsEmpty());
    const auto before = compiler->identity;
    EXPECT_EQ(choose_compiler(driver_, 13000)->identity, before);
    script("echo release 13.0, V13.0.88 # rebuilt\n");
    EXPECT_NE(choose_compiler(driver_, 13000)->identity, before);
}

TEST_F(Choice, TheDriverWhereItDoesNotTakeWhatPtxasMakes) {
    setenv("EGPU_PTXAS", script("echo release 13.1, V13.1.1\n").c_str(), 1);
    const auto compiler = choose_compiler(driver_, 12040);
    ASSERT_TRUE(compiler);
    EXPECT_EQ(compiler->kind, Compiler::Kind::driver);
    EXPECT_EQ(compiler->program, driver_);
    EXPECT_EQ(compiler->version, "12.4");
    EXPECT_EQ(compiler->why, "ptxas 13.1 is newer than the driver (CUDA 12.4)");
    EXPECT_EQ(choose_compiler(driver_, 13000)->kind, Compiler::Kind::ptxas);  // the same major version
}

TEST_F(Choice, TheDriverWhereNoPtxasIsWanted) {
    setenv("EGPU_PTXAS", "none", 1);
    const auto compiler = choose_compiler(driver_, 0);
    ASSERT_TRUE(compiler);
    EXPECT_EQ(compiler->kind, Compiler::Kind::driver);
    EXPECT_THAT(untold_options(*compiler, {"-fmad", "false", "-maxrregcount", "32", "-O1", "-dlcm", "cs", "-lineinfo"}),
                ElementsAre("--fmad=false", "--def-load-cache=cs"));
}

TEST_F(Choice, NeitherIsAnErrorThatSaysWhatToDo) {
    setenv("EGPU_PTXAS", "none", 1);
    for (const std::string& tool : {std::string("/nonexistent/tool"), script("echo no driver; exit 3\n")}) {
        const auto compiler = choose_compiler(tool, 0);
        ASSERT_FALSE(compiler);
        EXPECT_EQ(compiler.error().code, "EGPU-P305");
        EXPECT_THAT(compiler.error().fix, HasSubstr("EGPU_PTXAS"));
    }
    setenv("EGPU_PTXAS", "/nonexistent/ptxas", 1);
    const auto compiler = choose_compiler(driver_, 0);
    ASSERT_FALSE(compiler);  // named wrongly: not silently another compiler
    EXPECT_THAT(compiler.error().message, HasSubstr("/nonexistent/ptxas"));
}

TEST(Compile, RefusesWhatIsNoArchitecture) {
    for (const char* name : {"", "sm_", "compute_90", "sm_90 -o x", "sm_90;ls"}) {
        const auto compiled = compile_ptx("/bin/true", "", "k", {name, {}, 1});
        ASSERT_FALSE(compiled) << name;
        EXPECT_EQ(compiled.error().code, "EGPU-P302");
    }
}

TEST(Compile, MissingToolIsAnError) {
    const auto compiled = compile_ptx("/nonexistent/ptxas", "", "k", {"sm_90", {}, 1});
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().code, "EGPU-P301");
}

TEST(Ptxas, CompilesAndRefuses) {
    const auto ptxas = find_ptxas();
    if (!ptxas)
        GTEST_SKIP() << "no ptxas on this machine";
    EXPECT_THAT(ptxas_version(*ptxas), ::testing::MatchesRegex("[0-9]+\\.[0-9]+"));
    const std::string head = ".version 6.4\n.target sm_75\n.address_size 64\n.visible .entry k() {\n";
    const auto good =
        compile_ptx(*ptxas, head + ".shared .b8 s[512]; st.shared.u32 [s], 1; ret; }", "k", {"sm_90", {}, 60});
    ASSERT_TRUE(good) << to_text(good.error());
    EXPECT_GT(good->registers, 0u);
    EXPECT_EQ(good->static_shared_bytes, 512u);
    EXPECT_GT(good->cubin.size(), 100u);
    const auto bad = compile_ptx(*ptxas, head + "nonsense; }", "k", {"sm_90", {}, 60});
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code, "EGPU-P303");
    const auto unknown = compile_ptx(*ptxas, head + "ret; }", "k", {"sm_999", {}, 60});
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, "EGPU-P304");
}

}  // namespace
}  // namespace egpu::inject
