// SPDX-License-Identifier: Apache-2.0
// The workloads' PTX: the memory instructions that their closed forms count, the source lines that findings name, and
// that ptxas takes it for the architectures we care about.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "process.hpp"

namespace {

const std::string kFolder = std::string(EGPU_BINARY_DIR) + "/tests/workloads/";

std::string text_of(const std::string& name) {
    std::ifstream file(kFolder + name + ".ptx");
    EXPECT_TRUE(file) << name;
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// How often each opcode that touches memory stands in a text ("ld.global.f32"), parameters left out.
std::map<std::string, int> memory_opcodes(const std::string& text) {
    std::map<std::string, int> found;
    std::istringstream words(text);
    std::string word;
    while (words >> word) {
        const bool memory = word.starts_with("ld.") || word.starts_with("st.") || word.starts_with("atom.") ||
                            word.starts_with("red.") || word.starts_with("cp.");
        if (memory && word.find(".param") == std::string::npos) {
            ++found[word];
        }
    }
    return found;
}

using Opcodes = std::map<std::string, int>;

struct Case {
    std::string name;
    Opcodes opcodes;
};

class WorkloadPtx : public testing::TestWithParam<Case> {};

TEST_P(WorkloadPtx, HasTheAccessesThatAreCounted) {
    EXPECT_EQ(memory_opcodes(text_of(GetParam().name)), GetParam().opcodes);
}

TEST_P(WorkloadPtx, NamesItsSourceLines) {
    const std::string text = text_of(GetParam().name);
    EXPECT_NE(text.find("\t.loc\t1 "), std::string::npos);
    EXPECT_NE(text.find(GetParam().name + ".cu\""), std::string::npos);
}

TEST_P(WorkloadPtx, IsTakenByPtxas) {
    const std::string ptxas = EGPU_PTXAS_PATH;
    if (access(ptxas.c_str(), X_OK) != 0) {
        GTEST_SKIP() << "no ptxas was found when egpu was configured";
    }
    for (const char* architecture : {"sm_75", "sm_90", "sm_100"}) {
        const ProcessResult result = run_process(
            {ptxas, std::string("-arch=") + architecture, kFolder + GetParam().name + ".ptx", "-o", "/dev/null"}, {});
        EXPECT_EQ(result.exit_code, 0) << architecture << ": " << result.errors << result.output;
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, WorkloadPtx,
    testing::Values(Case{"gather", {{"ld.global.f32", 2}, {"st.global.f32", 2}}},
                    Case{"vecadd", {{"ld.global.f32", 2}, {"st.global.f32", 1}}},
                    Case{"reduction",
                         {{"ld.global.u32", 1}, {"st.shared.u32", 1}, {"ld.shared.u32", 1}, {"st.global.u32", 1}}},
                    Case{"histogram",
                         {{"st.shared.u32", 1},
                          {"ld.global.u32", 1},
                          {"atom.shared.add.u32", 1},
                          {"ld.shared.u32", 1},
                          {"atom.global.add.u32", 1}}},
                    Case{"divergent", {{"ld.global.u32", 1}, {"st.global.u32", 1}}},
                    Case{"loop", {{"ld.global.u32", 1}, {"st.global.u32", 1}}},
                    Case{"spaces",
                         {{"ld.global.u32", 1},
                          {"ld.const.u32", 1},
                          {"st.local.u32", 1},
                          {"ld.local.u32", 1},
                          {"st.shared.u32", 1},
                          {"ld.shared.u32", 1},
                          {"st.global.u32", 1}}}),
    [](const testing::TestParamInfo<Case>& one) { return one.param.name; });

/// The line that the first finding names (gather.cu:14).
TEST(WorkloadPtxLines, StridedLoadIsAtLine14) {
    const std::string text = text_of("gather");
    const std::size_t kernel = text.find("gather_strided");
    const std::size_t load = text.find("ld.global.f32", text.find('{', kernel));
    ASSERT_NE(load, std::string::npos);
    const std::size_t location = text.rfind(".loc", load);
    EXPECT_EQ(text.compare(location, 10, ".loc\t1 14 "), 0) << text.substr(location, 20);
}

}  // namespace
