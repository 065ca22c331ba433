// SPDX-License-Identifier: Apache-2.0
// The descriptor read from the file: what damaged files do to it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/files.hpp"
#include "host/plugins/discovery.hpp"
#include "host/plugins/elf_image.hpp"
#include "host/plugins/plugin_file.hpp"

namespace egpu::host {
namespace {

namespace fs = std::filesystem;

const std::string kGood = EGPU_BINARY_DIR "/tests/plugins-bad/good.so";

class Scratch {
public:
    Scratch() : path_(fs::temp_directory_path() / "egpu-plugin-XXXXXX") {
        std::string name = path_.string();
        path_ = ::mkdtemp(name.data());
    }
    ~Scratch() { fs::remove_all(path_); }
    std::string write(const std::string& name, std::span<const std::byte> bytes) const {
        std::ofstream file(path_ / name, std::ios::binary);
        file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return (path_ / name).string();
    }
    std::string path() const { return path_.string(); }

private:
    fs::path path_;
};

TEST(PluginFile, TheDescriptorIsReadFromTheFile) {
    const auto file = read_plugin_file(kGood);
    ASSERT_TRUE(file.ok()) << file.reason;
    EXPECT_EQ(file.about->id, "good");
    EXPECT_EQ(file.about->version, "0.1.0");
    EXPECT_EQ(file.about->license, "Apache-2.0");
    EXPECT_TRUE(file.about->has_code);
    // The object is the one that was embedded, byte for byte.
    const auto object = read_file(EGPU_BINARY_DIR "/tests/sdk/hello.bpf.o");
    ASSERT_TRUE(object);
    EXPECT_EQ(file.about->object, *object);
    EXPECT_EQ(exported_symbols(kGood), std::vector<std::string>{"egpu_plugin_descriptor"});
}

TEST(PluginFile, AnotherAbiStillSaysWhoItIs) {
    const auto file = read_plugin_file(EGPU_BINARY_DIR "/tests/plugins-bad/wrong_abi.so");
    EXPECT_EQ(file.state, PluginState::wrong_abi);
    ASSERT_TRUE(file.about);
    EXPECT_EQ(file.about->id, "roofline");
    EXPECT_EQ(file.about->version, "2.0.0");
    EXPECT_EQ(file.about->abi_major, 1u);
    EXPECT_EQ(file.about->abi_minor, 2u);
}

TEST(PluginFile, AFileThatIsCutOffIsNoPluginAtAnyLength) {
    const Scratch scratch;
    const auto bytes = read_file(kGood);
    ASSERT_TRUE(bytes);
    for (std::size_t size = 0; size < bytes->size(); size += size < 2048 ? 16 : 509) {
        const auto file = read_plugin_file(scratch.write("cut.so", std::span(*bytes).first(size)));
        EXPECT_FALSE(file.ok()) << size;
        EXPECT_FALSE(file.reason.empty()) << size;
    }
}

TEST(PluginFile, DamagedBytesGiveAStateAndNothingWorse) {
    const auto bytes = read_file(kGood);
    ASSERT_TRUE(bytes);
    const Scratch scratch;
    std::mt19937 random(7);
    for (int round = 0; round < 400; ++round) {
        auto damaged = *bytes;
        // Headers and tables more often than code.
        const std::size_t reach = round % 2 == 0 ? 4096 : damaged.size();
        for (int i = 0; i < 12; ++i)
            damaged[random() % reach] = static_cast<std::byte>(random());
        const auto file = read_plugin_file(scratch.write("damaged.so", damaged));
        EXPECT_TRUE(file.ok() || !file.reason.empty()) << round;
    }
}

TEST(PluginFile, PointersOutOfTheFileAreRefused) {
    auto bytes = read_file(kGood);
    ASSERT_TRUE(bytes);
    const ElfImage image(*bytes);
    const auto symbol = image.exported("egpu_plugin_descriptor");
    ASSERT_TRUE(symbol);
    const auto object = image.pointer_at(symbol->address + 48);
    ASSERT_TRUE(object);
    EXPECT_FALSE(image.at(*object, 4).empty());
    EXPECT_TRUE(image.at(*object, std::uint64_t{1} << 62).empty());
    EXPECT_TRUE(image.at(~std::uint64_t{0} - 2, 8).empty());
    EXPECT_FALSE(image.pointer_at(~std::uint64_t{0} - 2));
    EXPECT_FALSE(image.text_at(std::uint64_t{1} << 40));
}

TEST(PluginFile, EachStateHasWordsAndACode) {
    for (int state = 0; state <= static_cast<int>(PluginState::untrusted); ++state) {
        PluginFile file;
        file.state = static_cast<PluginState>(state);
        EXPECT_STRNE(to_words(file.state), "");
        EXPECT_TRUE(to_diagnostic(file).code.starts_with("EGPU-X")) << to_words(file.state);
    }
}

TEST(PluginDiscovery, TheFirstFolderWins) {
    const Scratch first, second;
    fs::copy(kGood, first.path() + "/b.so");
    fs::copy(kGood, second.path() + "/a.so");
    fs::copy(EGPU_BINARY_DIR "/tests/plugins-bad/wrong_abi.so", first.path() + "/roofline.so");
    ::setenv("EGPU_PLUGIN_PATH", second.path().c_str(), 1);
    prefer_plugin_folders({first.path()});
    const auto found = find_plugin("good");
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->ok());
    EXPECT_EQ(found->path, fs::canonical(first.path() + "/b.so"));
    // The one that lost says to whom.
    bool duplicate = false;
    for (const auto& file : find_plugins())
        if (file.path == fs::canonical(second.path() + "/a.so")) {
            EXPECT_EQ(file.state, PluginState::duplicate);
            EXPECT_NE(file.reason.find(found->path), std::string::npos) << file.reason;
            duplicate = true;
        }
    EXPECT_TRUE(duplicate);
    // One that can't be used is found too, with its state, where no other has its name.
    const auto unusable = find_plugin("roofline");
    ASSERT_TRUE(unusable);
    EXPECT_EQ(unusable->state, PluginState::wrong_abi);
    EXPECT_FALSE(find_plugin("nothing-of-that-name"));
    ::unsetenv("EGPU_PLUGIN_PATH");
    prefer_plugin_folders({});
}

}  // namespace
}  // namespace egpu::host
