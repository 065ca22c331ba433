// SPDX-License-Identifier: Apache-2.0
// The reference engine: faults, frames, helpers. Arithmetic is the conformance suite's, and of the rows here.
#include "ebpf/interpreter/interpreter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace egpu::ebpf {
namespace {

using testing::HasSubstr;

std::vector<Instruction> assembled(const std::string& text) {
    auto program = assemble(text);
    if (program)
        return *std::move(program);
    ADD_FAILURE() << text << ": " << to_text(program.error());
    return {};
}

/// A map of __u32 to __u64.
Object object_with(MapType type, std::uint32_t max_entries) {
    Object object;
    MapDefinition map;
    map.name = "counts";
    map.type = type;
    map.key_bytes = 4;
    map.value_bytes = 8;
    map.max_entries = max_entries;
    object.maps.push_back(map);
    return object;
}

/// Puts a load of map 0 to r1 in front of each "map" line.
std::vector<Instruction> with_map(const std::string& text) {
    auto program = assembled(text);
    for (auto& instruction : program)
        if (instruction.opcode == kLoadImmediate64 && instruction.immediate == 0x77) {
            instruction.source = kPseudoMap;
            instruction.immediate = 0;
        }
    return program;
}

Result<std::uint64_t> run(const std::string& text, Execution execution = {}) {
    const Object object;
    return interpret(object, assembled(text), execution);
}

std::uint64_t result_of(const std::string& text) {
    const auto result = run(text);
    if (result)
        return *result;
    ADD_FAILURE() << text << ": " << to_text(result.error());
    return 0;
}

TEST(Interpreter, ArithmeticAtTheEdges) {
    struct Row {
        const char* text;
        std::uint64_t result;
    };
    for (const auto& row : {
             Row{"mov %r0, 7\nmov %r1, 0\ndiv %r0, %r1\nexit", 0},
             {"mov %r0, 7\nmov %r1, 0\nmod %r0, %r1\nexit", 7},
             {"lddw %r0, 0x500000007\nmov %r1, 0\nmod32 %r0, %r1\nexit", 7},
             {"lddw %r0, 0x500000007\nmov %r1, 0\ndiv32 %r0, %r1\nexit", 0},
             {"lddw %r0, 0x8000000000000000\nsdiv %r0, -1\nexit", 0x8000000000000000},
             {"lddw %r0, 0x8000000000000000\nsmod %r0, -1\nexit", 0},
             {"mov32 %r0, 0x80000000\nsdiv32 %r0, -1\nexit", 0x80000000},
             {"mov %r0, -7\nsmod %r0, 4\nexit", static_cast<std::uint64_t>(-3)},
             {"mov %r0, 1\nlsh %r0, 65\nexit", 2},
             {"mov %r0, 1\nlsh32 %r0, 33\nexit", 2},
             {"mov %r0, -8\narsh32 %r0, 1\nexit", 0xfffffffc},
             {"mov %r0, -1\nadd32 %r0, 1\nexit", 0},
             {"mov %r0, -1\nrsh %r0, 32\nexit", 0xffffffff},
             {"mov %r0, -1\ndiv %r0, -1\nexit", 1},
             {"mov %r0, 0x80\nmovsx832 %r0, %r0\nexit", 0xffffff80},
             {"mov %r0, 0x80\nmovsx864 %r0, %r0\nexit", 0xffffffffffffff80},
             {"lddw %r0, 0x1122334455667788\nle32 %r0\nexit", 0x55667788},
             {"lddw %r0, 0x1122334455667788\nbe32 %r0\nexit", 0x88776655},
             {"lddw %r0, 0x1122334455667788\nbswap16 %r0\nexit", 0x8877},
             {"mov %r0, 0\nmov %r1, -1\njsgt32 %r1, 0, out\nmov %r0, 1\nout:\nexit", 1},
             {"mov %r0, 0\nlddw %r1, 0x100000000\njeq32 %r1, 0, out\nmov %r0, 1\nout:\nexit", 0},
         })
        EXPECT_EQ(result_of(row.text), row.result) << row.text;
}

TEST(Interpreter, AtomicsGiveTheOldValue) {
    const std::string start = "mov %r0, 0\nlddw %r2, 0x1111111122222222\nstxdw [%r10-8], %r2\nmov %r1, 5\n";
    EXPECT_EQ(result_of(start + "lock fetch add32 [%r10-8], %r1\nmov %r0, %r1\nexit"), 0x22222222u);
    EXPECT_EQ(result_of(start + "lock fetch add32 [%r10-8], %r1\nldxdw %r0, [%r10-8]\nexit"), 0x1111111122222227u);
    EXPECT_EQ(result_of(start + "lock xchg [%r10-8], %r1\nmov %r0, %r1\nexit"), 0x1111111122222222u);
    EXPECT_EQ(result_of(start + "mov %r0, 1\nlock cmpxchg [%r10-8], %r1\nexit"), 0x1111111122222222u);
    EXPECT_EQ(result_of(start + "mov %r0, %r2\nlock cmpxchg [%r10-8], %r1\nldxdw %r0, [%r10-8]\nexit"), 5u);
    EXPECT_EQ(result_of(start + "lock add [%r10-8], %r1\nmov %r0, %r1\nexit"), 5u);  // no fetch
}

TEST(Interpreter, FaultsNameThePlace) {
    struct Row {
        const char *text, *message;
    };
    for (const auto& row : {
             Row{"ldxdw %r0, [%r10+8]\nexit", "load of 8 bytes at offset 520 of the stack, which has 512 bytes"},
             {"ldxdw %r0, [%r10-4]\nexit", "load of 8 bytes at offset 508 of the stack"},
             {"stw [%r10-516], 1\nexit", "store of 4 bytes at offset -4 of the stack"},
             {"mov %r1, 0\nldxw %r0, [%r1]\nexit", "at address 0x0, which is no memory"},
             {"stw [%r1], 1\nexit", "store of 4 bytes to the context, which is read-only"},
             {"ldxw %r0, [%r1+6]\nexit", "load of 4 bytes at offset 6 of the context, which has 8 bytes"},
             {"lock add [%r1], %r0\nexit", "atomic operation on the context, which is read-only"},
             {"lock add [%r10-12], %r0\nexit", "misaligned atomic operation of 8 bytes at offset 500"},
             {"mov %r10, 0\nexit", "r10 is written"},
             {"L:\nja L", "more than 1000 instructions"},
             {"L:\ncall local L\nexit", "more than 8 functions"},
             {"call 4\nexit", "call of helper 4 (bpf_probe_read)"},
             {"call 12345\nexit", "call of helper 12345 (unknown)"},
             {"mov %r1, 5\nmov %r2, %r10\ncall 1\nexit", "0x5 is passed as a map"},
             {"mov %r1, 5\nmov %r2, 0\ncall 0x10005\nexit", "egpu_arg needs the context"},
             {"mov %r2, 3\ncall 0x10005\nexit", "parameter 3 of 0"},
             {"mov %r2, %r10\nmov %r3, 17\ncall 0x10004\nexit", "asked for 17 bytes"},
         }) {
        Execution execution;
        execution.context.resize(8);
        execution.step_limit = 1000;
        const auto result = run(row.text, execution);
        ASSERT_FALSE(result) << row.text;
        EXPECT_EQ(result.error().code, "EGPU-V090");
        EXPECT_THAT(result.error().message, HasSubstr(row.message)) << row.text;
        EXPECT_THAT(result.error().detail, HasSubstr("at insn ")) << row.text;
    }
}

TEST(Interpreter, RefusesWhatIsNotWellFormed) {
    const Object object;
    Execution execution;
    const std::vector<Instruction> program{{.opcode = 0xff}};
    EXPECT_EQ(interpret(object, program, execution).error().code, "EGPU-V001");
}

TEST(Interpreter, FramesAreTheirOwn) {
    // The callee's stack and r6 to r9 are not the caller's; r1 to r5 pass arguments; 8 frames are allowed.
    EXPECT_EQ(result_of("mov %r6, 40\nstdw [%r10-8], 1\nmov %r1, 2\ncall local f\nldxdw %r2, [%r10-8]\n"
                        "add %r0, %r6\nadd %r0, %r2\nexit\n"
                        "f:\nmov %r6, 99\nldxdw %r0, [%r10-8]\nstdw [%r10-8], 77\nadd %r0, %r1\nexit"),
              43u);
    EXPECT_EQ(result_of("mov %r1, 7\ncall local f\nexit\nf:\nmov %r0, 0\njeq %r1, 1, out\nsub %r1, 1\ncall local f\n"
                        "out:\nadd %r0, 1\nexit"),
              7u);
    // A pointer to the caller's stack is good in the callee.
    EXPECT_EQ(result_of("mov %r1, %r10\nadd %r1, -8\ncall local f\nldxdw %r0, [%r10-8]\nexit\nf:\nstdw [%r1], 5\nexit"),
              5u);
}

TEST(Interpreter, HashMapsFillUp) {
    const auto object = object_with(MapType::percpu_hash, 2);
    std::vector<ReferenceMap> maps(1);
    const auto add = with_map(
        "ldxw %r1, [%r1]\nstxw [%r10-4], %r1\nlddw %r1, 0x77\nmov %r2, %r10\nadd %r2, -4\ncall 0x10003\n"
        "jeq %r0, 0, full\nmov %r1, 3\nlock add [%r0], %r1\nmov %r0, 1\nfull:\nexit");
    const auto run_with = [&](std::uint32_t key) {
        Execution execution;
        execution.maps = &maps;
        execution.context.resize(4);
        std::memcpy(execution.context.data(), &key, 4);
        const auto result = interpret(object, add, execution);
        EXPECT_TRUE(result) << to_text(result.error());
        return result ? *result : 99;
    };
    EXPECT_EQ(run_with(1), 1u);
    EXPECT_EQ(run_with(1), 1u);
    EXPECT_EQ(run_with(2), 1u);
    EXPECT_EQ(run_with(3), 0u);  // full
    EXPECT_EQ(run_with(2), 1u);
    ASSERT_EQ(maps[0].size(), 2u);
    std::uint64_t value = 0;
    std::memcpy(&value, maps[0].begin()->second.data(), 8);
    EXPECT_EQ(value, 6u);
}

TEST(Interpreter, LookupsAndUpdates) {
    const std::string lookup = "stw [%r10-4], 1\nlddw %r1, 0x77\nmov %r2, %r10\nadd %r2, -4\ncall 1\n";
    const auto update = [](int key, int flags) {
        return "stw [%r10-4], " + std::to_string(key) +
               "\nstdw [%r10-16], 9\nlddw %r1, 0x77\nmov %r2, %r10\nadd %r2, -4\n" +
               "mov %r3, %r10\nadd %r3, -16\nmov %r4, " + std::to_string(flags) + "\ncall 2\n";
    };
    const auto run_on = [](MapType type, const std::string& text) {
        const auto object = object_with(type, 2);
        std::vector<ReferenceMap> maps(1);
        Execution execution;
        execution.maps = &maps;
        const auto result = interpret(object, with_map(text + "exit"), execution);
        EXPECT_TRUE(result) << text << to_text(result.error());
        return result ? static_cast<std::int64_t>(*result) : -999;
    };
    const std::string is_null = "jeq %r0, 0, null\nmov %r0, 1\nnull:\n";
    EXPECT_EQ(run_on(MapType::hash, lookup + is_null), 0);
    EXPECT_EQ(run_on(MapType::array, lookup + is_null), 1);  // arrays have all their elements
    EXPECT_EQ(run_on(MapType::hash, update(1, 0)), 0);
    EXPECT_EQ(run_on(MapType::hash, update(1, 0) + lookup + "ldxdw %r0, [%r0]\n"), 9);
    EXPECT_EQ(run_on(MapType::hash, update(1, 0) + update(1, 1)), -EEXIST);
    EXPECT_EQ(run_on(MapType::hash, update(1, 2)), -ENOENT);
    EXPECT_EQ(run_on(MapType::hash, update(1, 0) + update(1, 2)), 0);
    EXPECT_EQ(run_on(MapType::hash, update(1, 0) + update(2, 0) + update(3, 0)), -E2BIG);
    EXPECT_EQ(run_on(MapType::hash, update(1, 7)), -EINVAL);
    EXPECT_EQ(run_on(MapType::array, update(1, 1)), -EEXIST);
    EXPECT_EQ(run_on(MapType::array, update(2, 0)), -E2BIG);
    EXPECT_EQ(run_on(MapType::array, update(1, 2) + lookup + "ldxdw %r0, [%r0]\n"), 9);
}

/// A word of a map's value, which begins as 0; the smallest number leaves 0 out, and 4 bytes leave their neighbours.
TEST(Interpreter, ExtremesOfAWord) {
    const Object object = object_with(MapType::array, 4);
    struct Row {
        const char* name;
        unsigned helper, bytes;
        std::uint64_t held, number, left;
    };
    for (const auto& row : {
             Row{"first smallest", 0x10006, 8, 0, 7, 7},
             {"smaller", 0x10006, 8, 9, 7, 7},
             {"not smaller", 0x10006, 8, 5, 7, 5},
             {"0 is left out", 0x10006, 8, 5, 0, 5},
             {"0 of 0", 0x10006, 8, 0, 0, 0},
             {"larger", 0x10007, 8, 5, 7, 7},
             {"not larger", 0x10007, 8, 9, 7, 9},
             {"unsigned", 0x10007, 8, 9, 0xffffffffffffffff, 0xffffffffffffffff},
             {"low half", 0x10007, 4, 0x1100000005, 7, 0x1100000007},
             {"low half of the number", 0x10006, 4, 0x1100000009, 0x500000003, 0x1100000003},
         }) {
        SCOPED_TRACE(row.name);
        std::vector<ReferenceMap> maps(1);
        std::vector<std::byte> value(8);
        std::memcpy(value.data(), &row.held, 8);
        maps[0].emplace(std::vector<std::byte>(4), value);
        char text[512];
        std::snprintf(text, sizeof text,
                      "stw [%%r10-4], 0\nlddw %%r1, 0x77\nmov %%r2, %%r10\nadd %%r2, -4\ncall 1\nmov %%r1, %%r0\n"
                      "lddw %%r2, 0x%llx\nmov %%r3, %u\ncall 0x%x\nexit",
                      static_cast<unsigned long long>(row.number), row.bytes, row.helper);
        Execution execution;
        execution.maps = &maps;
        const auto result = interpret(object, with_map(text), execution);
        ASSERT_TRUE(result) << to_text(result.error());
        EXPECT_EQ(*result, row.bytes == 8 ? row.held : row.held & 0xffffffff);
        std::uint64_t left = 0;
        std::memcpy(&left, maps[0].begin()->second.data(), 8);
        EXPECT_EQ(left, row.left);
    }
}

TEST(Interpreter, RandomNumbersAndLanes) {
    EXPECT_NE(result_of("call 7\nexit"), result_of("call 7\ncall 7\nexit"));
    EXPECT_LT(result_of("call 7\nexit"), std::uint64_t{1} << 32);
    for (const char* number : {"0x10008", "0x10009", "0x1000a"})
        EXPECT_EQ(result_of("mov %r1, -5\ncall " + std::string(number) + "\nexit"), static_cast<std::uint64_t>(-5));
}

TEST(Interpreter, HelpersOfTheExecution) {
    Execution execution;
    execution.clock = 111;
    execution.time_ns = 222;
    execution.arguments = {7, 8};
    execution.value.assign(4, std::byte{0x5a});
    execution.context.resize(context_bytes(ContextKind::kernel));
    execution.context[field_named(ContextKind::kernel, "sm")->offset] = std::byte{13};
    EXPECT_EQ(*run("call 0x10001\nexit", execution), 111u);
    EXPECT_EQ(*run("call 0x10002\nexit", execution), 222u);
    EXPECT_EQ(*run("call 5\nexit", execution), 222u);
    EXPECT_EQ(*run("call 8\nexit", execution), 13u);
    EXPECT_EQ(*run("mov %r2, 1\ncall 0x10005\nexit", execution), 8u);
    EXPECT_EQ(*run("mov %r2, %r10\nadd %r2, -4\nmov %r3, 4\ncall 0x10004\nldxw %r0, [%r10-4]\nexit", execution),
              0x5a5a5a5au);
    // More than the instruction moves is zeroes, as on a GPU.
    EXPECT_EQ(*run("mov %r2, %r10\nadd %r2, -8\nmov %r3, 8\ncall 0x10004\nldxdw %r0, [%r10-8]\nexit", execution),
              0x5a5a5a5au);
    Execution without;
    without.context = execution.context;
    EXPECT_EQ(static_cast<std::int64_t>(*run("mov %r2, %r10\nadd %r2, -8\nmov %r3, 8\ncall 0x10004\nexit", without)),
              -EINVAL);
    // Arguments don't survive a call; r6 does.
    EXPECT_EQ(*run("mov %r6, 5\nmov %r3, 9\ncall 0x10001\nmov %r0, %r3\nadd %r0, %r6\nexit", execution), 5u);
}

TEST(Interpreter, ConstantsAreReadOnly) {
    Object object;
    object.constants.assign(8, std::byte{1});
    Execution execution;
    std::vector<Instruction> program{{.opcode = kLoadImmediate64,
                                      .destination = 1,
                                      .source = kPseudoMapValue,
                                      .immediate = static_cast<std::int32_t>(Object::kConstantsMap)},
                                     {.immediate = 4},
                                     {.opcode = 0x61, .source = 1},
                                     {.opcode = kExit}};
    EXPECT_EQ(*interpret(object, program, execution), 0x01010101u);
    program[2] = {.opcode = 0x79, .source = 1};
    EXPECT_THAT(interpret(object, program, execution).error().message, HasSubstr("offset 4 of the constants"));
    program[2] = {.opcode = 0x62, .destination = 1};
    EXPECT_THAT(interpret(object, program, execution).error().message, HasSubstr("read-only"));
}

TEST(Interpreter, HelpersOfBpftimeGiveTheContextsFields) {
    Execution execution;
    execution.context.resize(context_bytes(ContextKind::kernel));
    const auto put = [&](const char* name, std::uint32_t value) {
        const auto* field = field_named(ContextKind::kernel, name);
        ASSERT_NE(field, nullptr);
        std::memcpy(execution.context.data() + field->offset, &value, sizeof value);
    };
    put("block.x", 3);
    put("block.y", 5);
    put("block.z", 7);
    put("sm", 11);
    put("lane", 13);
    const auto places =
        run("mov %r1, %r10\nadd %r1, -8\nmov %r2, %r10\nadd %r2, -16\nmov %r3, %r10\nadd %r3, -24\n"
            "call 503\nldxdw %r1, [%r10-8]\nldxdw %r2, [%r10-16]\nldxdw %r3, [%r10-24]\n"
            "mul %r2, 100\nmul %r3, 10000\nadd %r0, %r1\nadd %r0, %r2\nadd %r0, %r3\nexit",
            execution);
    ASSERT_TRUE(places) << to_text(places.error());
    EXPECT_EQ(*places, 70503u);
    EXPECT_EQ(*run("call 509\nexit", execution), 11u);
    EXPECT_EQ(*run("call 511\nexit", execution), 13u);
    EXPECT_EQ(*run("mov %r0, 9\ncall 506\nexit", execution), 0u);
    EXPECT_FALSE(run("call 507\nexit", execution));
}

TEST(Interpreter, GlobalVariablesStartWithTheirFirstValues) {
    Object object = object_with(MapType::array, 1);
    object.maps[0].initial = {std::byte{42}};
    auto program = assembled("lddw %r1, 0x77\nldxdw %r0, [%r1+0]\nmov %r2, 1\nlock add [%r1+0], %r2\nexit");
    program[0].source = kPseudoMapValue;
    program[0].immediate = 0;
    std::vector<ReferenceMap> maps(1);
    Execution execution;
    execution.maps = &maps;
    EXPECT_EQ(*interpret(object, program, execution), 42u);
    EXPECT_EQ(*interpret(object, program, execution), 43u);
}

}  // namespace
}  // namespace egpu::ebpf
