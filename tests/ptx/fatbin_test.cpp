// SPDX-License-Identifier: Apache-2.0
// Fatbinaries, cubins and host files as nvcc writes them, against what they must be read as; and damaged ones.
#include "ptx/fatbin/image.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "fixtures.hpp"
#include "ptx/fatbin/elf.hpp"

namespace egpu::ptx {
namespace {

const std::string kFolder = std::string(EGPU_TEST_DATA) + "/fatbin/";

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::string target(std::uint32_t architecture, char suffix) {
    return std::to_string(architecture) + (suffix == 0 ? "" : std::string(1, suffix));
}

std::string describe(const CubinMember& cubin) {
    std::string out =
        fmt::format("  cubin {} from {} by ptxas {} with \"{}\"{}, {} bytes\n",
                    target(cubin.architecture, cubin.suffix), cubin.virtual_architecture, cubin.tool_version,
                    cubin.tool_options, cubin.linked ? ", linked" : "", cubin.bytes.size());
    for (const CubinKernel& kernel : cubin.kernels) {
        out += fmt::format("    kernel {}: registers {}, shared {}, parameters {}, stack {}", kernel.name,
                           kernel.registers, kernel.static_shared_bytes, kernel.parameter_bytes, kernel.stack_bytes);
        if (kernel.block[0] != 0)
            out += fmt::format(", block {} {}x{}x{}", kernel.block_is_required ? "of" : "at most", kernel.block[0],
                               kernel.block[1], kernel.block[2]);
        out += "\n";
    }
    return out;
}

std::string describe(const Image& image) {
    static constexpr const char* kKinds[] = {"ptx text", "fatbinary", "cubin", "unknown"};
    std::string out = fmt::format("{}{}, {} skipped\n", kKinds[static_cast<std::size_t>(image.kind)],
                                  image.relocatable ? ", relocatable" : "", image.skipped);
    for (const PtxMember& ptx : image.ptx)
        out += fmt::format("  ptx {} with \"{}\", {} bytes\n", target(ptx.architecture, ptx.suffix), ptx.options,
                           ptx.text.size());
    for (const CubinMember& cubin : image.cubins)
        out += describe(cubin);
    return out;
}

std::vector<std::string> images() {
    std::vector<std::string> all;
    for (const char* extension : {".fatbin", ".cubin", ".ptx", ".o", ".so"})
        for (std::string& file : test::fixtures("fatbin", extension))
            all.push_back(std::move(file));
    return all;
}

std::string test_name(const std::string& path) {
    std::string name = std::filesystem::path(path).filename().string();
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
}

class GoodImage : public testing::TestWithParam<std::string> {};

TEST_P(GoodImage, IsReadAsExpected) {
    const auto read = read_images_of_file(GetParam());
    ASSERT_TRUE(read) << to_text(read.error());
    std::string text;
    for (const Image& image : *read)
        text += describe(image);
    if (std::getenv("EGPU_UPDATE_GOLDEN") != nullptr)
        std::ofstream(GetParam() + ".expect") << text;
    EXPECT_EQ(text, test::read(GetParam() + ".expect"));
}

TEST_P(GoodImage, HasPtxThatBeginsWithItsVersion) {
    const auto read = read_images_of_file(GetParam());
    ASSERT_TRUE(read);
    for (const Image& image : *read)
        for (const PtxMember& ptx : image.ptx) {
            EXPECT_NE(ptx.text.find(".version 9.0\n.target sm_" + target(ptx.architecture, ptx.suffix)),
                      std::string::npos);
            EXPECT_EQ(ptx.text.find('\0'), std::string::npos);
        }
}

// A hostile image may be cut off anywhere. An error or another result, never a read outside (run with ASan).
TEST_P(GoodImage, MayBeCutOffAnywhere) {
    const std::string whole = test::read(GetParam());
    for (std::size_t size = 0; size < whole.size(); size += size < 512 ? 1 : 37) {
        const std::string part(whole, 0, size);  // its own allocation, so that ASan sees its end
        (void)read_image(bytes_of(part));
    }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, GoodImage, testing::ValuesIn(images()),
                         [](const auto& info) { return test_name(info.param); });

std::vector<std::string> bad_images() {
    std::vector<std::string> all;
    for (const char* extension : {".fatbin", ".cubin", ".ptx", ".txt"})
        for (std::string& file : test::fixtures("fatbin/bad", extension))
            all.push_back(std::move(file));
    return all;
}

class BadImage : public testing::TestWithParam<std::string> {};

TEST_P(BadImage, IsRefusedWithTheCodeInItsName) {
    const auto read = read_images_of_file(GetParam());
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, "EGPU-" + test_name(GetParam()).substr(0, 4));
    EXPECT_EQ(read.error().where.file, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Fixtures, BadImage, testing::ValuesIn(bad_images()),
                         [](const auto& info) { return test_name(info.param); });

Image image_of(const std::string& name) {
    const std::string content = test::read(kFolder + name);
    auto image = read_image(bytes_of(content));
    if (!image) {
        ADD_FAILURE() << name << ": " << to_text(image.error());
        return {};
    }
    return std::move(*image);
}

TEST(Image, TheThreeWaysToStoreHoldTheSame) {
    const Image plain = image_of("plain.fatbin"), lz4 = image_of("lz4.fatbin"), zstd = image_of("zstd.fatbin");
    EXPECT_EQ(plain.ptx.at(0).text, lz4.ptx.at(0).text);
    EXPECT_EQ(plain.ptx.at(0).text, zstd.ptx.at(0).text);
    EXPECT_EQ(plain.cubins.at(0).bytes, zstd.cubins.at(0).bytes);
}

TEST(Image, KindsAreToldApart) {
    for (const auto& [name, kind] :
         {std::pair{"plain.fatbin", ImageKind::fatbinary}, std::pair{"kernels.cubin", ImageKind::cubin},
          std::pair{"kernels.ptx", ImageKind::ptx_text}, std::pair{"libhost.so", ImageKind::unknown}}) {
        const std::string content = test::read(kFolder + name);
        EXPECT_EQ(image_kind(bytes_of(content)), kind) << name;
    }
    EXPECT_EQ(image_kind({}), ImageKind::unknown);
}

TEST(Image, AHostFileWithoutGpuCodeGivesNone) {
    const auto read = read_images_of_file("/proc/self/exe");
    ASSERT_TRUE(read) << to_text(read.error());
    EXPECT_TRUE(read->empty());
}

TEST(Image, AMissingFileIsNamed) {
    const auto read = read_images_of_file(kFolder + "no-such-file");
    ASSERT_FALSE(read);
    EXPECT_THAT(to_text(read.error()), testing::HasSubstr("no-such-file"));
}

template <typename T>
void put(std::string& bytes, std::size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

// What cubins of toolkits before 13 differ in: the layout of e_flags, and registers in the section's header.
TEST(Cubin, OfAnOlderToolkit) {
    std::string content = test::read(kFolder + "kernels.cubin");
    put<std::uint8_t>(content, 8, 7);
    put<std::uint32_t>(content, 0x30, 0x00500d56);
    const auto elf = read_elf(bytes_of(content));
    ASSERT_TRUE(elf);
    const auto offset_of = [&](std::string_view section) {
        return static_cast<std::size_t>(as_text(elf->section(section)->data).data() - content.data());
    };
    const std::size_t info = offset_of(".nv.info"), note = offset_of(".note.nv.cuinfo"),
                      tool = offset_of(".note.nv.tkinfo");
    for (std::size_t at = info; at < info + elf->section(".nv.info")->size; at += 12)  // each has 8 bytes of data
        if (content[at + 1] == 0x2f)
            content[at + 1] = 0x2e;
    put<std::uint32_t>(content, note + 8, 1);  // notes of unknown types
    put<std::uint32_t>(content, tool + 8, 1);
    std::size_t headers = 0;
    std::memcpy(&headers, content.data() + 0x28, sizeof headers);
    for (std::size_t i = 0; i < elf->sections.size(); ++i)
        if (elf->sections[i].name == ".text.scale")
            put<std::uint32_t>(content, headers + 64 * i + 0x2c, 33U << 24 | elf->sections[i].info);
    const auto image = read_image(bytes_of(content));
    ASSERT_TRUE(image) << to_text(image.error());
    const CubinMember& cubin = image->cubins.at(0);
    EXPECT_EQ(cubin.architecture, 86U);
    EXPECT_EQ(cubin.virtual_architecture, 80U);
    EXPECT_EQ(cubin.suffix, 'a');
    EXPECT_EQ(cubin.tool_version, "");
    EXPECT_EQ(cubin.kernels.at(1).name, "scale");
    EXPECT_EQ(cubin.kernels.at(1).registers, 33U);
    EXPECT_EQ(cubin.kernels.at(0).registers, 0U);
}

// The PTX that is there isn't the source of the code that runs on sm_90.
TEST(Choice, TellsTheRunningCodeFromThePtxBesideIt) {
    const Image image = image_of("two_gencode.fatbin");
    const Choice on_90 = choose(image, 90);
    ASSERT_NE(on_90.cubin, nullptr);
    ASSERT_NE(on_90.ptx, nullptr);
    EXPECT_EQ(on_90.cubin->virtual_architecture, 90U);
    EXPECT_EQ(on_90.ptx->architecture, 80U);
    const Choice on_86 = choose(image, 86);
    EXPECT_EQ(on_86.cubin->virtual_architecture, on_86.ptx->architecture);
    const Choice on_100 = choose(image, 100);
    EXPECT_EQ(on_100.cubin, nullptr);
    EXPECT_EQ(on_100.ptx->architecture, 80U);
    const Choice on_75 = choose(image, 75);
    EXPECT_EQ(on_75.cubin, nullptr);
    EXPECT_EQ(on_75.ptx, nullptr);
    const Image older = image_of("older_source.fatbin");
    EXPECT_EQ(choose(older, 90).cubin->virtual_architecture, choose(older, 90).ptx->architecture);
}

TEST(Choice, SpecificTargetsRunWhereTheyMay) {
    const Image image = image_of("specific.fatbin");
    EXPECT_EQ(choose(image, 90).ptx->suffix, 'a');
    EXPECT_EQ(choose(image, 90).cubin->suffix, 'a');
    EXPECT_EQ(choose(image, 103).ptx->suffix, 'f');
    EXPECT_EQ(choose(image, 103).cubin->suffix, 'f');
    EXPECT_EQ(choose(image, 120).cubin, nullptr);
    EXPECT_EQ(choose(image, 120).ptx->architecture, 80U);
    EXPECT_EQ(choose(image, 89).ptx->architecture, 80U);
}

TEST(Choice, PrefersThePtxThatTheRunningCodeWasCompiledFrom) {
    Image image;
    CubinMember& cubin = image.cubins.emplace_back();
    cubin.architecture = 90;
    cubin.virtual_architecture = 80;
    for (const std::uint32_t architecture : {70U, 80U, 90U})
        image.ptx.emplace_back().architecture = architecture;
    EXPECT_EQ(choose(image, 90).ptx->architecture, 80U);
    EXPECT_EQ(choose(image, 100).ptx->architecture, 90U);
    cubin.virtual_architecture = 90;
    image.ptx.emplace_back().architecture = 90;
    image.ptx.back().suffix = 'a';
    EXPECT_EQ(choose(image, 90).ptx->suffix, 0);
    cubin.suffix = 'a';
    EXPECT_EQ(choose(image, 90).ptx->suffix, 'a');
}

TEST(Choice, TheHighestMinorNotAboveWins) {
    Image image;
    for (const std::uint32_t architecture : {80U, 86U, 89U, 90U}) {
        image.cubins.emplace_back().architecture = architecture;
        image.ptx.emplace_back().architecture = architecture;
    }
    EXPECT_EQ(choose(image, 87).cubin->architecture, 86U);
    EXPECT_EQ(choose(image, 89).cubin->architecture, 89U);
    EXPECT_EQ(choose(image, 88).ptx->architecture, 86U);
    EXPECT_EQ(choose(image, 75).cubin, nullptr);
    EXPECT_EQ(choose(image, 120).ptx->architecture, 90U);
}

// Each byte of headers and of the cubin's ELF changed once: an error or another reading, never harm.
TEST(Image, ChangedBytesDoNoHarm) {
    for (const char* name : {"plain.fatbin", "zstd.fatbin", "lz4.fatbin", "kernels.cubin", "relocatable.cubin"}) {
        std::string content = test::read(kFolder + name);
        for (std::size_t i = 0; i < content.size(); i += i < 256 ? 1 : 3) {
            for (const int value : {0x00, 0x7f, 0xff}) {
                const char before = content[i];
                content[i] = static_cast<char>(value);
                (void)read_image(bytes_of(content));
                content[i] = before;
            }
        }
    }
}

}  // namespace
}  // namespace egpu::ptx
