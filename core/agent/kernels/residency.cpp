// SPDX-License-Identifier: Apache-2.0
#include "agent/kernels/residency.hpp"

#include "agent/driver/driver.hpp"

namespace egpu::agent {

namespace {

constexpr int kWarp = 32;
constexpr int kMostWarps = 32;  // of a block: 1,024 threads
constexpr std::uint64_t kKept = 1;

int attribute(CUfunction function, CUfunction_attribute which) {
    int value = 0;
    const auto ask = driver().cuFuncGetAttribute;
    return ask != nullptr && ask(&value, which, function) == CUDA_SUCCESS ? value : -1;
}

// -1 where the driver doesn't say.
int resident_blocks(CUfunction function, unsigned int threads, unsigned int shared_bytes) {
    int blocks = -1;
    const auto ask = driver().cuOccupancyMaxActiveBlocksPerMultiprocessor;
    if (ask == nullptr || ask(&blocks, function, static_cast<int>(threads), shared_bytes) != CUDA_SUCCESS)
        return -1;
    return blocks;
}

int resident_clusters(CUfunction function, const CUlaunchConfig& config) {
    int clusters = -1;
    const auto ask = driver().cuOccupancyMaxActiveClusters;
    if (ask == nullptr || ask(&clusters, function, &config) != CUDA_SUCCESS)
        return -1;
    return clusters;
}

bool not_fewer(int copy, int original) {
    return original >= 0 && copy >= original;
}

bool has_cluster(const BlockShape& shape) {
    return shape.cluster[0] != 0;
}

// The shape itself, in one word that is never 0; 0 where it doesn't fit: such a launch can't succeed.
std::uint64_t key_of(const BlockShape& shape) {
    if (shape.threads > 1024 || shape.shared_bytes >= 1u << 20 || shape.carveout > 127 || shape.cluster[0] > 31 ||
        shape.cluster[1] > 31 || shape.cluster[2] > 31)
        return 0;
    std::uint64_t key = 1;
    const auto take = [&](std::uint64_t value, unsigned int bits) { key = key << bits | value; };
    take(shape.threads, 11);
    take(shape.shared_bytes, 20);
    take(shape.cluster[0], 5);
    take(shape.cluster[1], 5);
    take(shape.cluster[2], 5);
    take(shape.carveout, 7);
    take(shape.cooperative ? 1 : 0, 1);
    return key << 1;  // the lowest bit is for the answer
}

bool ask_driver(const Functions& functions, const BlockShape& shape) {
    const OwnCalls own;
    if (!not_fewer(resident_blocks(functions.copy, shape.threads, shape.shared_bytes),
                   resident_blocks(functions.original, shape.threads, shape.shared_bytes)))
        return false;
    if (!has_cluster(shape) || shape.config == nullptr)
        return true;
    return not_fewer(resident_clusters(functions.copy, *shape.config),
                     resident_clusters(functions.original, *shape.config));
}

}  // namespace

bool compare_residency(Functions* functions) {
    // Static shared memory takes from both alike, or the copy has more and is refused.
    const int shared = attribute(functions->copy, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    if (shared < 0 || shared > attribute(functions->original, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES))
        return false;
    if (functions->registers != 0 && functions->registers <= functions->original_registers) {
        functions->resident_warps = ~0u;
        return true;
    }
    const int most = attribute(functions->original, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    std::uint32_t kept = 0;
    for (unsigned int warps = 1; warps <= kMostWarps; ++warps)
        if (not_fewer(resident_blocks(functions->copy, warps * kWarp, 0),
                      resident_blocks(functions->original, warps * kWarp, 0)))
            kept |= 1u << (warps - 1);
    functions->resident_warps = kept;
    const int reachable = most > 0 && most < kMostWarps * kWarp ? (most + kWarp - 1) / kWarp : kMostWarps;
    const std::uint32_t possible = reachable >= kMostWarps ? ~0u : (1u << reachable) - 1;
    return (kept & possible) != 0;
}

bool keeps_residency(Functions* functions, const BlockShape& shape) {
    const unsigned int warps = (shape.threads + kWarp - 1) / kWarp;
    const bool block_keeps = warps >= 1 && warps <= kMostWarps && ((functions->resident_warps >> (warps - 1)) & 1) != 0;
    // Dynamic shared memory caps both alike: where registers alone keep the residency, it keeps it as well; where they
    // don't, it may be what decides.
    const bool plain = !has_cluster(shape) && !shape.cooperative;
    if (plain && (block_keeps || (shape.shared_bytes == 0 && shape.carveout == 0)))
        return block_keeps;
    const std::uint64_t key = key_of(shape);
    if (key == 0)
        return false;
    std::uint64_t& slot = functions->configurations[(key * 0x9e3779b97f4a7c15u) >> 60];
    static_assert(Functions::kConfigurations == 16, "the upper four bits choose the slot");
    const std::uint64_t known = __atomic_load_n(&slot, __ATOMIC_RELAXED);
    if ((known & ~kKept) == key)
        return (known & kKept) != 0;
    const bool keeps = ask_driver(*functions, shape);
    __atomic_store_n(&slot, key | (keeps ? kKept : 0), __ATOMIC_RELAXED);
    return keeps;
}

void forget_configurations(Functions* functions) {
    for (std::uint64_t& slot : functions->configurations)
        __atomic_store_n(&slot, std::uint64_t{0}, __ATOMIC_RELAXED);
}

}  // namespace egpu::agent
