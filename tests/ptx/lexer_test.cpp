// SPDX-License-Identifier: Apache-2.0
// Tokens: what is one, where it ends, and that nothing between two tokens is lost.
#include "ptx/syntax/lexer.hpp"

#include <gtest/gtest.h>

#include "fixtures.hpp"
#include "ptx/syntax/literals.hpp"

namespace egpu::ptx {
namespace {

struct Piece {
    std::string text;
    TokenKind kind;
    bool operator==(const Piece&) const = default;
};

std::vector<Piece> pieces(const std::string& text) {
    const auto tokens = tokenize(text, "test");
    std::vector<Piece> out;
    if (!tokens) {
        ADD_FAILURE() << to_text(tokens.error());
        return out;
    }
    for (const Token& token : *tokens)
        if (token.kind != TokenKind::end)
            out.push_back({text.substr(token.range.begin, token.range.end - token.range.begin), token.kind});
    return out;
}

constexpr auto kWord = TokenKind::word, kDot = TokenKind::dot_word, kInteger = TokenKind::integer,
               kFloating = TokenKind::floating, kString = TokenKind::string, kPunctuation = TokenKind::punctuation;

TEST(Lexer, SplitsDirectivesAtDotsAndKeepsOpcodesWhole) {
    EXPECT_EQ(pieces(".reg.b16 x; ld.shared::cta.L1::no_allocate.u32"),
              (std::vector<Piece>{{".reg", kDot},
                                  {".b16", kDot},
                                  {"x", kWord},
                                  {";", kPunctuation},
                                  {"ld.shared::cta.L1::no_allocate.u32", kWord}}));
}

TEST(Lexer, APercentSignBeginsAWord) {
    EXPECT_EQ(pieces("mov.u32%r1,%tid.x;"),
              (std::vector<Piece>{
                  {"mov.u32", kWord}, {"%r1", kWord}, {",", kPunctuation}, {"%tid.x", kWord}, {";", kPunctuation}}));
}

TEST(Lexer, NumbersEndWhereTheyMust) {
    EXPECT_EQ(pieces("16.b8 9.0 0x1fU 1e5 0f3F800000 0b101 3"), (std::vector<Piece>{{"16", kInteger},
                                                                                    {".b8", kDot},
                                                                                    {"9.0", kFloating},
                                                                                    {"0x1fU", kInteger},
                                                                                    {"1e5", kFloating},
                                                                                    {"0f3F800000", kFloating},
                                                                                    {"0b101", kInteger},
                                                                                    {"3", kInteger}}));
}

TEST(Lexer, LabelsStringsAndComments) {
    EXPECT_EQ(pieces("L:/* \"a\" */\"b // c\\\"// \"d\"\n::e"), (std::vector<Piece>{{"L", kWord},
                                                                                    {":", kPunctuation},
                                                                                    {"\"b // c\\\"", kString},
                                                                                    {":", kPunctuation},
                                                                                    {":", kPunctuation},
                                                                                    {"e", kWord}}));
}

TEST(Lexer, LineMarksAreNoTokens) {
    EXPECT_EQ(pieces("#line 3 \"a.cu\"\n# 4 \"b.cu\"\nret"), (std::vector<Piece>{{"ret", kWord}}));
}

TEST(Lexer, KnowsWhatStartsALine) {
    const auto tokens = tokenize("a b\nc /*\n*/ d", "test");
    ASSERT_TRUE(tokens);
    std::vector<bool> starts;
    for (const Token& token : *tokens)
        starts.push_back(token.starts_line);
    EXPECT_EQ(starts, (std::vector<bool>{true, false, true, true, false}));
}

class LexedFile : public testing::TestWithParam<std::string> {};

TEST_P(LexedFile, TokensAndWhatStandsBetweenThemAreTheText) {
    const std::string text = test::read(GetParam());
    const auto tokens = tokenize(text, GetParam());
    ASSERT_TRUE(tokens) << to_text(tokens.error());
    std::string joined;
    std::uint32_t position = 0;
    for (const Token& token : *tokens) {
        ASSERT_GE(token.range.begin, position);
        ASSERT_GE(token.range.end, token.range.begin);
        joined += text.substr(position, token.range.begin - position);
        joined += text.substr(token.range.begin, token.range.end - token.range.begin);
        position = token.range.end;
    }
    EXPECT_EQ(joined + text.substr(position), text);
    EXPECT_EQ(tokens->back().kind, TokenKind::end);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, LexedFile, testing::ValuesIn(test::fixtures("ptx/syntax", ".ptx")),
                         [](const auto& info) { return test::stem(info.param); });

TEST(Literals, Integers) {
    EXPECT_EQ(integer_value("0"), 0U);
    EXPECT_EQ(integer_value("0U"), 0U);
    EXPECT_EQ(integer_value("020"), 16U);
    EXPECT_EQ(integer_value("0b101U"), 5U);
    EXPECT_EQ(integer_value("0xFFFFFFFFFFFFFFFF"), ~std::uint64_t{0});
    EXPECT_EQ(integer_value("18446744073709551615"), ~std::uint64_t{0});
    for (const char* text : {"", "U", "08", "0x", "0b", "0b2", "18446744073709551616", "0x10000000000000000", "1.5"})
        EXPECT_EQ(integer_value(text), std::nullopt) << text;
}

TEST(Literals, FloatingPoint) {
    EXPECT_EQ(floating_value("0f3F800000")->bits, 0x3F800000U);
    EXPECT_EQ(floating_value("0f3F800000")->width, 32);
    EXPECT_EQ(floating_value("0D3ff0000000000000")->bits, 0x3FF0000000000000U);
    EXPECT_EQ(floating_value("1.5")->bits, 0x3FF8000000000000U);
    EXPECT_EQ(floating_value("15e-1")->bits, 0x3FF8000000000000U);
    for (const char* text : {"0f3F8", "0f3F8000000", "0d3FF", "0fXXXXXXXX", "e5", ""})
        EXPECT_FALSE(floating_value(text)) << text;
}

}  // namespace
}  // namespace egpu::ptx
