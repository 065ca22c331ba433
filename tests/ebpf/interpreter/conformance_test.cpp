// SPDX-License-Identifier: Apache-2.0
// The public conformance suite, where it stands beside the source tree: every file gives its result, and every file of
// negative/ is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "ebpf/conformance/file.hpp"

namespace egpu::ebpf {
namespace {

/// The folder of the suite: $EGPU_BPF_CONFORMANCE, else beside the source tree.
std::string conformance_folder() {
    const char* chosen = std::getenv("EGPU_BPF_CONFORMANCE");
    return chosen != nullptr ? chosen : EGPU_SOURCE_DIR "/../shared/bpf_conformance";
}

std::vector<std::string> files_of(const std::string& folder) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(conformance_folder() + "/" + folder))
        if (entry.path().extension() == ".data")
            files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
}

bool suite_is_there() {
    return std::filesystem::is_directory(conformance_folder() + "/tests");
}

/// r0, or what was wrong with the file or the program.
Result<std::uint64_t> run(const ConformanceFile& file) {
    const auto done = interpret_conformance(file.program, file.memory);
    return done ? Result<std::uint64_t>(done->result) : done.errors();
}

TEST(Conformance, EveryFileGivesItsResult) {
    if (!suite_is_there())
        GTEST_SKIP() << "no conformance suite at " << conformance_folder() << ": set EGPU_BPF_CONFORMANCE";
    std::size_t passed = 0, left_out = 0;
    for (const auto& path : files_of("tests")) {
        auto file = read_conformance_file(path);
        if (!file) {
            ADD_FAILURE() << path << ": " << to_text(file.error());
            continue;
        }
        ASSERT_TRUE(file->result) << path;
        if (!outside_the_standard(file->program).empty()) {
            ++left_out;
            continue;
        }
        const auto result = run(*file);
        EXPECT_TRUE(result) << path << ": " << (result ? "" : to_text(result.error()));
        if (result) {
            EXPECT_EQ(*result, *file->result) << path;
            passed += *result == *file->result ? 1 : 0;
        }
    }
    std::printf("conformance: %zu files give their result, %zu left out\n", passed, left_out);
    EXPECT_GT(passed, 200u);
    EXPECT_EQ(left_out, 2u);  // callx, call_unwind_fail
}

TEST(Conformance, EveryNegativeFileIsRefused) {
    if (!suite_is_there())
        GTEST_SKIP() << "no conformance suite at " << conformance_folder() << ": set EGPU_BPF_CONFORMANCE";
    std::map<std::string, std::size_t> by_code;
    for (const auto& path : files_of("negative")) {
        auto file = read_conformance_file(path);
        if (!file) {
            ++by_code[file.error().code];
            continue;
        }
        const auto result = run(*file);
        if (!result) {
            ++by_code[result.error().code];
            continue;
        }
        // One file expects a result that no right engine gives.
        EXPECT_TRUE(file->result && *result != *file->result) << path << " is accepted";
        ++by_code["another result"];
    }
    std::size_t refused = 0;
    for (const auto& [code, count] : by_code) {
        std::printf("conformance: %zu negative files: %s\n", count, code.c_str());
        refused += count;
    }
    EXPECT_GE(refused, 40u);
    EXPECT_EQ(by_code["another result"], 1u);
    EXPECT_EQ(by_code["EGPU-V001"], 30u);  // one for each unused-*.data
}

/// What the disassembler prints and the encoder checks holds for every program of the suite.
TEST(Conformance, EveryProgramIsWellFormed) {
    if (!suite_is_there())
        GTEST_SKIP() << "no conformance suite at " << conformance_folder() << ": set EGPU_BPF_CONFORMANCE";
    for (const auto& path : files_of("tests")) {
        const auto file = read_conformance_file(path);
        if (!file || !outside_the_standard(file->program).empty())
            continue;  // reported above
        EXPECT_TRUE(check_encoding(file->program)) << path;
        for (const auto& instruction : file->program)
            EXPECT_EQ(to_text(instruction).find("unknown opcode"), instruction.opcode == 0 ? 0u : std::string::npos)
                << path;
    }
}

}  // namespace
}  // namespace egpu::ebpf
