// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "inject/match/match.hpp"
#include "module.hpp"

namespace egpu::inject {
namespace {

using testing::kernel;

const char* const kFunctions = R"(
.func leaf() { ret; }
.func (.param .b32 out) middle(.param .b32 in) { call.uni leaf, (); middle_again: ret; }
.func unused() { ret; }
.func recursive() { call recursive; ret; }
.global .u64 table[2] = { leaf, 0 };
.global .u64 outer[1] = { generic(table) };
.global .u64 numbers[2] = { 1, 2 };
)";

TEST(Reach, FollowsDirectCallsOnce) {
    const auto module = kernel(
        R"({ .param .b32 a; .param .b32 b; call.uni (b), middle, (a); call leaf; } call recursive; ret;)", kFunctions);
    const auto found = reachable_functions(module, *module.function("k"));
    ASSERT_TRUE(found) << to_text(found.error());
    std::vector<std::string_view> names;
    for (const auto* function : *found)
        names.push_back(function->name);
    EXPECT_THAT(names, ::testing::ElementsAre("k", "middle", "leaf", "recursive"));
}

struct Refusal {
    const char* body;
    const char* code;
};

class ReachRefuses : public ::testing::TestWithParam<Refusal> {};

TEST_P(ReachRefuses, WithACode) {
    const auto module = kernel(GetParam().body, kFunctions);
    const auto found = reachable_functions(module, *module.function("k"));
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, GetParam().code) << to_text(found.error());
}

INSTANTIATE_TEST_SUITE_P(
    Forms, ReachRefuses,
    ::testing::Values(Refusal{"proto: .callprototype _ (); call %rd1, (), proto; ret;", "EGPU-P210"},
                      Refusal{"call nobody; ret;", "EGPU-P210"}, Refusal{"mov.u64 %rd1, leaf; ret;", "EGPU-P211"},
                      Refusal{"mov.u64 %rd1, table; ret;", "EGPU-P211"},
                      Refusal{"ld.global.u64 %rd1, [outer+8]; ret;", "EGPU-P211"},
                      Refusal{"{ .param .b64 a; st.param.b64 [a+0], leaf; } ret;", "EGPU-P211"},
                      Refusal{"call k; ret;", "EGPU-P212"}));

TEST(Reach, VariableWithoutFunctionsIsFine) {
    const auto module = kernel("mov.u64 %rd1, numbers; ret;", kFunctions);
    EXPECT_TRUE(reachable_functions(module, *module.function("k")));
}

}  // namespace
}  // namespace egpu::inject
