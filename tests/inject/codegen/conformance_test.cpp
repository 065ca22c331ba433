// SPDX-License-Identifier: Apache-2.0
// The public eBPF conformance data through specialiser and code generator, on the simulated GPU: each program as it is
// (mostly folded away) and with its constants hidden (mostly executed).
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "../../ebpf/interpreter/conformance_file.hpp"
#include "simulated.hpp"
#include "wrapped.hpp"

namespace egpu::inject::testing {
namespace {

/// What no GPU program does, with the reason.
const std::map<std::string, const char*> kNotApplicable = {
    {"callx", "calls through a register"},
    {"call_unwind_fail", "calls a helper of the suite's own"},
    {"subnet", "loads a word from an address that is no multiple of 4, which stops a GPU"},
};
/// Accesses at known addresses that are not aligned: refused before they can stop a GPU.
constexpr const char* kMisaligned[] = {"ldxw", "ldxdw", "stw", "stxdw"};

struct Tally {
    int run = 0, refused = 0, skipped = 0;
    std::set<std::string> refusals;
};

void run_program(const std::string& name, const std::vector<Instruction>& program, const ConformanceFile& file,
                 Tally& tally) {
    const Object object = wrapped(program, static_cast<std::uint32_t>(file.memory.size()));
    Harness harness(object, 75, 1);
    const auto probe = harness.emit(object);
    if (!probe) {
        ++tally.refused;
        tally.refusals.insert(probe.error().code + " " + name);
        return;
    }
    SimulatedSession session(harness.layouts);
    session.write(0, 0, file.memory.data(), file.memory.size());
    const std::string text = harness.module(*probe);
    const std::string wrong = session.run(text, harness.table, 1, 1, 0);
    EXPECT_EQ(wrong, "") << name << "\n" << text;
    EXPECT_EQ(session.read<std::uint64_t>(1, 0), *file.result) << name << "\n" << text;
    ++tally.run;
}

TEST(Conformance, SimulatedGpuGivesTheExpectedResults) {
    const std::string folder = conformance_folder() + "/tests";
    if (!std::filesystem::is_directory(folder))
        GTEST_SKIP() << "no conformance data at " << folder << ": set EGPU_BPF_CONFORMANCE";
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".data")
            files.push_back(entry.path());
    std::ranges::sort(files);
    Tally tally;
    for (const auto& path : files) {
        const std::string name = path.stem().string();
        const auto file = read_conformance_file(path.string());
        if (!file || !file->result || kNotApplicable.count(name) != 0) {
            ++tally.skipped;
            continue;
        }
        run_program(name, file->program, *file, tally);
        run_program(name + " (opaque)", opaque(file->program), *file, tally);
    }
    std::printf("%d run, %d refused, %d not applicable\n", tally.run, tally.refused, tally.skipped);
    std::set<std::string> expected;
    for (const char* name : kMisaligned)
        for (const char* form : {"", " (opaque)"})
            expected.insert(std::string("EGPU-P223 ") + name + form);
    EXPECT_EQ(tally.refusals, expected);
    EXPECT_GE(tally.run, 400);
}

}  // namespace
}  // namespace egpu::inject::testing
