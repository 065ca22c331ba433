// SPDX-License-Identifier: Apache-2.0
// The length of images behind bare pointers: what the driver is handed has no size beside it.
#include "ptx/fatbin/extent/extent.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "fixtures.hpp"

namespace egpu {
namespace {

std::string image(const std::string& name) {
    return test::read(std::string(EGPU_TEST_DATA) + "/fatbin/" + name);
}

/// Bytes that end where a page without access begins: a read behind them is a signal, not luck.
class AtTheEndOfAPage {
public:
    explicit AtTheEndOfAPage(const std::string& bytes) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        mapped_ = (bytes.size() / page + 2) * page;
        void* memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            std::abort();
        memory_ = static_cast<char*>(memory);
        data_ = memory_ + mapped_ - page - bytes.size();
        std::memcpy(data_, bytes.data(), bytes.size());
        if (mprotect(memory_ + mapped_ - page, page, PROT_NONE) != 0)
            std::abort();
    }
    ~AtTheEndOfAPage() { munmap(memory_, mapped_); }
    AtTheEndOfAPage(const AtTheEndOfAPage&) = delete;
    AtTheEndOfAPage& operator=(const AtTheEndOfAPage&) = delete;
    const char* data() const { return data_; }

private:
    char* memory_ = nullptr;
    char* data_ = nullptr;
    std::size_t mapped_ = 0;
};

class Extent : public testing::TestWithParam<std::pair<const char*, egpu_image_kind>> {};

TEST_P(Extent, IsTheSizeOfTheFile) {
    const auto& [name, kind] = GetParam();
    std::string bytes = image(name);
    const std::size_t size = bytes.size();
    if (kind == EGPU_IMAGE_PTX)
        bytes.push_back('\0');
    const AtTheEndOfAPage memory(bytes);
    egpu_image_extent extent{};
    ASSERT_EQ(egpu_image_extent_of(memory.data(), &extent), 0);
    EXPECT_EQ(extent.kind, kind);
    EXPECT_EQ(extent.bytes, size);
    EXPECT_EQ(extent.data, memory.data());
    EXPECT_EQ(extent.relocatable, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, Extent,
    testing::Values(std::pair{"plain.fatbin", EGPU_IMAGE_FATBIN}, std::pair{"two_gencode.fatbin", EGPU_IMAGE_FATBIN},
                    std::pair{"lto.fatbin", EGPU_IMAGE_FATBIN}, std::pair{"kernels.cubin", EGPU_IMAGE_CUBIN},
                    std::pair{"relocatable.cubin", EGPU_IMAGE_CUBIN}, std::pair{"kernels.ptx", EGPU_IMAGE_PTX}));

struct Wrapper {
    std::uint32_t magic = 0x466243B1, version = 1;
    const void* data = nullptr;
    const void* second = nullptr;
};

TEST(Extent, AWrapperLeadsToItsContainer) {
    const std::string container = image("plain.fatbin");
    for (const std::uint32_t version : {1U, 2U}) {
        const Wrapper wrapper{.version = version, .data = container.data()};
        egpu_image_extent extent{};
        ASSERT_EQ(egpu_image_extent_of(&wrapper, &extent), 0);
        EXPECT_EQ(extent.data, container.data());
        EXPECT_EQ(extent.bytes, container.size());
        EXPECT_EQ(extent.relocatable, version == 2 ? 1 : 0);
    }
}

TEST(Extent, RefusesWrappersOfNothing) {
    const std::string text = "no container";
    egpu_image_extent extent{};
    for (const Wrapper& wrapper :
         {Wrapper{.version = 3, .data = text.data()}, Wrapper{.data = nullptr}, Wrapper{.data = text.data()}})
        EXPECT_EQ(egpu_image_extent_of(&wrapper, &extent), -1);
    EXPECT_EQ(egpu_image_extent_of(nullptr, &extent), -1);
}

TEST(Extent, RefusesTextThatIsNoPtxWithoutReadingOn) {
    egpu_image_extent extent{};
    for (const char* text :
         {"", "x", "\n", "//", "/*", "/* *", ".vers", ".target sm_90", "// .version 9.0", "\x7f", "\x50\xed",
          "\x7f"
          "EL"}) {
        const AtTheEndOfAPage memory(std::string(text) + '\0');
        EXPECT_EQ(egpu_image_extent_of(memory.data(), &extent), -1) << text;
    }
}

TEST(Extent, PtxMayBeginWithBlanksAndComments) {
    const std::string text = "\n\n\n/* a * b */\n// .file\n\t.version 9.0\n";
    const AtTheEndOfAPage memory(text + '\0');
    egpu_image_extent extent{};
    ASSERT_EQ(egpu_image_extent_of(memory.data(), &extent), 0);
    EXPECT_EQ(extent.bytes, text.size());
}

TEST(Extent, RefusesSizesOverAGibibyte) {
    egpu_image_extent extent{};
    std::string container = image("plain.fatbin");
    for (const std::uint64_t size : {std::uint64_t{1} << 30, ~std::uint64_t{0}, ~std::uint64_t{0} - 15}) {
        std::memcpy(container.data() + 8, &size, sizeof size);
        EXPECT_EQ(egpu_image_extent_of(container.data(), &extent), -1);
    }
    std::string cubin = image("kernels.cubin");
    std::uint64_t sections = 0;
    std::memcpy(&sections, cubin.data() + 0x28, sizeof sections);
    const std::uint64_t far = ~std::uint64_t{0} - 100;
    std::memcpy(cubin.data() + sections + 64 + 0x18, &far, sizeof far);  // the first section's offset
    EXPECT_EQ(egpu_image_extent_of(cubin.data(), &extent), -1);
}

}  // namespace
}  // namespace egpu
