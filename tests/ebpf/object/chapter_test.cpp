// SPDX-License-Identifier: Apache-2.0
// The chapter beside the header says what the tables say, and its examples are programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "ebpf/helpers/helpers.hpp"
#include "fixtures.hpp"

namespace egpu::ebpf {
namespace {

using testing::HasSubstr;

constexpr const char* kChapter = EGPU_SOURCE_DIR "/core/include/egpu/bpf/README.md";

std::string chapter() {
    const auto text = read_text(kChapter);
    EXPECT_TRUE(text);
    return text ? *text : std::string{};
}

/// The table of helpers is that of core/ebpf/helpers; EGPU_UPDATE_GOLDEN writes it.
TEST(Chapter, ListsEveryHelper) {
    constexpr std::string_view kBegin = "<!-- helpers -->\n", kEnd = "<!-- end of helpers -->\n";
    auto text = chapter();
    ASSERT_THAT(text, HasSubstr(kBegin));
    const auto begin = text.find(kBegin) + kBegin.size(), end = text.find(kEnd);
    ASSERT_NE(end, std::string::npos);
    const std::string wanted = "\n" + helper_table() + "\n";
    if (std::getenv("EGPU_UPDATE_GOLDEN") != nullptr)
        std::ofstream(kChapter) << text.replace(begin, end - begin, wanted);
    else
        EXPECT_EQ(text.substr(begin, end - begin), wanted);
}

TEST(Chapter, ListsEveryFieldWithItsVariability) {
    const auto text = chapter();
    for (const auto& field : context_fields()) {
        const std::string name = "`" + std::string(field.name.substr(0, field.name.find('.'))) + "`";
        const char* variability = field.variability == Variability::site   ? "| site |"
                                  : field.variability == Variability::warp ? "| warp |"
                                                                           : "| lane |";
        bool listed = false;  // in a row of the table that says the same
        for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
            const auto begin = text.rfind('\n', at) + 1;
            listed |= text.substr(begin, text.find('\n', at) - begin).find(variability) != std::string::npos;
        }
        EXPECT_TRUE(listed) << field.name;
    }
}

TEST(Chapter, ExamplesCompileAndAreRead) {
    const auto text = chapter();
    int count = 0;
    for (auto at = text.find("```c\n"); at != std::string::npos; at = text.find("```c\n", at + 1)) {
        const auto begin = at + 5;
        const std::string path = testing::TempDir() + "chapter_example.bpf.c";
        std::ofstream(path) << text.substr(begin, text.find("```", begin) - begin);
        const auto bytes = compile_source(path, EGPU_SOURCE_DIR "/core/include");
        ASSERT_TRUE(bytes) << to_text(bytes.error());
        const auto object = read_object(*bytes, path);
        ASSERT_TRUE(object) << to_text(object.error());
        EXPECT_EQ(object->programs.size(), 1u);
        ++count;
    }
    EXPECT_EQ(count, 12);
}

}  // namespace
}  // namespace egpu::ebpf
