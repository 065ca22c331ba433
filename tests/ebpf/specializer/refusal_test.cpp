// SPDX-License-Identifier: Apache-2.0
// What this version can't translate is refused, with the source line and what to change.
#include <gmock/gmock.h>

#include "programs.hpp"

namespace egpu::ebpf::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHead = R"(// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include <egpu/bpf/egpu.bpf.h>
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 8); __type(key, __u32); __type(value, egpu_count_t); } by_key SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 8); __type(key, __u32); __type(value, egpu_count_t); } array SEC(".maps");
SEC("gpu/mem") int tested(struct egpu_mem_ctx *ctx) {
)";
constexpr const char* kTail = "\nreturn 0; }\nchar LICENSE[] SEC(\"license\") = \"Dual BSD/GPL\";\n";

Diagnostic refused(const std::string& name, const std::string& body) {
    const Object object = compiled(name, kHead + body + kTail);
    return object.programs.empty() ? Diagnostic{} : refusal(object);
}

TEST(Refusal, HashKeyKnownAtRunTime) {
    const auto diagnostic = refused("dynamic_key",
                                    "__u32 key = ctx->sm;\negpu_count_t *c = egpu_map_lookup_or_init(&by_key, &key);\n"
                                    "if (c) __sync_fetch_and_add(c, 1);");
    EXPECT_EQ(diagnostic.code, "EGPU-V050");
    EXPECT_THAT(diagnostic.message, HasSubstr("key of map `by_key` depends on `sm`"));
    EXPECT_EQ(diagnostic.where.line, 7u);
    EXPECT_THAT(diagnostic.where.file, HasSubstr("dynamic_key.bpf.c"));
    EXPECT_THAT(diagnostic.fix, HasSubstr("array map"));
}

TEST(Refusal, KeyOfTwoFieldsNamesBoth) {
    const auto diagnostic = refused("two_fields",
                                    "__u32 key = ctx->lane + ctx->block.x;\n"
                                    "egpu_count_t *c = egpu_map_lookup_or_init(&by_key, &key);\n"
                                    "if (c) __sync_fetch_and_add(c, 1);");
    EXPECT_THAT(diagnostic.message, HasSubstr("`lane` and `block.x`"));
}

TEST(Refusal, LookupOfAHashEntry) {
    const auto diagnostic = refused("lookup_elem",
                                    "__u32 key = ctx->site;\negpu_count_t *c = bpf_map_lookup_elem(&by_key, &key);\n"
                                    "if (c) __sync_fetch_and_add(c, 1);");
    EXPECT_EQ(diagnostic.code, "EGPU-V051");
    EXPECT_THAT(diagnostic.fix, HasSubstr("egpu_map_lookup_or_init"));
}

TEST(Refusal, UpdateOfAHashEntry) {
    const auto diagnostic = refused("update_elem",
                                    "__u32 key = ctx->site; egpu_count_t one = 1;\n"
                                    "bpf_map_update_elem(&by_key, &key, &one, BPF_ANY);");
    EXPECT_EQ(diagnostic.code, "EGPU-V052");
}

TEST(Refusal, Recursion) {
    const auto diagnostic = refusal(assembled("call local f\nexit\nf:\ncall local f\nexit\n"));
    EXPECT_EQ(diagnostic.code, "EGPU-V053");
    EXPECT_THAT(diagnostic.message, HasSubstr("recursive"));
}

TEST(Refusal, DeepCalls) {
    std::string text = "call local f0\nexit\n";
    for (int i = 0; i < 8; ++i)
        text += "f" + std::to_string(i) + ":\ncall local f" + std::to_string(i + 1) + "\nexit\n";
    text += "f8:\nmov %r0, 0\nexit\n";
    EXPECT_EQ(refusal(assembled(text)).code, "EGPU-V053");
}

/// Each function calls the next one twice 7 times over: 2^7 copies are fine, a long body in each is not.
TEST(Refusal, CallsThatGrowWithoutEnd) {
    std::string text = "call local f0\ncall local f0\nexit\n";
    for (int i = 0; i < 6; ++i)
        text += "f" + std::to_string(i) + ":\n" + [&] {
            std::string calls;
            for (int c = 0; c < 12; ++c)
                calls += "call local f" + std::to_string(i + 1) + "\n";
            return calls;
        }() + "exit\n";
    text += "f6:\nmov %r0, 0\nexit\n";
    EXPECT_EQ(refusal(assembled(text)).code, "EGPU-V053");
}

TEST(Refusal, MapThatDiffersBetweenPaths) {
    const auto diagnostic = refusal(assembled("ldxw %r7, [%r1+36]\nstw [%r10-4], 2\nlddw %r1, " + map_address(0) +
                                              "\njgt %r7, 3, more\nlddw %r1, " + map_address(2) +
                                              "\nmore:\nmov %r2, %r10\nadd %r2, -4\ncall 1\nmov %r0, 0\nexit\n"));
    EXPECT_EQ(diagnostic.code, "EGPU-V054");
}

TEST(Refusal, ConstantTableAtRunTimeIndex) {
    const auto diagnostic = refused("table",
                                    "static const __u32 table[4] = {3, 1, 4, 1}; __u32 key = ctx->site;\n"
                                    "egpu_count_t *c = egpu_map_lookup_or_init(&by_key, &key);\n"
                                    "if (c) __sync_fetch_and_add(c, *(volatile const __u32 *)&table[ctx->lane & 3]);");
    EXPECT_EQ(diagnostic.code, "EGPU-V055");
    EXPECT_THAT(diagnostic.message, HasSubstr("`lane`"));
}

TEST(Refusal, WildAddress) {
    EXPECT_EQ(refusal(assembled("ldxdw %r2, [%r1+104]\nldxdw %r0, [%r2+0]\nexit\n")).code, "EGPU-V056");
    EXPECT_EQ(refusal(assembled("ldxdw %r2, [%r1+104]\nmov %r0, 0\nstxdw [%r2+0], %r0\nexit\n")).code, "EGPU-V056");
    EXPECT_EQ(refusal(assembled("mov %r0, 0\nstxdw [%r10+0], %r0\nexit\n")).code, "EGPU-V056");
    EXPECT_EQ(refusal(assembled("mov %r0, 0\nstxdw [%r10-520], %r0\nexit\n")).code, "EGPU-V056");
}

TEST(Refusal, NoSuchField) {
    EXPECT_EQ(refusal(assembled("ldxdw %r0, [%r1+0]\nexit\n")).code, "EGPU-V058");
    EXPECT_EQ(refusal(assembled("ldxw %r0, [%r1+512]\nexit\n")).code, "EGPU-V058");
    EXPECT_EQ(refusal(assembled("ldxw %r0, [%r1-4]\nexit\n")).code, "EGPU-V058");
}

TEST(Refusal, UnknownHelper) {
    EXPECT_EQ(refusal(assembled("call 77\nmov %r0, 0\nexit\n")).code, "EGPU-V057");
}

TEST(Refusal, DamagedCode) {
    Object object = assembled("mov %r0, 0\nexit\n");
    object.programs[0].instructions[0].opcode = 0xff;
    EXPECT_EQ(refusal(object).code, "EGPU-V001");
}

}  // namespace
}  // namespace egpu::ebpf::testing
