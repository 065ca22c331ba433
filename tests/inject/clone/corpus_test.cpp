// SPDX-License-Identifier: Apache-2.0
// Every kernel of a folder of PTX files, with all bundled programs: accepted by ptxas, or refused by egpu with a
// reason. EGPU_PTX_CORPUS names the folder (files built by nvcc for one architecture); without it the test's own files
// are taken.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "../session.hpp"
#include "inject/compile/compile.hpp"

namespace egpu::inject {
namespace {

using testing::Session;

std::vector<std::string> files_of_corpus() {
    const char* named = std::getenv("EGPU_PTX_CORPUS");
    const std::string folder = named != nullptr ? named : EGPU_TEST_DATA "/ptx/inject";
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.path().extension() == ".ptx")
            files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    return files;
}

struct Tally {
    std::uint32_t copies = 0, refused = 0, unmatched = 0;
    std::map<std::string, std::uint32_t> reasons;
};

/// Where a folder is named, generated text is left there for a look.
void keep(const std::string& file, const std::string& text) {
    if (const char* folder = std::getenv("EGPU_KEEP"))
        (void)write_file(fmt::format("{}/{}", folder, file), text);
}

std::size_t count_of(const std::string& text, std::string_view word) {
    std::size_t count = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + word.size()))
        ++count;
    return count;
}

/// wgmma that ptxas serialises (C75xx) in the copy and not in the original: a probe stands where none may.
void check_no_new_advice(const std::string& ptxas, const ptx::Module& module, const std::string& kernel,
                         const CompileOptions& options, const Compiled& compiled) {
    if (count_of(compiled.messages, "(C75") == 0)
        return;
    const auto plain = reassembled_copy(module, kernel);
    ASSERT_TRUE(plain);
    const auto original = compile_ptx(ptxas, *plain, kernel, options);
    ASSERT_TRUE(original);
    EXPECT_LE(count_of(compiled.messages, "(C75"), count_of(original->messages, "(C75")) << compiled.messages;
}

void check_kernel(const std::string& ptxas, const std::string& file, const ptx::Module& module,
                  const std::string& kernel, const std::string& architecture, Tally& tally) {
    Session session;
    for (const char* name : {"bandwidth", "coalescing", "latency", "entry_exit"})
        session.attach(name);
    const auto copy = build_copy(session.request(module, kernel));
    if (!copy) {
        ++tally.refused;
        ++tally.reasons[copy.error().code];
        std::cout << "refused " << file << " " << kernel << ": " << copy.error().message << "\n";
        EXPECT_THAT(copy.error().code, ::testing::StartsWith("EGPU-P2")) << to_text(copy.error());
        return;
    }
    ++tally.copies;
    EXPECT_GT(copy->sites, 0u);
    const auto compiled = compile_ptx(ptxas, copy->ptx, kernel, {architecture, {}, 300});
    EXPECT_TRUE(compiled) << file << " " << kernel << "\n" << to_text(compiled.error());
    if (compiled)
        check_no_new_advice(ptxas, module, kernel, {architecture, {}, 300}, *compiled);
    keep(fmt::format("{}.{}.ptx", std::filesystem::path(file).stem().string(), kernel.substr(0, 60)), copy->ptx);
}

TEST(Corpus, EveryKernelIsCompiledOrRefused) {
    const auto ptxas = find_ptxas();
    if (!ptxas)
        GTEST_SKIP() << "no ptxas on this machine";
    const char* only = std::getenv("EGPU_ONLY");
    Tally tally;
    for (const auto& file : files_of_corpus()) {
        if (only != nullptr && file.find(only) == std::string::npos)
            continue;
        const auto module = testing::read_module(file);
        for (const auto& function : module.functions)
            if (function.is_entry && function.body != nullptr)
                check_kernel(*ptxas, file, module, std::string(function.name), std::string(module.target), tally);
    }
    std::cout << fmt::format("{} copies compiled, {} kernels refused\n", tally.copies, tally.refused);
    for (const auto& [code, count] : tally.reasons)
        std::cout << fmt::format("  {}: {}\n", code, count);
    EXPECT_GT(tally.copies, 0u);
}

}  // namespace
}  // namespace egpu::inject
