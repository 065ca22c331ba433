// SPDX-License-Identifier: Apache-2.0
// The loader alone, on texts in memory.
#include "host/probesets/load.hpp"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace egpu::host {
namespace {

using testing::ElementsAre;

struct Texts {
    std::map<std::string, std::string> files;
    std::vector<std::string> reads;

    SetFiles access() {
        SetFiles access;
        access.read = [this](const std::string& path) -> Result<std::string> {
            reads.push_back(path);
            const auto found = files.find(path);
            return found != files.end() ? Result<std::string>(found->second) : error("EGPU-X001", "no such file");
        };
        access.find = [this](const std::string& name) -> std::optional<std::string> {
            return files.contains("sets/" + name + ".yaml") ? std::optional("sets/" + name + ".yaml") : std::nullopt;
        };
        access.names = [] { return std::vector<std::string>{"base"}; };
        return access;
    }
};

std::string head(const std::string& name) {
    return "egpu: 1\nname: " + name + "\n";
}

const std::string kProbes = "probes: [{ plugin: bandwidth }]\n";

std::vector<std::string> codes(const std::vector<Diagnostic>& problems) {
    std::vector<std::string> all;
    for (const auto& problem : problems)
        all.push_back(problem.code);
    return all;
}

TEST(LoadProbeSet, KnowsThePlaceOfEveryValue) {
    Texts texts{
        {{"a.yaml", head("a") + "description: \"é\"\nprobes:\n  - plugin: latency\n    programs: [one, two]\n"}}, {}};
    const auto set = load_probe_set("a.yaml", texts.access());
    ASSERT_TRUE(set);
    const auto& probe = set->probes.at(0);
    EXPECT_EQ(probe.what.place.text(), "a.yaml:5:13");
    EXPECT_EQ(probe.programs->at(1).place.text(), "a.yaml:6:21");
    EXPECT_EQ(probe.programs->at(1).place.length, 3u);
}

TEST(LoadProbeSet, ColumnsCountCharacters) {
    Texts texts{{{"a.yaml", head("a") + kProbes + "output: { summary: \"größe.json\", recrd: x }\n"}}, {}};
    const auto set = load_probe_set("a.yaml", texts.access());
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().where.column, 34u);
    EXPECT_EQ(set.error().quoted.at(0).underline_length, 5u);
}

TEST(LoadProbeSet, ColumnsOfALongLineCountCharactersToo) {
    std::string text = head("a") + kProbes + "kernels: [";
    std::uint32_t column = 11;
    for (int i = 0; i < 1000; ++i, column += 5)
        text += "größ" + std::string(i % 2 == 0 ? "," : " ,");  // no two strides begin alike
    column += 500;
    text += " {x: y}]\n";
    Texts texts{{{"a.yaml", text}}, {}};
    const auto set = load_probe_set("a.yaml", texts.access());
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().where.column, column + 1);
    const auto& quoted = set.error().quoted.at(0);
    std::size_t at = 0;
    for (std::uint32_t left = quoted.underline_column; --left != 0;)
        do
            ++at;
        while ((static_cast<unsigned char>(quoted.text.at(at)) & 0xc0) == 0x80);
    EXPECT_EQ(quoted.text.substr(at, 4), "{x: ") << quoted.text;
}

// Each place was once looked for from its line's begin: minutes for a file of one line.
TEST(LoadProbeSet, AMebibyteInOneLineEndsSomewhere) {
    std::string text = head("a") + kProbes + "kernels: [";
    while (text.size() < (std::size_t{1} << 20) - 10)
        text += "a, ";
    Texts texts{{{"a.yaml", text + "b]\n"}}, {}};
    const auto set = load_probe_set("a.yaml", texts.access());
    ASSERT_TRUE(set) << to_text(set.error());
    EXPECT_GT(set->kernels.at(0).include.size(), 300'000u);
}

TEST(LoadProbeSet, AsManyMistakesInOneLineEndSomewhere) {
    std::string text = head("a") + kProbes + "kernels: [";
    while (text.size() < (std::size_t{1} << 20) - 10)
        text += "!t a, ";
    Texts texts{{{"a.yaml", text + "b]\n"}}, {}};
    const auto set = load_probe_set("a.yaml", texts.access());
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().code, "EGPU-S005");
}

TEST(LoadProbeSet, WindowsLineEndsAndAByteOrderMarkAreFine) {
    Texts texts{{{"a.yaml",
                  "\xef\xbb\xbf"
                  "egpu: 1\r\nname: a\r\nprobes:\r\n  - plugin: bandwidth\r\nstrit: true\r\n"}},
                {}};
    const auto set = load_probe_set("a.yaml", texts.access());
    ASSERT_FALSE(set);
    EXPECT_THAT(codes(set.errors()), ElementsAre("EGPU-S012"));
    EXPECT_EQ(set.error().where.line, 5u);
    EXPECT_EQ(set.error().quoted.at(0).text, "strit: true");
}

TEST(LoadProbeSet, SaysAllProblemsInTheOrderOfTheirLines) {
    Texts texts{{{"a.yaml", "egpu: 1\nname: b\nwait: 5\nkernels: [*x]\nstrict: &a true\nfoo: 1\nwait: 6 s\n"}}, {}};
    const auto set = load_probe_set("a.yaml", texts.access());
    ASSERT_FALSE(set);
    EXPECT_THAT(codes(set.errors()),
                ElementsAre("EGPU-S010", "EGPU-S015", "EGPU-S013", "EGPU-S003", "EGPU-S004", "EGPU-S012", "EGPU-S006"));
}

TEST(LoadProbeSet, AStarBehindABracketOfAnAliasIsAPatternToo) {
    for (const char* line : {"kernels: [a, *b]", "kernels: [*b ,c]", "kernels: { include: [*b] }", "kernels: *"}) {
        Texts texts{{{"a.yaml", head("a") + kProbes + line + "\n"}}, {}};
        const auto set = load_probe_set("a.yaml", texts.access());
        ASSERT_FALSE(set) << line;
        EXPECT_THAT(codes(set.errors()), ElementsAre("EGPU-S003")) << line;
    }
}

TEST(LoadProbeSet, ManyUnquotedPatternsEndSomewhere) {
    std::string text = head("a") + kProbes + "kernels:\n";
    for (int i = 0; i < 5000; ++i)
        text += "  - *x\n";
    Texts texts{{{"a.yaml", text}}, {}};
    const auto set = load_probe_set("a.yaml", texts.access());
    ASSERT_FALSE(set);
    EXPECT_LT(set.errors().size(), 50u);
}

TEST(LoadProbeSet, IncludesOnceWhoeverIncludesIt) {
    Texts texts{{{"a.yaml", head("a") + "include: [d/b.yaml, d/c.yaml]\n"},
                 {"d/b.yaml", head("b") + "include: [base]\n"},
                 {"d/c.yaml", head("c") + "include: [../sets/base.yaml]\n"},
                 {"sets/base.yaml", head("base") + kProbes}},
                {}};
    const auto set = load_probe_set("a.yaml", texts.access());
    ASSERT_TRUE(set) << to_text(set.error());
    EXPECT_EQ(set->probes.size(), 1u);
    EXPECT_THAT(texts.reads, ElementsAre("a.yaml", "d/b.yaml", "sets/base.yaml", "d/c.yaml"));
}

TEST(LoadProbeSet, AChainOfIncludesEnds) {
    Texts texts;
    for (int i = 0; i < 100; ++i)
        texts.files["s" + std::to_string(i) + ".yaml"] =
            head("s" + std::to_string(i)) + "include: [./s" + std::to_string(i + 1) + ".yaml]\n";
    const auto set = load_probe_set("s0.yaml", texts.access());
    ASSERT_FALSE(set);
    EXPECT_THAT(codes(set.errors()), ElementsAre("EGPU-S018"));
    EXPECT_EQ(texts.reads.size(), 64u);
}

}  // namespace
}  // namespace egpu::host
