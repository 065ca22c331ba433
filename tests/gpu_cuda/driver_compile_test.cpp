// SPDX-License-Identifier: Apache-2.0
// egpu-driver-compile as the egpu process uses it, with a driver that answers as told.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>

#include "inject/compile/compile.hpp"
#include "inject/compile/process.hpp"

namespace egpu::inject {
namespace {

using ::testing::HasSubstr;

class DriverCompile : public ::testing::Test {
protected:
    void SetUp() override {
        setenv("EGPU_PTXAS", "none", 1);
        setenv("LD_LIBRARY_PATH", EGPU_MOCK_FOLDER, 1);
    }
    void TearDown() override {
        for (const char* name : {"EGPU_PTXAS", "LD_LIBRARY_PATH", "EGPU_MOCK_LINK"})
            unsetenv(name);
    }
    static Compiler tool() {
        const auto compiler = choose_compiler(EGPU_DRIVER_TOOL, 12080);
        EXPECT_TRUE(compiler) << to_text(compiler.error());
        return compiler ? *compiler : Compiler{};
    }
    static Result<Compiled> compile(const std::string& mode, CompileOptions options = {"sm_90", {}, 30}) {
        const Compiler compiler = tool();
        setenv("EGPU_MOCK_LINK", mode.c_str(), 1);
        return compile_ptx(compiler, "the text", "k", options);
    }
    static std::string text(const Compiled& compiled) {
        return {reinterpret_cast<const char*>(compiled.cubin.data()), compiled.cubin.size()};
    }
};

TEST_F(DriverCompile, IsChosenWithTheDriversVersion) {
    const Compiler compiler = tool();
    EXPECT_EQ(compiler.kind, Compiler::Kind::driver);
    EXPECT_EQ(compiler.version, "12.8");
    EXPECT_EQ(compiler.why, "EGPU_PTXAS=none");
}

TEST_F(DriverCompile, GivesCubinFiguresAndLog) {
    for (const char* mode : {"ok", "needs-context"}) {
        const auto compiled = compile(mode);
        ASSERT_TRUE(compiled) << to_text(compiled.error());
        EXPECT_EQ(text(*compiled), "12=1 9=90 uncached\nthe text") << mode;
        EXPECT_EQ(compiled->registers, 20u);
        EXPECT_EQ(compiled->spill_bytes, 20u);
        EXPECT_EQ(compiled->static_shared_bytes, 4096u);
        EXPECT_THAT(compiled->messages, HasSubstr("Used 20 registers"));
    }
}

TEST_F(DriverCompile, OptionsReachTheDriver) {
    const auto compiled =
        compile("ok", {"sm_90a", {"-maxrregcount", "32", "-O1", "-dlcm=cg", "-lineinfo", "-fmad=false"}, 30});
    ASSERT_TRUE(compiled) << to_text(compiled.error());
    EXPECT_EQ(text(*compiled), "12=1 9=65626 0=32 7=1 14=1 13=1 uncached\nthe text");  // 65626: 0x10000 + 90
}

TEST_F(DriverCompile, ARefusalHasTheDriversWords) {
    const auto compiled = compile("error");
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().code, "EGPU-P303");
    EXPECT_THAT(compiled.error().message, HasSubstr("the driver's compiler refuses the copy of 'k'"));
    EXPECT_THAT(compiled.error().detail, HasSubstr("line 3; error   : Unknown symbol 'x'"));
    EXPECT_THAT(compiled.error().detail, HasSubstr("cuLinkAddData answers CUDA_ERROR_INVALID_PTX"));
}

TEST_F(DriverCompile, ACrashTakesItsOwnProcessOnly) {
    const auto compiled = compile("crash");
    ASSERT_FALSE(compiled);
    EXPECT_THAT(compiled.error().message, HasSubstr("the driver's compiler crashed (signal 6)"));
}

TEST_F(DriverCompile, AHangIsEnded) {
    const auto begin = std::chrono::steady_clock::now();
    const auto compiled = compile("hang", {"sm_90", {}, 1});
    ASSERT_FALSE(compiled);
    EXPECT_THAT(compiled.error().message, HasSubstr("the driver's compiler did not end within 1 s"));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST_F(DriverCompile, NoDeviceIsNoCompiler) {
    setenv("EGPU_MOCK_LINK", "no-device", 1);
    const auto compiler = choose_compiler(EGPU_DRIVER_TOOL, 0);
    ASSERT_FALSE(compiler);
    EXPECT_EQ(compiler.error().code, "EGPU-P305");
}

TEST_F(DriverCompile, TheSimulatedDriverHasNoCompilerAndSaysSo) {
    setenv("LD_LIBRARY_PATH", EGPU_SIMULATED_FOLDER, 1);
    const auto compiled = compile("ok");
    ASSERT_FALSE(compiled);
    EXPECT_THAT(compiled.error().detail, HasSubstr("CUDA_ERROR_NOT_SUPPORTED"));
}

TEST_F(DriverCompile, WhatItDoesNotKnowItRefuses) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{EGPU_DRIVER_TOOL},
          {EGPU_DRIVER_TOOL, "-arch=sm_90", "--fmad=false", "a", "-o", "b"},
          {EGPU_DRIVER_TOOL, "-arch=90", "a", "-o", "b"},
          {EGPU_DRIVER_TOOL, "-arch=sm_90", "a"},
          {EGPU_DRIVER_TOOL, "-arch=sm_90", "--maxrregcount=x", "a", "-o", "b"}}) {
        const auto finished = run_process(words, 30);
        ASSERT_TRUE(finished);
        EXPECT_EQ(finished->exit_status, 2) << words.back();
    }
}

}  // namespace
}  // namespace egpu::inject
