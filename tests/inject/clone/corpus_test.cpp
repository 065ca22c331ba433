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
    const std::string folder = named != nullptr && *named != 0 ? named : EGPU_TEST_DATA "/ptx/inject";
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.path().extension() == ".ptx")
            files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    return files;
}

/// A folder that somebody names is compiled for its own target; the test's own files for several GPUs.
std::vector<std::string> architectures_for(const ptx::Module& module) {
    const std::string own(module.target);
    // The oldest that ptxas 13 has stands for older ones.
    if (const char* named = std::getenv("EGPU_PTX_CORPUS"); (named != nullptr && *named != 0) || own.ends_with('a'))
        return {own == "sm_60" || own == "sm_70" ? "sm_75" : own};
    std::vector<std::string> all;
    for (const char* one : {"sm_75", "sm_90", "sm_100"})
        if (std::stoi(std::string(one).substr(3)) >= std::stoi(own.substr(3)))
            all.emplace_back(one);
    return all;
}

struct Tally {
    std::uint32_t copies = 0, with_bank = 0, refused = 0, unmatched = 0;
    std::map<std::string, std::uint32_t> reasons;
};

/// Where a folder is named, generated text is left there for a look.
void keep(const std::string& file, const std::string& text) {
    if (const char* folder = std::getenv("EGPU_KEEP"))
        (void)write_file(fmt::format("{}/{}", folder, file), text);
}

/// What egpu_table holds and how the maps lie, to run a copy by hand.
std::string table_text(const InstrumentedCopy& copy, const Session& session) {
    std::string text;
    for (const auto& layout : session.layouts())
        text += fmt::format("map stride {} capacity {} shards {}\n", layout.stride, layout.capacity, layout.shards);
    for (const auto& entry : copy.table)
        text += entry.kind == TableEntry::Kind::global ? fmt::format("global {}\n", entry.symbol)
                                                       : fmt::format("element {} {}\n", entry.map, entry.slot);
    return text;
}

/// Where ptxas serialises wgmma in the copy and not in the original, a copy without those sites must not.
void check_advice(const std::string& ptxas, const ptx::Module& module, const std::string& kernel, CopyRequest request,
                  const CompileOptions& options, const Compiled& compiled) {
    if (advice_count(compiled.messages) == 0)
        return;
    const auto plain = reassembled_copy(module, kernel);
    ASSERT_TRUE(plain);
    const auto original = compile_ptx(ptxas, *plain, kernel, options);
    ASSERT_TRUE(original);
    if (advice_count(compiled.messages) <= advice_count(original->messages))
        return;
    request.spare_wgmma = true;
    const auto spared = build_copy(request);
    ASSERT_TRUE(spared) << to_text(spared.error());
    const auto again = compile_ptx(ptxas, spared->ptx, kernel, options);
    ASSERT_TRUE(again);
    EXPECT_LE(advice_count(again->messages), advice_count(original->messages)) << again->messages;
    std::vector<std::string> codes;
    for (const auto& outcome : spared->outcomes)
        for (const auto& note : outcome.notes)
            codes.push_back(note.code);
    EXPECT_THAT(codes, ::testing::Contains("EGPU-P255"));
}

/// Every program in one of two bodies, chosen by warp.
void check_two_bodies(const std::string& ptxas, CopyRequest request, const std::string& architecture) {
    request.sampling = {Sampling::Unit::warps, 4};
    for (auto& program : request.programs)
        program.sampled = true;
    const auto copy = build_copy(request);
    if (!copy) {
        EXPECT_EQ(copy.error().code, "EGPU-P260") << to_text(copy.error());
        return;
    }
    EXPECT_EQ(copy->bodies, 2u);
    const auto compiled = compile_ptx(ptxas, copy->ptx, request.entry, {architecture, {}, 300});
    EXPECT_TRUE(compiled) << request.entry << "\n" << to_text(compiled.error());
}

void check_kernel(const std::string& ptxas, const std::string& file, const ptx::Module& module,
                  const std::string& kernel, Tally& tally) {
    Session session;
    for (const char* name : {"bandwidth", "coalescing", "latency", "entry_exit", "instructions", "copies", "atomics"})
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
    for (const auto& architecture : architectures_for(module)) {
        const auto compiled = compile_ptx(ptxas, copy->ptx, kernel, {architecture, {}, 300});
        EXPECT_TRUE(compiled) << file << " " << kernel << "\n" << to_text(compiled.error());
        if (compiled)
            check_advice(ptxas, module, kernel, session.request(module, kernel), {architecture, {}, 300}, *compiled);
    }
    check_two_bodies(ptxas, session.request(module, kernel), architectures_for(module).front());
    auto request = session.request(module, kernel);
    request.constants_in_bank = true;
    const auto with_bank = build_copy(request);
    ASSERT_TRUE(with_bank) << to_text(with_bank.error());
    tally.with_bank += with_bank->bank.empty() ? 0 : 1;
    for (const auto& architecture : architectures_for(module)) {
        if (with_bank->bank.empty())
            break;
        const auto compiled = compile_ptx(ptxas, with_bank->ptx, kernel, {architecture, {}, 300});
        EXPECT_TRUE(compiled) << file << " " << kernel << "\n" << to_text(compiled.error());
    }
    const std::string stem = fmt::format("{}.{}", std::filesystem::path(file).stem().string(), kernel.substr(0, 60));
    keep(stem + ".ptx", copy->ptx);
    keep(stem + ".table", table_text(*copy, session));
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
                check_kernel(*ptxas, file, module, std::string(function.name), tally);
    }
    std::cout << fmt::format("{} copies compiled, {} of them also with a bank, {} kernels refused\n", tally.copies,
                             tally.with_bank, tally.refused);
    for (const auto& [code, count] : tally.reasons)
        std::cout << fmt::format("  {}: {}\n", code, count);
    EXPECT_GT(tally.copies, 0u);
}

}  // namespace
}  // namespace egpu::inject
