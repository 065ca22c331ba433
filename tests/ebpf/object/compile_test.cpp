// SPDX-License-Identifier: Apache-2.0
// clang is found and run; its messages reach the user.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ebpf/object/clang_messages.hpp"
#include "fixtures.hpp"

namespace egpu::ebpf {
namespace {

using testing::HasSubstr;

const std::string kInclude = EGPU_SOURCE_DIR "/core/include";

/// Sets an environment variable for as long as it lives.
class Environment {
public:
    Environment(const char* name, const char* value) : name_(name) {
        if (const char* before = std::getenv(name))
            before_ = before;
        ::setenv(name, value, 1);
    }
    ~Environment() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

private:
    const char* name_;
    std::optional<std::string> before_;
};

std::string write_source(const std::string& name, const std::string& text) {
    const std::string path = testing::TempDir() + name;
    std::ofstream(path) << text;
    return path;
}

TEST(Compile, GivesAnObjectThatCanBeRead) {
    const auto bytes = compile_source(EGPU_SOURCE_DIR "/plugins/bandwidth/bandwidth.bpf.c", kInclude);
    ASSERT_TRUE(bytes) << to_text(bytes.error());
    const auto object = read_object(*bytes, "bandwidth");
    ASSERT_TRUE(object) << to_text(object.error());
    EXPECT_EQ(object->programs.size(), 1u);
}

TEST(Compile, NamesCarryNoMeaningToAShell) {
    const auto path = write_source("a b;$(touch x)'.bpf.c", "#include <egpu/bpf/egpu.bpf.h>\n");
    const auto bytes = compile_source(path, kInclude);
    EXPECT_TRUE(bytes) << to_text(bytes.error());
}

TEST(Compile, ShowsTheCompilersWords) {
    const auto path =
        write_source("wrong.bpf.c", "#include <egpu/bpf/egpu.bpf.h>\nint f(void)\n{\n\treturn undeclared;\n}\n");
    const auto bytes = compile_source(path, kInclude);
    ASSERT_FALSE(bytes);
    const auto& wrong = bytes.error();
    EXPECT_EQ(wrong.code, "EGPU-B061");
    EXPECT_EQ(wrong.where.file, path);
    EXPECT_EQ(wrong.where.line, 4u);
    EXPECT_EQ(wrong.where.column, 9u);
    EXPECT_THAT(wrong.message, HasSubstr("undeclared"));
    ASSERT_EQ(wrong.quoted.size(), 1u);
    EXPECT_EQ(wrong.quoted[0].text.substr(wrong.quoted[0].underline_column - 1), "undeclared;");
}

const std::string kAtomics =
    "a.bpf.c:8:17: error: Unsupported atomic operations, please use 32/64 bit version\n"
    " __sync_fetch_and_add(&b, 1);\n"
    " ^\n"
    "a.bpf.c:9:2: error: something else\n"
    "fatal error: error in backend: Cannot select: 0x3c03e030: i64,ch = AtomicLoadAdd<(load store (s16))>\n"
    "PLEASE submit a bug report to https://github.com/llvm/llvm-project/issues/\n"
    " #0 0x00007f4a216a5291 error: of a stack\n";

TEST(ClangMessages, BehindTheErrorThatEndedItNothingIsSaid) {
    const auto errors = clang_errors("a.bpf.c", kAtomics);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].where.line, 8u);
    EXPECT_EQ(errors[0].where.column, 17u);
    EXPECT_EQ(errors[0].hints, std::vector<std::string>{"atomic operations work on __u32 and __u64"});
    EXPECT_EQ(errors[0].quoted.size(), 1u);
}

TEST(ClangMessages, OneMistakeIsSaidOnce) {
    const auto errors =
        clang_errors("a.bpf.c",
                     "a.bpf.c:8:13: error: A call to built-in function '__floatunsidf' is not supported.\n"
                     "a.bpf.c:8:71: error: A call to built-in function '__muldf3' is not supported.\n"
                     "a.bpf.c:9:2: error: expected ';'\n"
                     "a.bpf.c:11:2: error: expected ';'\n"
                     "4 errors generated.\n");
    ASSERT_EQ(errors.size(), 2u);
    EXPECT_THAT(errors[0].hints.at(0), HasSubstr("no floating point"));
    EXPECT_EQ(errors[1].message, "expected ';'");
    EXPECT_EQ(errors[1].where.line, 9u);
}

TEST(ClangMessages, LinesWithANumberBeforeThem) {
    const auto errors = clang_errors("a.bpf.c",
                                     "a.bpf.c:8:26: error: use of undeclared identifier 'threadIdx'\n"
                                     "    8 |  add(c, threadIdx.x);\n"
                                     "      |         ^~~~~~~~~\n");
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_THAT(errors[0].hints.at(0), HasSubstr("ctx->thread"));
    ASSERT_EQ(errors[0].quoted.size(), 1u);
    EXPECT_EQ(errors[0].quoted[0].text, " add(c, threadIdx.x);");
    EXPECT_EQ(errors[0].quoted[0].underline_column, 9u);
    EXPECT_EQ(errors[0].quoted[0].underline_length, 9u);
}

TEST(ClangMessages, WithoutAnErrorAllThatWasSaid) {
    const auto errors = clang_errors("a.bpf.c", "clang: killed\n");
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].message, "clang can't compile a.bpf.c");
    EXPECT_EQ(errors[0].detail, "clang: killed");
}

TEST(Compile, WarningsOfMistakesAreKept) {
    const auto path = write_source("warned.bpf.c",
                                   "#include <egpu/bpf/egpu.bpf.h>\n"
                                   "SEC(\"gpu/mem\") int f(void *ctx)\n"
                                   "{\n\tint unused = 1, x;\n\treturn x;\n}\n");
    std::vector<Diagnostic> warnings;
    ASSERT_TRUE(compile_source(path, kInclude, &warnings));
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_EQ(warnings[0].code, "EGPU-B063");
    EXPECT_EQ(warnings[0].severity, Severity::warning);
    EXPECT_EQ(warnings[0].where.line, 5u);
    EXPECT_THAT(warnings[0].message, HasSubstr("'x' is uninitialized"));
}

TEST(Compile, SaysWhatIsMissing) {
    EXPECT_EQ(compile_source(testing::TempDir() + "absent.bpf.c", kInclude).error().code, "EGPU-X001");
    const auto path = write_source("empty.bpf.c", "");
    {
        const Environment none("EGPU_CLANG", "/nonexistent/clang");
        EXPECT_EQ(compile_source(path, kInclude).error().code, "EGPU-B060");
    }
    {
        const Environment path_without("PATH", "/nonexistent");
        const Environment no_choice("EGPU_CLANG", "");
        const auto bytes = compile_source(path, kInclude);
        ASSERT_FALSE(bytes);
        EXPECT_EQ(bytes.error().code, "EGPU-B060");
        EXPECT_THAT(bytes.error().hints.at(0), HasSubstr("apt install clang"));
    }
}

TEST(Compile, HeaderStandsAloneAndAfterLinuxHeaders) {
    for (const char* before : {"", "#include <linux/bpf.h>\n", "#include <linux/types.h>\n", "#include <stdbool.h>\n",
                               "#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n"}) {
        const auto path =
            write_source("header.bpf.c", std::string("#pragma clang diagnostic error \"-Wall\"\n") + before +
                                             "#include <egpu/bpf/egpu.bpf.h>\nEGPU_OPTION(__u32, n, 1, \"n\");\n");
        const auto bytes = compile_source(path, kInclude);
        EXPECT_TRUE(bytes) << before << to_text(bytes.error());
    }
}

}  // namespace
}  // namespace egpu::ebpf
