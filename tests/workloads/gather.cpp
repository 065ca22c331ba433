// SPDX-License-Identifier: Apache-2.0
// gather: the same numbers read in order and far apart.
#include <array>

#include "driver_api.hpp"
#include "ptx.hpp"
#include "workload.hpp"

namespace workload {

namespace {

constexpr const char* kSequential = "_Z17gather_sequentialPKfPfj";
constexpr const char* kStrided = "_Z14gather_stridedPKfPfj";

/// Small integers: exact as floats, and different within reach of an indexing error.
std::vector<float> numbers(std::uint64_t count) {
    std::vector<float> values(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>((i * 2654435761U) % 1048573U);
    }
    return values;
}

void check(const std::vector<float>& out, const std::vector<float>& in, bool strided) {
    const std::uint64_t n = in.size();
    for (std::uint64_t i = 0; i < n; ++i) {
        const std::uint64_t from = strided ? (i % 32) * (n / 32) + i / 32 : i;
        if (out[i] != in[from]) {
            throw Failure("element " + std::to_string(i) + " is wrong");
        }
    }
}

std::uint64_t run(const Options& options) {
    const Session session;
    const Module module(ptx_gather);
    const std::vector<float> numbers_in = numbers(options.elements);
    DeviceArray<float> in(numbers_in);
    DeviceArray<float> out(options.elements);
    unsigned n = static_cast<unsigned>(options.elements);
    for (const bool strided : {false, true}) {
        out.zero();
        const CUfunction function = module.function(strided ? kStrided : kSequential);
        const std::array<void*, 3> parameters{&in.address(), &out.address(), &n};
        for (std::uint64_t count = 0; count < options.launches; ++count) {
            launch(function, blocks_for(options.elements, options.block), static_cast<unsigned>(options.block),
                   parameters);
        }
        synchronize();
        check(out.read(), numbers_in, strided);
    }
    return options.launches;
}

std::vector<ExpectedKernel> expected(const Options& options) {
    const std::uint64_t count = options.elements * options.launches;
    const std::uint64_t requests = count / 32;
    const auto kernel = [&](const char* name, const char* mangled, std::uint64_t sectors_per_load) {
        return ExpectedKernel{name,
                              mangled,
                              options.launches,
                              {{"global", "load", count, count * 4, requests * sectors_per_load},
                               {"global", "store", count, count * 4, requests * 4}}};
    };
    return {kernel("gather_sequential", kSequential, 4), kernel("gather_strided", kStrided, 32)};
}

}  // namespace

// Blocks are whole warps and n / 32 elements are 32 bytes or more, so each lane of a strided load has its own sector.
const Workload kGather{
    "gather", "the same numbers read in order and far apart", {1U << 20, 2, 256, 0}, false, false, 256, run, expected};

}  // namespace workload
