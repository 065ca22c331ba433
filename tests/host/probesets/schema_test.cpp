// SPDX-License-Identifier: Apache-2.0
#include "host/probesets/schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "host/probesets/keys.hpp"

namespace egpu::host {
namespace {

TEST(ProbeSetSchema, IsWhatTheTableOfKeysMakes) {
    const std::string path = EGPU_SOURCE_DIR "/configs/probeset.schema.json";
    const auto file = read_text(path);
    const std::string made = probe_set_schema();
    if (!file || *file != made) {
        ASSERT_TRUE(write_file(EGPU_BINARY_DIR "/probeset.schema.json", made));
    }
    ASSERT_TRUE(file) << path;
    EXPECT_EQ(*file, made) << "it is in " EGPU_BINARY_DIR "/probeset.schema.json: copy it to configs/";
}

TEST(ProbeSetKeys, EachStandsInTheChapter) {
    const auto chapter = read_text(EGPU_SOURCE_DIR "/configs/README.md");
    ASSERT_TRUE(chapter);
    for (const auto* group : all_key_groups())
        for (const auto& key : group->keys) {
            EXPECT_THAT(*chapter, testing::HasSubstr("`" + std::string(key.name) + "`")) << group->id;
            if (!key.option.empty()) {
                EXPECT_THAT(*chapter, testing::HasSubstr(std::string(key.option))) << key.name;
            }
        }
}

}  // namespace
}  // namespace egpu::host
