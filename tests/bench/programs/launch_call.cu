// SPDX-License-Identifier: Apache-2.0
// What the agent adds to the call that launches: cuLaunchKernel as the driver's own symbol table has it, against the one
// that dlsym gives (the agent's, where there is one), in turns in one process. Prints "call DIRECT_NS HOOKED_NS", medians
// of 400 rounds of 200 calls each; the device is idle before each round and its queue never full.
#include <cuda.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstring>

#include "bench.cuh"

__global__ void empty() {}

using Launch = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                            void**, void**);

/// An exported function by the dynamic section of a library: no lookup that somebody could answer instead.
static void* exported(void* library, const char* wanted) {
    const auto* const map = static_cast<const link_map*>(library);
    const ElfW(Sym)* symbols = nullptr;
    const char* names = nullptr;
    const unsigned* hashes = nullptr;
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
        if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
        if (entry->d_tag == DT_GNU_HASH) hashes = reinterpret_cast<const unsigned*>(entry->d_un.d_ptr);
    }
    bench::must(symbols != nullptr && names != nullptr && hashes != nullptr, "the driver's dynamic section");
    const unsigned buckets = hashes[0], first = hashes[1], filter_words = hashes[2];
    const unsigned* const bucket = hashes + 4 + filter_words * 2;
    const unsigned* const chain = bucket + buckets;
    for (unsigned i = 0; i < buckets; ++i) {
        for (unsigned symbol = bucket[i]; symbol != 0; ++symbol) {
            if (std::strcmp(names + symbols[symbol].st_name, wanted) == 0) {
                return reinterpret_cast<void*>(map->l_addr + symbols[symbol].st_value);
            }
            if (chain[symbol - first] % 2 != 0) break;
        }
    }
    return nullptr;
}

static double nanoseconds(Launch launch, CUfunction function) {
    using Clock = std::chrono::steady_clock;
    constexpr unsigned calls = 200;
    const Clock::time_point begin = Clock::now();
    for (unsigned i = 0; i < calls; ++i) launch(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
    const double took = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
    MUST(cudaDeviceSynchronize());
    return took / calls;
}

static double middle(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

int main() {
    empty<<<1, 1>>>();
    MUST(cudaDeviceSynchronize());
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    bench::must(driver != nullptr, "dlopen of the driver");
    const auto direct = reinterpret_cast<Launch>(exported(driver, "cuLaunchKernel"));
    const auto hooked = reinterpret_cast<Launch>(dlsym(driver, "cuLaunchKernel"));
    bench::must(direct != nullptr && hooked != nullptr, "cuLaunchKernel");
    cudaFunction_t function = nullptr;
    MUST(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(&empty)));
    std::vector<double> of_direct, of_hooked;
    for (int round = 0; round < 400; ++round) {
        of_direct.push_back(nanoseconds(direct, function));
        of_hooked.push_back(nanoseconds(hooked, function));
    }
    MUST(cudaGetLastError());
    std::fprintf(stderr, "%s\n", direct == hooked ? "the same function" : "two functions");
    std::printf("call %.2f %.2f\n", middle(of_direct), middle(of_hooked));
}
