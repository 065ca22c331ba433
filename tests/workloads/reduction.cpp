// SPDX-License-Identifier: Apache-2.0
// reduction: sums by blocks, with shuffles and shared memory; loaded as a library.
#include <array>

#include "driver_api.hpp"
#include "ptx.hpp"
#include "workload.hpp"

namespace workload {

namespace {

constexpr const char* kKernel = "_Z13reduce_blocksPKjPjj";
constexpr unsigned kBlock = 256;
constexpr std::uint64_t kWarps = kBlock / 32;

std::uint64_t run(const Options& options) {
    const Session session;
    const Library library(ptx_reduction);
    std::vector<unsigned> values(options.elements);
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < options.elements; ++i) {
        values[i] = static_cast<unsigned>((i * 48271) % 1009);
        total += values[i];
    }
    const unsigned blocks = blocks_for(options.elements, kBlock);
    DeviceArray<unsigned> in(values);
    DeviceArray<unsigned> sums(blocks);
    sums.zero();
    unsigned n = static_cast<unsigned>(options.elements);
    const CUfunction kernel = library.kernel(kKernel);
    const std::array<void*, 3> parameters{&in.address(), &sums.address(), &n};
    for (std::uint64_t count = 0; count < options.launches; ++count) {
        launch(kernel, blocks, kBlock, parameters);
    }
    synchronize();
    std::uint64_t result = 0;
    for (const unsigned sum : sums.read()) {
        result += sum;
    }
    if (result != total) {
        throw Failure("the sum is " + std::to_string(result) + ", not " + std::to_string(total));
    }
    return options.launches;
}

std::vector<ExpectedKernel> expected(const Options& options) {
    const std::uint64_t count = options.elements * options.launches;
    const std::uint64_t blocks = blocks_for(options.elements, kBlock) * options.launches;
    return {{"reduce_blocks",
             kKernel,
             options.launches,
             {{"global", "load", count, count * 4},
              {"global", "store", blocks, blocks * 4},
              {"shared", "load", blocks * kWarps, blocks * kWarps * 4},
              {"shared", "store", blocks * kWarps, blocks * kWarps * 4}}}};
}

}  // namespace

const Workload kReduction{
    "reduction", "sums by blocks: shuffles, shared memory", {1U << 18, 2, 256, 0}, false, false, 1, run, expected};

}  // namespace workload
