// SPDX-License-Identifier: Apache-2.0
// Random programs: the reference engine and the generated PTX on the simulated GPU agree on the result and on memory.
#include <gmock/gmock.h>

#include "ebpf/interpreter/interpreter.hpp"
#include "random_program.hpp"
#include "simulated.hpp"
#include "wrapped.hpp"

namespace egpu::inject::testing {
namespace {

constexpr std::uint32_t kBytes = 64;

std::vector<std::byte> random_memory(std::uint32_t seed) {
    std::mt19937_64 random(seed ^ 0x5eed);
    std::vector<std::byte> bytes(kBytes);
    for (auto& byte : bytes)
        byte = static_cast<std::byte>(random() % 3 == 0 ? 0 : random());
    return bytes;
}

void compare(std::uint32_t seed, int length) {
    const std::string text = RandomProgram(seed).text(length);
    const auto program = assemble(text);
    ASSERT_TRUE(program) << to_text(program.error()) << text;
    std::vector<std::byte> memory = random_memory(seed);
    const std::vector<std::byte> before = memory;
    Execution execution;
    execution.memory = memory;
    const auto expected = interpret(Object{}, *program, execution);
    ASSERT_TRUE(expected) << to_text(expected.error()) << text;

    const Object object = wrapped(*program, kBytes);
    Harness harness(object, seed % 2 == 0 ? 60 : 75, 1);
    const auto probe = harness.emit(object);
    ASSERT_TRUE(probe) << to_text(probe.error()) << text;
    SimulatedSession session(harness.layouts);
    session.write(0, 0, before.data(), before.size());
    const std::string ptx = harness.module(*probe);
    ASSERT_EQ(session.run(ptx, harness.table, 1, 1, 0), "") << text << ptx;
    ASSERT_EQ(session.read<std::uint64_t>(1, 0), *expected) << "seed " << seed << "\n" << text << ptx;
    const auto after = session.read<std::array<std::byte, kBytes>>(0, 0);
    ASSERT_TRUE(std::equal(after.begin(), after.end(), memory.begin())) << "seed " << seed << "\n" << text << ptx;
}

TEST(Random, ShortPrograms) {
    for (std::uint32_t seed = 1; seed <= 400 && !HasFatalFailure(); ++seed)
        compare(seed, 12);
}

TEST(Random, LongPrograms) {
    for (std::uint32_t seed = 1001; seed <= 1200 && !HasFatalFailure(); ++seed)
        compare(seed, 80);
}

}  // namespace
}  // namespace egpu::inject::testing
