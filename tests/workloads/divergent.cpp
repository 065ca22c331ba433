// SPDX-License-Identifier: Apache-2.0
// divergent: the lanes of a warp go round a loop another number of times each.
#include <array>

#include "driver_api.hpp"
#include "ptx.hpp"
#include "workload.hpp"

namespace workload {

namespace {

constexpr const char* kKernel = "_Z9divergentPKjPjj";

std::uint64_t run(const Options& options) {
    const Session session;
    const Module module(ptx_divergent);
    const std::uint64_t n = options.elements;
    std::vector<unsigned> values(n);
    for (std::uint64_t i = 0; i < n; ++i) {
        values[i] = static_cast<unsigned>(i * 2246822519U + 3);
    }
    DeviceArray<unsigned> in(values);
    DeviceArray<unsigned> out(2 * n);
    out.zero();
    unsigned count_of_elements = static_cast<unsigned>(n);
    const CUfunction function = module.function(kKernel);
    const std::array<void*, 3> parameters{&in.address(), &out.address(), &count_of_elements};
    for (std::uint64_t count = 0; count < options.launches; ++count) {
        launch_with_config(function, blocks_for(n, options.block), static_cast<unsigned>(options.block), parameters);
    }
    synchronize();
    const std::vector<unsigned> result = out.read();
    for (std::uint64_t i = 0; i < n; ++i) {
        unsigned sum = 0;
        for (std::uint64_t round = 0; round < i % 32; ++round) {
            sum += values[(i + round * 97) % n];
        }
        const bool even = i % 2 == 0;
        if (result[even ? i : n + i] != (even ? sum : sum * 3) || result[even ? n + i : i] != 0) {
            throw Failure("element " + std::to_string(i) + " is wrong");
        }
    }
    return options.launches;
}

/// Sum of i % 32 for i below n.
std::uint64_t rounds_below(std::uint64_t n) {
    const std::uint64_t rest = n % 32;
    return n / 32 * (31 * 32 / 2) + rest * (rest - (rest > 0 ? 1 : 0)) / 2;
}

std::vector<ExpectedKernel> expected(const Options& options) {
    const std::uint64_t loads = rounds_below(options.elements) * options.launches;
    const std::uint64_t stores = options.elements * options.launches;
    return {{"divergent",
             kKernel,
             options.launches,
             {{"global", "load", loads, loads * 4}, {"global", "store", stores, stores * 4}}}};
}

}  // namespace

const Workload kDivergent{
    "divergent", "lanes of a warp in loops of different length", {1U << 16, 2, 256, 0}, true, false, 1, run, expected};

}  // namespace workload
