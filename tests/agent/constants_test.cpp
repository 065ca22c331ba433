// SPDX-License-Identifier: Apache-2.0
// Copies with constants in a bank of their own: refreshed in the launch's stream before each launch, or the form that
// reads by address runs. Kernel "work" has a copy in both forms; the mock compares the bank with the application's
// table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_host.hpp"

namespace egpu::test {
namespace {

using testing::HasSubstr;

HostOptions with_lines(const std::string& lines) {
    HostOptions options;
    options.bank_lines = lines;
    return options;
}
HostOptions with_bank() {
    return with_lines("// mock-add\n// mock-bank\n// mock-registers 34\n");
}

std::string banked(int launches) {
    return "banked " + std::to_string(launches) + " stale 0\n";
}

struct Run {
    const char* way;
    int launches;  ///< each of which runs the copy
    int banked;    ///< those that read the bank
};
void PrintTo(const Run& run, std::ostream* out) {
    *out << run.way;
}

class Constants : public testing::TestWithParam<Run> {};

TEST_P(Constants, AreRefreshedBeforeEachLaunchOrReadByAddress) {
    FakeHost host(with_bank());
    const Outcome outcome = run_application(host.name(), GetParam().way, 5);
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(banked(GetParam().banked)));
    const auto launches = static_cast<std::uint64_t>(GetParam().launches);
    EXPECT_EQ(host.work().launches, launches);
    EXPECT_EQ(host.work().launches_instrumented, launches) << "no original ran";
    EXPECT_EQ(host.counted(), launches) << "either form counts to the same maps";
    EXPECT_EQ(host.view().copies()[0].launches, launches);
    EXPECT_EQ(host.view().copies()[0].launches_banked, static_cast<std::uint64_t>(GetParam().banked));
    EXPECT_EQ(host.work().copy_reason, 0u);
    ASSERT_GE(host.results.size(), 1u);
    EXPECT_EQ(host.results[0].registers, 34u) << "of the form that plain launches run";
    EXPECT_EQ(host.results[0].bank_reason, 0u);
}

// Streams: 5 on the first, 5 by address on the second, 5 on the first; after a synchronisation 5 on the second, which
// has the bank then, and 5 by address on the first.
INSTANTIATE_TEST_SUITE_P(Agent, Constants,
                         testing::Values(Run{"constants-plain", 5, 5}, Run{"constants-per-thread", 5, 5},
                                         Run{"constants-streams", 25, 15}, Run{"constants-synchronised", 10, 5},
                                         Run{"constants-captured", 10, 5}, Run{"constants-programmatic", 10, 5},
                                         Run{"constants-reloaded", 10, 10}),
                         [](const auto& info) {
                             std::string name = info.param.way;
                             std::erase(name, '-');
                             return name;
                         });

TEST(ConstantsSession, ARefreshThatFailsLeavesTheOtherForm) {
    FakeHost host(with_bank());
    const Outcome outcome = run_application(host.name(), "constants-plain", 5, {"MOCK_REFRESH_ERROR=2"});
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(banked(0)));
    EXPECT_EQ(host.work().launches_instrumented, 5u);
    EXPECT_EQ(host.view().copies()[0].launches_banked, 0u);
    EXPECT_EQ(host.work().copy_reason, static_cast<std::uint32_t>(EGPU_COPY_NO_REFRESH));
    EXPECT_EQ(host.counted(), 5u);
}

struct Refusal {
    const char* name;
    HostOptions options;
    egpu_copy_reason reason;
};
void PrintTo(const Refusal& refusal, std::ostream* out) {
    *out << refusal.name;
}

HostOptions with_bank_that(const std::string& lines) {
    HostOptions options = with_bank();
    options.bank_lines += lines;
    return options;
}
HostOptions with_constant(const std::string& name, std::uint64_t bytes) {
    HostOptions options = with_bank();
    options.bank_constant = name;
    options.bank_bytes = bytes;
    return options;
}

class BankRefusals : public testing::TestWithParam<Refusal> {};

TEST_P(BankRefusals, LeaveTheOtherFormAndAreTold) {
    FakeHost host(GetParam().options);
    const Outcome outcome = run_application(host.name(), "constants-plain", 5);
    host.stop();
    EXPECT_TRUE(outcome.ok()) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(banked(0)));
    EXPECT_EQ(host.work().launches_instrumented, 5u);
    EXPECT_EQ(host.counted(), 5u);
    ASSERT_EQ(host.results.size(), 1u);
    EXPECT_EQ(host.results[0].reason, static_cast<std::uint32_t>(EGPU_COPY_LOADED));
    EXPECT_EQ(host.results[0].bank_reason, static_cast<std::uint32_t>(GetParam().reason));
    EXPECT_EQ(host.results[0].registers, 32u) << "of the form that runs";
}

INSTANTIATE_TEST_SUITE_P(Agent, BankRefusals,
                         testing::Values(Refusal{"no_such_constant", with_constant("nowhere", 16), EGPU_COPY_NO_SYMBOL},
                                         Refusal{"of_another_size", with_constant("app_table", 8), EGPU_COPY_NO_SYMBOL},
                                         Refusal{"more_local_memory", with_bank_that("// mock-local 2048\n"),
                                                 EGPU_COPY_LOCAL_MEMORY},
                                         Refusal{"fewer_blocks", with_lines("// mock-bank\n// mock-registers 128\n"),
                                                 EGPU_COPY_FEWER_BLOCKS}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace egpu::test
