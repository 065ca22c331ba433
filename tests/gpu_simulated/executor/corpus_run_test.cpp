// SPDX-License-Identifier: Apache-2.0
// Kernels that nvcc has compiled from CUDA's own headers (cooperative groups, cuda::pipeline, cuda::barrier,
// nvcuda::wmma), run: clusters, asynchronous copies and matrix products as real code uses them. The PTX is that of the
// corpus whose folder EGPU_PTX_CORPUS names (sm_90); without it there is nothing to do.
#include <bit>
#include <cstdlib>

#include "base/files.hpp"
#include "device.hpp"

namespace egpu::simulated::test {
namespace {

class CorpusRun : public testing::Test {
protected:
    /// Loads FILE.ptx and finds the kernel whose mangled name begins with `name`.
    void load(const std::string& file, const std::string& name) {
        const char* const folder = std::getenv("EGPU_PTX_CORPUS");
        if (folder == nullptr || *folder == 0) {
            GTEST_SKIP() << "EGPU_PTX_CORPUS names no folder of .ptx files";
        }
        auto text = read_text(std::string(folder) + "/" + file + ".ptx");
        ASSERT_TRUE(text);
        if (text->find("sm_90") == std::string::npos && text->find("sm_100") == std::string::npos) {
            GTEST_SKIP() << "the corpus is not that of sm_90";
        }
        auto loaded = Module::load(std::move(*text), file, device.memory);
        ASSERT_TRUE(loaded) << to_text(loaded.error());
        module = std::move(*loaded);
        for (const std::string& one : module->kernel_names()) {
            kernel = one.starts_with("_Z" + name) ? one : kernel;
        }
        ASSERT_FALSE(kernel.empty());
    }
    void run(Dimensions grid, std::uint32_t threads, const Parameters& parameters) {
        const auto result = device.run(*module, kernel, grid, {threads, 1, 1}, parameters);
        ASSERT_TRUE(result) << why(result);
    }

    Device device;
    std::unique_ptr<Module> module;
    std::string kernel;
};

std::uint16_t half_of(int value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    return value == 0 ? std::uint16_t{0}
                      : static_cast<std::uint16_t>((bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 112) << 10 |
                                                   (bits >> 13 & 0x3ff));
}
std::uint16_t brain_of(int value) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
}
int a_at(int row, int k) {
    return (row * 5 + k * 3) % 7 - 3;
}
int b_at(int k, int column) {
    return (k * 2 + column * 3) % 5 - 2;
}
int product_at(int row, int column, int depth) {
    int sum = 0;
    for (int k = 0; k < depth; ++k) {
        sum += a_at(row, k) * b_at(k, column);
    }
    return sum;
}

#define EGPU_LOAD(file, name)             \
    load(file, name);                     \
    if (IsSkipped() || HasFatalFailure()) \
    return

TEST_F(CorpusRun, DistributedSharedMemory) {
    EGPU_LOAD("cluster_dsmem", "3dsm");
    const auto out = device.upload(std::vector<std::int32_t>(128));
    run({4, 1, 1}, 32, Parameters().add(out));
    const auto got = device.download<std::int32_t>(out, 128);
    for (int i = 0; i < 128; ++i) {
        if (i % 32 != 31) {  // there the kernel races with its own atomicAdd
            EXPECT_EQ(got[static_cast<std::size_t>(i)], (i / 32 % 2 ^ 1) * 100 + 31 - i % 32) << i;
        }
    }
}

TEST_F(CorpusRun, PipelinePrimitives) {
    EGPU_LOAD("cp_async", "4prim");
    std::vector<float> in(3 * 128 * 4);
    for (std::size_t i = 0; i < in.size(); ++i) {
        in[i] = static_cast<float>(i);
    }
    const auto from = device.upload(in), to = device.upload(std::vector<float>(in.size()));
    run({1, 1, 1}, 128, Parameters().add(from).add(to).add(3));
    const auto got = device.download<float>(to, in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
        const std::size_t thread = i / 4 % 128, source = i / 512 * 512 + (127 - thread) * 4 + i % 4;
        EXPECT_EQ(got[i], in[source] * (i % 4 == 0 ? 2 : 1)) << i;
    }
}

TEST_F(CorpusRun, PipelineOfABlock) {
    EGPU_LOAD("cp_async", "4pipe");
    std::vector<std::int32_t> in(5 * 256);
    for (std::size_t i = 0; i < in.size(); ++i) {
        in[i] = static_cast<std::int32_t>(i * 7);
    }
    const auto from = device.upload(in), to = device.upload(std::vector<std::int32_t>(in.size()));
    run({1, 1, 1}, 256, Parameters().add(from).add(to).add(5));
    const auto got = device.download<std::int32_t>(to, in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
        EXPECT_EQ(got[i], in[i / 256 * 256 + 255 - i % 256]) << i;
    }
}

TEST_F(CorpusRun, BarrierObject) {
    EGPU_LOAD("cp_async", "4barr");
    const auto x = device.upload(std::vector<std::int32_t>(2048));
    run({1, 1, 1}, 256, Parameters().add(x));
    const auto got = device.download<std::int32_t>(x, 2048);
    EXPECT_EQ(got[5], 1);
    EXPECT_EQ(got[1024 + 255], 3);
}

/// The kernel announces its bytes twice, by memcpy_async and by barrier_arrive_tx: half of them never come.
TEST_F(CorpusRun, BulkCopyThatIsAnnouncedTwice) {
    EGPU_LOAD("tma_bulk", "6bulk1d");
    const auto g = device.upload(std::vector<std::int32_t>(1024));
    const auto result = device.run(*module, kernel, {1, 1, 1}, {128, 1, 1}, Parameters().add(g).add(0));
    ASSERT_TRUE(result.fault);
    EXPECT_EQ(result.fault->kind, FaultKind::deadlock) << why(result);
    EXPECT_NE(result.fault->text.find("0 of 128 arrivals and 4096 bytes missing"), std::string::npos) << why(result);
}

TEST_F(CorpusRun, HalfMatrices) {
    EGPU_LOAD("wmma_mma", "9wmma_half");
    std::vector<std::uint16_t> a(16 * 32), b(16 * 32);
    for (int i = 0; i < 16 * 32; ++i) {
        a[static_cast<std::size_t>(i)] = half_of(a_at(i / 32, i % 32));
        b[static_cast<std::size_t>(i)] = half_of(b_at(i % 32, i / 32));
    }
    const auto pa = device.upload(a), pb = device.upload(b), pc = device.upload(std::vector<float>(16 * 32));
    run({1, 1, 1}, 32, Parameters().add(pa).add(pb).add(pc).add(32));
    const auto got = device.download<float>(pc, 16 * 32);
    for (int i = 0; i < 256; ++i) {
        EXPECT_EQ(got[static_cast<std::size_t>(i / 16 * 32 + i % 16)],
                  static_cast<float>(product_at(i / 16, i % 16, 32)))
            << i;
    }
}

TEST_F(CorpusRun, ByteMatrices) {
    EGPU_LOAD("wmma_mma", "7wmma_s8");
    std::vector<std::int8_t> a(256), b(256);
    for (int i = 0; i < 256; ++i) {
        a[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(a_at(i / 16, i % 16));
        b[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(b_at(i % 16, i / 16));
    }
    const auto pa = device.upload(a), pb = device.upload(b), pc = device.upload(std::vector<std::int32_t>(256));
    run({1, 1, 1}, 32, Parameters().add(pa).add(pb).add(pc));
    const auto got = device.download<std::int32_t>(pc, 256);
    for (int i = 0; i < 256; ++i) {
        EXPECT_EQ(got[static_cast<std::size_t>(i)], product_at(i / 16, i % 16, 16)) << i;
    }
}

TEST_F(CorpusRun, BrainFloatMatrices) {
    EGPU_LOAD("wmma_mma", "9wmma_bf16");
    std::vector<std::uint16_t> a(256), b(256);
    for (int i = 0; i < 256; ++i) {
        a[static_cast<std::size_t>(i)] = brain_of(a_at(i / 16, i % 16));
        b[static_cast<std::size_t>(i)] = brain_of(b_at(i % 16, i / 16));
    }
    const auto pa = device.upload(a), pb = device.upload(b), pc = device.upload(std::vector<float>(256));
    run({1, 1, 1}, 32, Parameters().add(pa).add(pb).add(pc));
    const auto got = device.download<float>(pc, 256);
    for (int i = 0; i < 256; ++i) {
        EXPECT_EQ(got[static_cast<std::size_t>(i)], static_cast<float>(product_at(i / 16, i % 16, 16))) << i;
    }
}

TEST_F(CorpusRun, LdmatrixAndMma) {
    EGPU_LOAD("wmma_mma", "7mma_ptx");
    std::vector<std::uint16_t> a(256), b(128);
    for (int i = 0; i < 256; ++i) {
        a[static_cast<std::size_t>(i)] = half_of(a_at(i / 16, i % 16));
    }
    for (int i = 0; i < 128; ++i) {
        b[static_cast<std::size_t>(i)] = half_of(b_at(i / 8, i % 8));
    }
    const auto pa = device.upload(a), pb = device.upload(b), pc = device.upload(std::vector<float>(128));
    run({1, 1, 1}, 32, Parameters().add(pa).add(pb).add(pc));
    const auto got = device.download<float>(pc, 128);
    for (int i = 0; i < 128; ++i) {
        const int row = i / 16 + i % 4 / 2 * 8, column = i / 4 % 4 * 2 + i % 2;
        EXPECT_EQ(got[static_cast<std::size_t>(i)], static_cast<float>(product_at(row, column, 16))) << i;
    }
}

}  // namespace
}  // namespace egpu::simulated::test
