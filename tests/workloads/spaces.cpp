// SPDX-License-Identifier: Apache-2.0
// spaces: constant, local, shared and global memory in one kernel; the host changes the constants between launches.
#include <array>

#include "driver_api.hpp"
#include "ptx.hpp"
#include "workload.hpp"

namespace workload {

namespace {

constexpr const char* kKernel = "_Z10use_spacesPKjPj";
constexpr unsigned kBlock = 256;
constexpr unsigned kTable = 64;
constexpr unsigned kScratch = 8;

/// What a thread puts into shared memory (kernels/spaces.cu).
unsigned exchanged(std::uint64_t i, const std::vector<unsigned>& in, const std::vector<unsigned>& table) {
    const unsigned value = in[i] + table[i % kTable];
    std::array<unsigned, kScratch> scratch{};
    for (unsigned k = 0; k < kScratch; ++k) {
        scratch[(i + k * 3) % kScratch] = value + k;
    }
    unsigned sum = 0;
    for (unsigned k = 0; k < kScratch; ++k) {
        sum = sum * 5 + scratch[(value + k) % kScratch];
    }
    return sum;
}

std::uint64_t run(const Options& options) {
    const Session session;
    const Module module(ptx_spaces);
    std::vector<unsigned> values(options.elements);
    for (std::uint64_t i = 0; i < options.elements; ++i) {
        values[i] = static_cast<unsigned>(i * 69069U + 1);
    }
    std::vector<unsigned> table(kTable);
    const Api& api = Api::get();
    DeviceArray<unsigned> in(values);
    DeviceArray<unsigned> out(options.elements);
    out.zero();
    const CUfunction function = module.function(kKernel);
    const std::array<void*, 2> parameters{&in.address(), &out.address()};
    for (std::uint64_t count = 0; count < options.launches; ++count) {
        // Other constants for each launch.
        for (unsigned i = 0; i < kTable; ++i) {
            table[i] = i * i + 17 + static_cast<unsigned>(count) * 31;
        }
        api.check(api.cuMemcpyHtoD_v2(module.variable("table"), table.data(), kTable * sizeof(unsigned)),
                  "cuMemcpyHtoD");
        launch(function, blocks_for(options.elements, kBlock), kBlock, parameters);
        synchronize();
        const std::vector<unsigned> result = out.read();
        for (std::uint64_t i = 0; i < options.elements; ++i) {
            if (result[i] != exchanged(i ^ 1, values, table)) {
                throw Failure("element " + std::to_string(i) + " is wrong in launch " + std::to_string(count));
            }
        }
    }
    return options.launches;
}

std::vector<ExpectedKernel> expected(const Options& options) {
    const std::uint64_t count = options.elements * options.launches;
    return {{"use_spaces",
             kKernel,
             options.launches,
             {{"global", "load", count, count * 4},
              {"global", "store", count, count * 4},
              {"const", "load", count, count * 4},
              {"local", "load", count * kScratch, count * kScratch * 4},
              {"local", "store", count * kScratch, count * kScratch * 4},
              {"shared", "load", count, count * 4},
              {"shared", "store", count, count * 4}}}};
}

}  // namespace

// Whole blocks: the kernel looks at no bound.
const Workload kSpaces{
    "spaces", "constant, local, shared and global memory", {1U << 15, 2, 256, 0}, false, false, kBlock, run, expected};

}  // namespace workload
