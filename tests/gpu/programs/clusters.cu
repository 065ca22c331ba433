// SPDX-License-Identifier: Apache-2.0
// Thread block clusters: size by attribute of the launch, and fixed in the kernel; blocks read each other's memory.
#include <cooperative_groups.h>

#include "program.cuh"

namespace cg = cooperative_groups;

__device__ void pass_on(unsigned* out) {
    __shared__ unsigned mine;
    const cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) mine = blockIdx.x * 10;
    cluster.sync();
    if (threadIdx.x == 0) {
        const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
        out[blockIdx.x] = *cluster.map_shared_rank(&mine, next) + cluster.num_blocks();
    }
    cluster.sync();
}

__global__ void by_attribute(unsigned* out) {
    pass_on(out);
}
__global__ void __cluster_dims__(2, 1, 1) by_kernel(unsigned* out) {
    pass_on(out);
}

static void check(const std::vector<unsigned>& out, unsigned cluster) {
    for (unsigned block = 0; block < out.size(); ++block) {
        const unsigned first = block / cluster * cluster;
        program::must(out[block] == (first + (block - first + 1) % cluster) * 10 + cluster, "a block's value");
    }
}

int main() {
    program::limit(60);
    constexpr unsigned blocks = 16;
    program::Array<unsigned> out(blocks);
    for (unsigned launch = 0; launch < 2; ++launch) {
        cudaLaunchAttribute attribute{};
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim = {4, 1, 1};
        cudaLaunchConfig_t config{};
        config.gridDim = blocks;
        config.blockDim = 64;
        config.attrs = &attribute;
        config.numAttrs = 1;
        MUST(cudaLaunchKernelEx(&config, by_attribute, out.pointer));
        check(out.read(), 4);
        by_kernel<<<blocks, 64>>>(out.pointer);
        MUST(cudaGetLastError());
        check(out.read(), 2);
    }
    program::expect("by_attribute", "global", "store", 2 * blocks);
    program::expect("by_kernel", "global", "store", 2 * blocks);
    return program::done("clusters");
}
