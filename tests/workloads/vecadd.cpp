// SPDX-License-Identifier: Apache-2.0
// vecadd: the sum of two vectors.
#include <array>

#include "driver_api.hpp"
#include "ptx.hpp"
#include "workload.hpp"

namespace workload {

namespace {

constexpr const char* kKernel = "_Z10vector_addPKfS0_Pfj";

std::uint64_t run(const Options& options) {
    const Session session;
    const Module module(ptx_vecadd);
    std::vector<float> a(options.elements);
    std::vector<float> b(options.elements);
    for (std::uint64_t i = 0; i < options.elements; ++i) {
        a[i] = static_cast<float>(i % 65521);
        b[i] = static_cast<float>(i % 8191) * 0.5F;
    }
    DeviceArray<float> device_a(a);
    DeviceArray<float> device_b(b);
    DeviceArray<float> sum(options.elements);
    sum.zero();
    unsigned n = static_cast<unsigned>(options.elements);
    const CUfunction function = module.function(kKernel);
    const std::array<void*, 4> parameters{&device_a.address(), &device_b.address(), &sum.address(), &n};
    for (std::uint64_t count = 0; count < options.launches; ++count) {
        launch(function, blocks_for(options.elements, options.block), static_cast<unsigned>(options.block), parameters);
    }
    synchronize();
    const std::vector<float> result = sum.read();
    for (std::uint64_t i = 0; i < options.elements; ++i) {
        if (result[i] != a[i] + b[i]) {
            throw Failure("element " + std::to_string(i) + " is wrong");
        }
    }
    return options.launches;
}

std::vector<ExpectedKernel> expected(const Options& options) {
    const std::uint64_t count = options.elements * options.launches;
    return {{"vector_add",
             kKernel,
             options.launches,
             {{"global", "load", 2 * count, 2 * count * 4}, {"global", "store", count, count * 4}}}};
}

}  // namespace

const Workload kVecadd{"vecadd", "the sum of two vectors", {1U << 20, 2, 256, 0}, true, false, 1, run, expected};

}  // namespace workload
