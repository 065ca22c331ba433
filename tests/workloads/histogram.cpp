// SPDX-License-Identifier: Apache-2.0
// histogram: atomics on shared and on global memory.
#include <array>

#include "driver_api.hpp"
#include "ptx.hpp"
#include "workload.hpp"

namespace workload {

namespace {

constexpr const char* kKernel = "_Z9histogramPKjPjj";
constexpr unsigned kBlock = 256;
constexpr unsigned kBins = 64;

std::uint64_t run(const Options& options) {
    const Session session;
    const Module module(ptx_histogram);
    std::vector<unsigned> values(options.elements);
    std::vector<std::uint64_t> wanted(kBins);
    for (std::uint64_t i = 0; i < options.elements; ++i) {
        values[i] = static_cast<unsigned>((i * i + i / 7) & 0xFFFFFFFFU);
        wanted[values[i] % kBins] += options.launches;
    }
    DeviceArray<unsigned> in(values);
    DeviceArray<unsigned> bins(kBins);
    bins.zero();
    unsigned n = static_cast<unsigned>(options.elements);
    const CUfunction function = module.function(kKernel);
    const std::array<void*, 3> parameters{&in.address(), &bins.address(), &n};
    for (std::uint64_t count = 0; count < options.launches; ++count) {
        launch(function, blocks_for(options.elements, kBlock), kBlock, parameters);
    }
    synchronize();
    const std::vector<unsigned> result = bins.read();
    for (unsigned bin = 0; bin < kBins; ++bin) {
        if (result[bin] != static_cast<unsigned>(wanted[bin])) {
            throw Failure("bin " + std::to_string(bin) + " is wrong");
        }
    }
    return options.launches;
}

std::vector<ExpectedKernel> expected(const Options& options) {
    const std::uint64_t count = options.elements * options.launches;
    const std::uint64_t of_bins = blocks_for(options.elements, kBlock) * options.launches * kBins;
    return {{"histogram",
             kKernel,
             options.launches,
             {{"global", "load", count, count * 4},
              {"global", "atomic", of_bins, of_bins * 4},
              {"shared", "load", of_bins, of_bins * 4},
              {"shared", "store", of_bins, of_bins * 4},
              {"shared", "atomic", count, count * 4}}}};
}

}  // namespace

const Workload kHistogram{
    "histogram", "64 bins: atomics on shared and global memory", {1U << 18, 2, 256, 0}, false, false, 1, run, expected};

}  // namespace workload
