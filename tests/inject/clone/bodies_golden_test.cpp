// SPDX-License-Identifier: Apache-2.0
// Copies with two bodies, before and after: tests/data/ptx/inject/bodies/NAME.ptx becomes NAME.expected, which ptxas
// takes. The first lines of a file name the kernel, the programs ("object" or "object/program") and what is sampled
// ("1/4 warps" and programs). EGPU_UPDATE_GOLDEN=1 writes the files anew.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "../session.hpp"
#include "inject/compile/compile.hpp"

namespace egpu::inject {
namespace {

const std::filesystem::path kFolder = EGPU_TEST_DATA "/ptx/inject/bodies";

std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(kFolder))
        if (entry.path().extension() == ".ptx")
            names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return names;
}

/// The rest of the line that begins with "// key: ".
std::istringstream header(const std::string& text, const std::string& key) {
    const std::string begin = "// " + key + ": ";
    const std::size_t at = text.find(begin);
    return std::istringstream(
        at == std::string::npos ? "" : text.substr(at + begin.size(), text.find('\n', at) - at - begin.size()));
}

void attach(testing::Session& session, std::istream& programs) {
    for (std::string word; programs >> word;)
        session.attach(word.substr(0, word.find('/')),
                       word.find('/') == std::string::npos ? "" : word.substr(word.find('/') + 1));
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, TwoBodies) {
    const std::string original = (kFolder / (GetParam() + ".ptx")).string();
    const auto text = read_text(original);
    ASSERT_TRUE(text);
    const auto module = testing::read_module(original);
    testing::Session session;
    auto programs = header(*text, "programs"), sampled = header(*text, "sampled");
    attach(session, programs);
    std::string share, unit;
    ASSERT_TRUE(sampled >> share >> unit);
    session.sample({unit == "blocks" ? Sampling::Unit::blocks : Sampling::Unit::warps,
                    static_cast<std::uint32_t>(std::stoul(share.substr(2)))});
    attach(session, sampled);
    const std::string kernel = header(*text, "kernel").str();
    const auto copy = build_copy(session.request(module, kernel));
    const std::string actual =
        copy ? fmt::format("// bodies: {}, warps together: {}\n{}", copy->bodies, copy->warps_of_a_group, copy->ptx)
             : to_text(copy.error());
    const std::string path = (kFolder / (GetParam() + ".expected")).string();
    if (std::getenv("EGPU_UPDATE_GOLDEN") != nullptr) {
        ASSERT_TRUE(write_file(path, actual));
    }
    const auto expected = read_text(path);
    ASSERT_TRUE(expected) << path;
    EXPECT_EQ(actual, *expected);
    const auto ptxas = find_ptxas();
    if (!copy || !ptxas)
        return;
    const auto before = reassembled_copy(module, kernel);
    ASSERT_TRUE(before) << to_text(before.error());
    const auto plain = compile_ptx(*ptxas, *before, kernel, {std::string(module.target), {}, 60});
    const auto compiled = compile_ptx(*ptxas, copy->ptx, kernel, {std::string(module.target), {}, 60});
    ASSERT_TRUE(compiled) << to_text(compiled.error());
    ASSERT_TRUE(plain) << to_text(plain.error());
    EXPECT_EQ(compiled->static_shared_bytes, plain->static_shared_bytes) << "shared memory is one for both bodies";
}

INSTANTIATE_TEST_SUITE_P(Bodies, Golden, ::testing::ValuesIn(names()),
                         [](const auto& information) { return information.param; });

}  // namespace
}  // namespace egpu::inject
