// SPDX-License-Identifier: Apache-2.0
// clang is found and run; its messages reach the user.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

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
    EXPECT_THAT(wrong.detail, HasSubstr("return undeclared;"));
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
