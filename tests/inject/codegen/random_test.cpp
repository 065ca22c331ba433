// SPDX-License-Identifier: Apache-2.0
// Random functions of memory: the reference engine and the generated PTX on the simulated GPU agree on the result and
// on memory, also where accesses aren't aligned.
#include <gmock/gmock.h>

#include "ebpf/interpreter/interpreter.hpp"
#include "inject/standalone/opaque.hpp"
#include "inject/standalone/standalone.hpp"
#include "random_program.hpp"
#include "simulated.hpp"

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

/// What a program leaves: r0 and its memory.
struct Left {
    std::uint64_t result = 0;
    std::vector<std::byte> memory;
    bool operator==(const Left&) const = default;
};

void run_on_simulated_gpu(const std::vector<Instruction>& program, const std::vector<std::byte>& memory,
                          std::uint32_t sm, bool any_alignment, const Left& expected, const std::string& what) {
    const auto kernel = standalone_kernel(program, kBytes, sm, any_alignment);
    ASSERT_TRUE(kernel) << to_text(kernel.error()) << what;
    SimulatedSession session(kernel->maps);
    session.write(kMemoryMap, 0, memory.data(), memory.size());
    ASSERT_EQ(session.launch(kernel->ptx, StandaloneKernel::kEntry, kernel->table, 1, 1, {}), "")
        << what << kernel->ptx;
    ASSERT_EQ(session.read<std::uint64_t>(kResultMap, 0), expected.result) << what << kernel->ptx;
    const auto after = session.read<std::array<std::byte, kBytes>>(kMemoryMap, 0);
    ASSERT_TRUE(std::equal(after.begin(), after.end(), expected.memory.begin())) << what << kernel->ptx;
}

void compare(std::uint32_t seed, int length, bool misaligned) {
    const std::string text = RandomProgram(seed, misaligned).text(length);
    const auto program = assemble(text);
    ASSERT_TRUE(program) << to_text(program.error()) << text;
    const std::vector<std::byte> before = random_memory(seed);
    Left expected{0, before};
    Execution execution;
    execution.memory = expected.memory;
    const auto result = interpret(Object{}, *program, execution);
    ASSERT_TRUE(result) << to_text(result.error()) << text;
    expected.result = *result;
    const std::uint32_t sm = seed % 2 == 0 ? 60 : 75;
    const std::string what = fmt::format("seed {}\n{}", seed, text);
    run_on_simulated_gpu(*program, before, sm, misaligned, expected, what);
    run_on_simulated_gpu(with_hidden_constants(*program), before, sm, misaligned, expected,
                         "hidden constants, " + what);
}

TEST(Random, ShortPrograms) {
    for (std::uint32_t seed = 1; seed <= 400 && !HasFatalFailure(); ++seed)
        compare(seed, 12, false);
}

TEST(Random, LongPrograms) {
    for (std::uint32_t seed = 1001; seed <= 1200 && !HasFatalFailure(); ++seed)
        compare(seed, 80, false);
}

TEST(Random, MisalignedAccesses) {
    for (std::uint32_t seed = 2001; seed <= 2300 && !HasFatalFailure(); ++seed)
        compare(seed, 30, true);
}

}  // namespace
}  // namespace egpu::inject::testing
