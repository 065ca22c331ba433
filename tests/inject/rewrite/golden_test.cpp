// SPDX-License-Identifier: Apache-2.0
// Before and after of every form of insertion: tests/data/ptx/inject/rewrite/NAME.ptx becomes NAME.expected. The first
// lines of a file name the kernel and the programs ("object" or "object/program"), whether constants lie in the copy's
// own bank ("bank"), and whether tensor maps can be read ("known").
// EGPU_UPDATE_GOLDEN=1 writes the files anew.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "../session.hpp"

namespace egpu::inject {
namespace {

const std::filesystem::path kFolder = EGPU_TEST_DATA "/ptx/inject/rewrite";

std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(kFolder))
        if (entry.path().extension() == ".ptx")
            names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return names;
}

/// The rest of the line that begins with "// key: ".
std::string header(const std::string& text, const std::string& key) {
    const std::string begin = "// " + key + ": ";
    const std::size_t at = text.find(begin);
    return at == std::string::npos ? "" : text.substr(at + begin.size(), text.find('\n', at) - at - begin.size());
}

std::string outcome_text(const InstrumentedCopy& copy) {
    std::string text = fmt::format("// places {}, accumulators {}\n", copy.sites, copy.accumulators);
    for (const auto& outcome : copy.outcomes) {
        text += fmt::format("// program {}: {} sites\n", outcome.probe, outcome.sites);
        for (const auto& note : outcome.notes)
            text += fmt::format("//   {} [{}]\n", note.message, note.code);
    }
    return text;
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, BeforeAndAfter) {
    const auto text = read_text((kFolder / (GetParam() + ".ptx")).string());
    ASSERT_TRUE(text);
    auto module = ptx::parse(*text, GetParam());
    ASSERT_TRUE(module) << to_text(module.error());
    testing::Session session;
    std::istringstream programs(header(*text, "programs"));
    for (std::string word; programs >> word;)
        session.attach(word.substr(0, word.find('/')),
                       word.find('/') == std::string::npos ? "" : word.substr(word.find('/') + 1));
    auto request = session.request(*module, header(*text, "kernel"));
    request.constants_in_bank = header(*text, "constants") == "bank";
    request.tensor_maps_known = header(*text, "tensor maps") == "known";
    const auto copy = build_copy(request);
    const std::string actual = copy ? outcome_text(*copy) + copy->ptx : to_text(copy.error());
    const std::string path = (kFolder / (GetParam() + ".expected")).string();
    if (std::getenv("EGPU_UPDATE_GOLDEN") != nullptr) {
        ASSERT_TRUE(write_file(path, actual));
    }
    const auto expected = read_text(path);
    ASSERT_TRUE(expected) << path;
    EXPECT_EQ(actual, *expected);
}

INSTANTIATE_TEST_SUITE_P(Rewrite, Golden, ::testing::ValuesIn(names()),
                         [](const auto& information) { return information.param; });

}  // namespace
}  // namespace egpu::inject
