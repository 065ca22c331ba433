// SPDX-License-Identifier: Apache-2.0
// Kernels that others have compiled: every one is decoded, or refused with the opcode that is missing. The folder of
// .ptx files is named by EGPU_PTX_CORPUS; without it there is nothing to do.
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/files.hpp"
#include "device.hpp"

namespace egpu::simulated::test {
namespace {

TEST(Corpus, KernelsDecodeOrSayWhatIsMissing) {
    const char* const folder = std::getenv("EGPU_PTX_CORPUS");
    if (folder == nullptr || *folder == 0) {
        GTEST_SKIP() << "EGPU_PTX_CORPUS names no folder of .ptx files";
    }
    unsigned kernels = 0, covered = 0;
    std::map<std::string, std::string> refused;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".ptx") {
            continue;
        }
        auto text = read_text(entry.path().string());
        ASSERT_TRUE(text);
        Device device;
        auto module = Module::load(std::move(*text), entry.path().filename().string(), device.memory);
        ASSERT_TRUE(module) << entry.path() << ": " << to_text(module.error());
        for (const std::string& name : (*module)->kernel_names()) {
            ++kernels;
            const auto kernel = (*module)->kernel(name);
            if (kernel) {
                ++covered;
                EXPECT_NE((*kernel)->program, nullptr);
            } else {
                EXPECT_EQ(kernel.error().code, "EGPU-P202") << to_text(kernel.error());
                refused[name] = kernel.error().message;
            }
        }
    }
    std::printf("%u of %u kernels covered\n", covered, kernels);
    for (const auto& [name, message] : refused) {
        std::printf("  %s\n", message.c_str());
    }
    EXPECT_GT(kernels, 0U);
    EXPECT_GE(covered * 10, kernels * 8) << "fewer than 80 % of the kernels";
}

}  // namespace
}  // namespace egpu::simulated::test
