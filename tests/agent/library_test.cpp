// SPDX-License-Identifier: Apache-2.0
// The agent as a file: what it exports, how large it is, what it does to lookups. How long it takes to load is measured
// in tests/bench.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>

namespace {

std::string output_of(const std::string& command) {
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    std::string text;
    char buffer[4096];
    for (std::size_t got; (got = fread(buffer, 1, sizeof(buffer), pipe.get())) > 0;)
        text.append(buffer, got);
    return text;
}

std::set<std::string> expected_exports() {
    std::set<std::string> names = {"dlsym",  "dlvsym", "_exit",  "_Exit",   "quick_exit", "execl",    "execlp",
                                   "execle", "execv",  "execvp", "execvpe", "execve",     "execveat", "fexecve"};
#define EGPU_WRAPPED(name, treatment) names.insert(#name);
#define EGPU_USED(name)
#include "agent/driver/functions.inc"
#undef EGPU_WRAPPED
#undef EGPU_USED
    return names;
}

TEST(Library, ExportsExactlyWhatItMust) {
    std::set<std::string> found;
    std::istringstream lines(output_of("nm -D --defined-only --format=posix " EGPU_AGENT));
    for (std::string name, rest; lines >> name && std::getline(lines, rest);) {
        EXPECT_EQ(name.find('@'), std::string::npos)
            << name << ": an interposer with a version is passed over in silence";
        found.insert(name);
    }
    EXPECT_EQ(found, expected_exports());
}

TEST(Library, NeedsTheCLibraryAndNothingElse) {
    std::istringstream lines(output_of("readelf -d " EGPU_AGENT " | grep NEEDED"));
    for (std::string line; std::getline(lines, line);)
        EXPECT_TRUE(line.find("libc.so.6") != std::string::npos || line.find("ld-linux") != std::string::npos) << line;
    EXPECT_EQ(output_of("readelf -d " EGPU_AGENT " | grep -E 'SONAME|TEXTREL|INIT_ARRAY |\\(INIT\\) *0x0'"), "")
        << "no name that anything could ask for, no text relocations";
}

TEST(Library, IsUnderOneMegabyteStripped) {
    const std::string copy = testing::TempDir() + "agent_stripped_" + std::to_string(getpid());
    ASSERT_EQ(system(("strip -o " + copy + " " EGPU_AGENT).c_str()), 0);
    EXPECT_LT(std::filesystem::file_size(copy), 1'000'000u);
    std::filesystem::remove(copy);
}

class Lookups : public testing::TestWithParam<const char*> {};

TEST_P(Lookups, AreAsWithoutTheAgent) {
    const std::string folder = std::string(EGPU_LOOKUPS) + "/" + GetParam();
    const std::string command = " " + folder + "/program " + folder + "/plugin.so " + folder + "/base.so 2>&1";
    const std::string without = output_of("LD_PRELOAD=" + folder + "/shim.so" + command);
    const std::string with = output_of("LD_PRELOAD=" EGPU_AGENT ":" + folder + "/shim.so" + command);
    EXPECT_EQ(with, without);
    EXPECT_NE(without.find("value 101 cu_value 202\n"), std::string::npos) << without;
    EXPECT_NE(without.find("plugin 7 7\n"), std::string::npos) << without;
    EXPECT_NE(without.find("versioned 1\n"), std::string::npos) << without;
    EXPECT_NE(without.find("absent -2 1\n"), std::string::npos) << without;
    EXPECT_NE(without.find("error pending 0\n"), std::string::npos) << without;
    // The shim in front of the agent as well.
    EXPECT_EQ(output_of("LD_PRELOAD=" + folder + "/shim.so:" EGPU_AGENT + command), without);
}

INSTANTIATE_TEST_SUITE_P(Library, Lookups, testing::Values("O0", "O2"));

// Programs without CUDA: nothing is to be seen of the agent.
TEST(Library, OrdinaryProgramsRunUnderIt) {
    for (const char* command : {"/bin/ls /", "/bin/sh -c 'echo a | cat; exit 3'", "/usr/bin/env true"}) {
        const std::string plain = std::string(command) + " 2>&1; echo $?";
        EXPECT_EQ(output_of("LD_PRELOAD=" EGPU_AGENT " " + plain), output_of(plain)) << command;
    }
}

}  // namespace
