// SPDX-License-Identifier: Apache-2.0
// What nvcc writes for a corpus of CUDA sources, which stands beside the repository on developers' machines and is no
// part of it: every file is taken, comes back unchanged, and takes a comment before every instruction.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "dump.hpp"
#include "fixtures.hpp"
#include "ptx/fatbin/elf.hpp"
#include "ptx/opcodes/memory.hpp"
#include "ptx/syntax/compare.hpp"
#include "ptx/syntax/edit.hpp"
#include "ptx/syntax/parser.hpp"
#include "ptx/syntax/print.hpp"

namespace egpu::ptx {
namespace {

namespace fs = std::filesystem;

std::string architectures() {
    const char* asked = std::getenv("EGPU_CORPUS_ARCHITECTURES");  // "sm_75 sm_90a"
    return asked == nullptr ? "sm_90" : asked;
}

/// The corpus as PTX, built once a build folder. "" where its sources or nvcc are missing.
std::string corpus(std::string& why_not) {
    const fs::path script = fs::path(EGPU_SOURCE_DIR).parent_path() / "shared/ptx-corpus/build.sh";
    if (!fs::exists(script)) {
        why_not = "no corpus beside the repository (../shared/ptx-corpus)";
        return "";
    }
    if (!fs::exists(EGPU_NVCC)) {
        why_not = "no nvcc on this machine";
        return "";
    }
    const fs::path out = fs::path(EGPU_BINARY_DIR) / "ptx-corpus";
    std::string missing;
    for (std::string rest = architectures() + " "; !rest.empty(); rest.erase(0, rest.find(' ') + 1)) {
        const std::string architecture = rest.substr(0, rest.find(' '));
        if (!architecture.empty() && !fs::exists(out / architecture / "wmma_mma.ptx"))
            missing += architecture + " ";
    }
    if (!missing
             .empty())  // a source that one architecture doesn't compile (wgmma below sm_90a) isn't this test's matter
        test::run(
            fmt::format("NVCC='{}' ARCHS='{}' bash '{}' '{}'", EGPU_NVCC, missing, script.string(), out.string()));
    return out.string();
}

std::vector<std::string> corpus_files(const std::string& folder) {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.path().extension() == ".ptx" && entry.file_size() > 0)
            files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    return files;
}

class Corpus : public testing::Test {
protected:
    void SetUp() override {
        std::string why_not;
        const std::string folder = corpus(why_not);
        if (folder.empty())
            GTEST_SKIP() << why_not;
        files_ = corpus_files(folder);
        ASSERT_GE(files_.size(), 25U) << "nvcc made too few files of the corpus";
    }

    std::vector<std::string> files_;
};

TEST_F(Corpus, IsTakenWholeAndComesBackUnchanged) {
    std::size_t instructions = 0;
    for (const std::string& file : files_) {
        const std::string text = test::read(file);
        const auto module = parse(text, file);
        ASSERT_TRUE(module) << to_text(module.error());
        EXPECT_EQ(Editor(*module).apply(), text) << file;
        instructions += test::instructions_of(*module).size();
    }
    EXPECT_GT(instructions, 20'000U);
}

TEST_F(Corpus, SaysTheSameWhenPrintedFromItsTree) {
    for (const std::string& file : files_) {
        const std::string text = test::read(file);
        const auto module = parse(text, file);
        ASSERT_TRUE(module);
        const std::string printed = print(*module);
        const auto difference = first_difference(text, printed);
        ASSERT_TRUE(difference) << file << to_text(difference.error());
        EXPECT_FALSE(*difference) << file << "\n"
                                  << text.substr((*difference)->first.begin, 80) << "\n"
                                  << printed.substr((*difference)->second.begin, 80);
    }
}

TEST_F(Corpus, HasNoLoadStoreOrAtomicThatTheTableDoesNotDescribe) {
    for (const std::string& file : files_) {
        const auto module = parse(test::read(file), file);
        ASSERT_TRUE(module);
        for (const Instruction* instruction : test::instructions_of(*module)) {
            const std::string_view name = instruction->parts.front();
            const bool plain = name == "ld" || name == "st" || name == "atom" || name == "red" || name == "ldu";
            EXPECT_TRUE(!plain || memory_access(*instruction, true))
                << file << ": " << module->slice(instruction->range);
        }
    }
}

/// Names and bytes of a cubin's code. Other sections hold line numbers of the PTX in names of symbols.
std::string code_of(const std::string& cubin) {
    const auto elf = read_elf(std::as_bytes(std::span(cubin)));
    if (!elf) {
        ADD_FAILURE() << to_text(elf.error());
        return "";
    }
    std::string code;
    for (const ElfSection& section : elf->sections)
        if (section.name.starts_with(".text."))
            code += fmt::format("{} {}\n", section.name, as_text(section.data));
    return code;
}

/// The code that ptxas makes of a PTX text, or "" and a failure. -O0: this asks whether two texts are one program, not
/// for good code.
std::string assembled(const test::TemporaryFolder& folder, const Module& module, const std::string& text) {
    const bool debug = !module.target_options.empty() && module.target_options.front() == "debug";
    const std::string from = folder.write("module.ptx", text), to = folder.path() + "/module.cubin";
    fs::remove(to);
    const auto ran = test::run(
        fmt::format("{} -c {} -arch={} -o {} {}", test::ptxas(), debug ? "-g" : "-O0", module.target, to, from));
    EXPECT_EQ(ran.exit_code, 0) << ran.output;
    return code_of(test::read(to));
}

TEST_F(Corpus, IsTheSameProgramWithACommentBeforeEveryInstructionAndPrintedFromItsTree) {
    if (test::ptxas().empty())
        GTEST_SKIP() << "no ptxas on this machine";
    const test::TemporaryFolder folder;
    std::size_t programs = 0;
    for (const std::string& file : files_) {
        SCOPED_TRACE(file);
        const auto module = parse(test::read(file), file);
        ASSERT_TRUE(module);
        Editor editor(*module);
        for (const Instruction* instruction : test::instructions_of(*module)) {
            editor.insert_before(instruction->range, "/* before */ ");
            editor.insert_after(instruction->range, " // behind\n");
        }
        const std::string original = assembled(folder, *module, *module->text);
        const std::string edited = assembled(folder, *module, editor.apply());
        programs += original.empty() ? 0U : 1U;  // some sources hold nothing for older architectures
        EXPECT_TRUE(original == edited) << "another program";
        EXPECT_TRUE(original == assembled(folder, *module, print(*module))) << "another program when printed";
    }
    EXPECT_GE(programs, 25U);
}

}  // namespace
}  // namespace egpu::ptx
