// SPDX-License-Identifier: Apache-2.0
// What a message underlines. Each row: a line of C, the column clang gives, the expression meant.
#include <gtest/gtest.h>

#include <string_view>

#include "ebpf/verifier/source/expression.hpp"

namespace egpu::ebpf {
namespace {

std::string_view cut(std::string_view text, const std::optional<Extent>& extent) {
    return extent ? text.substr(extent->column - 1, extent->length) : "none";
}

struct Row {
    std::string_view text;
    std::uint32_t column;
    std::string_view expression;
};

TEST(Expression, AtAColumn) {
    constexpr Row kRows[] = {
        {"\tt->accesses += 1;", 14, "t->accesses"},
        {"\tt->accesses += 1;", 5, "t->accesses"},
        {"\t*count = 1;", 9, "*count"},
        {"\tt->slot[ctx->space] = 1;", 22, "t->slot[ctx->space]"},
        {"\tt->slot[ctx->space]++;", 21, "t->slot[ctx->space]"},
        {"\tx = *(__u64 *)ctx->address;", 6, "*(__u64 *)ctx->address"},
        {"\t*(__u64 *)((char *)t + 4) = 1;", 28, "*(__u64 *)((char *)t + 4)"},
        {"\tbpf_probe_read(b, 8, (void *)ctx->address);", 2, "bpf_probe_read(b, 8, (void *)ctx->address)"},
        {"\tx = table[i].y->z;", 6, "table[i].y->z"},
        {"\tx = f(a)[i];", 6, "f(a)[i]"},
        {"x", 1, "x"},
        {"x", 2, "none"},
        {"x", 0, "none"},
        {"", 1, "none"},
        {"  +", 3, "+"},
        {"f((((", 1, "f(((("},
        {"]", 1, "]"},
        {"a ] =", 5, "="},
        {"\tctx->kernel &= 15;", 14, "ctx->kernel"},
        {"\tt->n[i] *= 3;", 10, "t->n[i]"},
        {"\tt->n <<= 3;", 7, "t->n"},
        {"\tt->n++;", 6, "t->n"},
        {"\t++t->n;", 2, "+"},
        {"\tx = a <= b;", 8, "a"},
    };
    for (const Row& row : kRows)
        EXPECT_EQ(cut(row.text, expression_at(row.text, row.column)), row.expression) << row.text << " " << row.column;
}

TEST(Expression, WithAName) {
    EXPECT_EQ(
        cut("\t__sync_fetch_and_add(&t->bytes, 1);", expression_with("\t__sync_fetch_and_add(&t->bytes, 1);", "t", 2)),
        "&t->bytes");
    EXPECT_EQ(cut("\t*t = t2 + t;", expression_with("\t*t = t2 + t;", "t", 6)), "t");
    EXPECT_EQ(cut("\t*t = t2;", expression_with("\t*t = t2;", "t", 6)), "*t");
    EXPECT_EQ(cut("\tat = t2;", expression_with("\tat = t2;", "t", 1)), "none");
    EXPECT_EQ(cut("\tx;", expression_with("\tx;", "", 1)), "none");
}

TEST(Expression, AssignedName) {
    EXPECT_EQ(assigned_name("\tstruct traffic *t = lookup(&m, &k);", 22), "t");
    EXPECT_EQ(assigned_name("\tt = lookup(&m, &k);", 6), "t");
    EXPECT_EQ(assigned_name("\tif ((t=lookup(&m, &k)))", 9), "t");
    EXPECT_EQ(assigned_name("\tif (t == lookup(&m, &k))", 11), "");
    EXPECT_EQ(assigned_name("\treturn lookup(&m, &k);", 9), "");
    EXPECT_EQ(assigned_name("", 0), "");
    EXPECT_EQ(assigned_name("=", 9), "");
}

TEST(Expression, DeclaredFunction) {
    EXPECT_EQ(declared_function("static __noinline int f(int n)"), "f");
    EXPECT_EQ(declared_function("static __attribute__((noinline)) __u64 *find(struct key *k)"), "find");
    EXPECT_EQ(declared_function("SEC(\"gpu/mem\") int count(struct egpu_mem_ctx *ctx) { return g(ctx); }"), "count");
    EXPECT_EQ(declared_function("{"), "");
    EXPECT_EQ(declared_function("__attribute__((noinline"), "");
}

}  // namespace
}  // namespace egpu::ebpf
