// SPDX-License-Identifier: Apache-2.0
// What the verifier accepts doesn't fault in the reference interpreter: random programs, and every accepted case.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "cases.hpp"
#include "random_program.hpp"

namespace egpu::ebpf::test {
namespace {

TEST(Soundness, AcceptedRandomProgramsDoNotFault) {
    std::mt19937 random(20240607);
    Object object = random_object();
    int accepted_programs = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::vector<std::uint8_t> bytes(1 + random() % 60);
        std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::uint8_t>(random()); });
        bytes[0] = 0;
        object.programs.front().instructions = random_instructions(bytes);
        bool accepted = false;
        const auto fault = run_if_accepted(object, object.programs.front(), accepted);
        ASSERT_FALSE(fault) << "round " << round << ": " << *fault;
        accepted_programs += accepted;
    }
    EXPECT_GE(accepted_programs, 500) << "the generator makes too few programs that are accepted to show anything";
}

TEST(Soundness, AcceptedCasesDoNotFault) {
    for (const Case& each : all_cases()) {
        if (!each.problem.empty() || each.expect != "accepted")
            continue;
        // At an entry a program may take more steps than are tried here.
        if (each.program().point.event == Event::kernel_entry)
            continue;
        bool accepted = false;
        const auto fault = run_if_accepted(each.object, each.program(), accepted);
        EXPECT_TRUE(accepted) << each.file << ": " << each.name;
        EXPECT_FALSE(fault) << each.file << ": " << each.name << ": " << *fault;
    }
}

}  // namespace
}  // namespace egpu::ebpf::test
