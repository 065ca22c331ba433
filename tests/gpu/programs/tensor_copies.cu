// SPDX-License-Identifier: Apache-2.0
// Copies through tensor maps (TMA) that lie in a parameter, in constant and in global memory, of one to five dimensions, with
// strides, to shared memory and back. Each waits for exactly the bytes that cuda.h says a map moves: another number, and the
// wait ends with an error. Lines "expect_copies KERNEL ACCESS COPIES BYTES" say what a counter must find.
#include <cuda.h>

#include <numeric>

#include "program.cuh"

constexpr unsigned kBlocks = 5;
constexpr unsigned kWindow = 16384;  // bytes of shared memory, the largest box
constexpr long long kPatience = 400'000'000;  // clocks

struct Result {
    unsigned arrived;  // 1: the bytes that were waited for came
    unsigned sum;      // of the window's bytes
};

__constant__ CUtensorMap constant_map;

__device__ unsigned shared_address(const void* at) {
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

__device__ void begin(unsigned long long* barrier, unsigned bytes) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)));
    asm volatile("fence.proxy.async.shared::cta;");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes));
}

__device__ unsigned end(unsigned long long* barrier) {
    unsigned done = 0;
    for (const long long start = clock64(); !done && clock64() - start < kPatience;)
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
            : "=r"(done)
            : "r"(shared_address(barrier)));
    return done;
}

#define LOAD(rank, coordinates)                                                                                        \
    asm volatile("cp.async.bulk.tensor." #rank                                                                         \
                 "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {" coordinates "}], [%2];" ::"r"( \
                     shared_address(window)),                                                                          \
                 "l"(map), "r"(shared_address(&barrier)), "r"(0)                                                      \
                 : "memory")

/// Thread 0 of each block copies one box.
template <unsigned rank>
__device__ void copy_box(const CUtensorMap* map, unsigned bytes, Result* result) {
    __shared__ __align__(128) unsigned char window[kWindow];
    __shared__ unsigned long long barrier;
    for (unsigned at = threadIdx.x; at < kWindow; at += blockDim.x) window[at] = 0;
    asm volatile("fence.proxy.async.shared::cta;");
    __syncthreads();
    if (threadIdx.x == 0) {
        begin(&barrier, bytes);
        if (rank == 1) LOAD(1, "%3");
        if (rank == 2) LOAD(2, "%3, %3");
        if (rank == 3) LOAD(3, "%3, %3, %3");
        if (rank == 4) LOAD(4, "%3, %3, %3, %3");
        if (rank == 5) LOAD(5, "%3, %3, %3, %3, %3");
        result[blockIdx.x].arrived = end(&barrier);
        unsigned sum = 0;
        for (unsigned at = 0; at < kWindow; ++at) sum += window[at];
        result[blockIdx.x].sum = sum;
    }
}

__global__ void load_1d(const __grid_constant__ CUtensorMap map, unsigned bytes, Result* out) { copy_box<1>(&map, bytes, out); }
__global__ void load_2d(const __grid_constant__ CUtensorMap map, unsigned bytes, Result* out) { copy_box<2>(&map, bytes, out); }
__global__ void load_3d(const __grid_constant__ CUtensorMap map, unsigned bytes, Result* out) { copy_box<3>(&map, bytes, out); }
__global__ void load_4d(const __grid_constant__ CUtensorMap map, unsigned bytes, Result* out) { copy_box<4>(&map, bytes, out); }
__global__ void load_5d(const __grid_constant__ CUtensorMap map, unsigned bytes, Result* out) { copy_box<5>(&map, bytes, out); }
__global__ void load_strided(const __grid_constant__ CUtensorMap map, unsigned bytes, Result* out) { copy_box<3>(&map, bytes, out); }
__global__ void load_by_constant(unsigned bytes, Result* out) { copy_box<2>(&constant_map, bytes, out); }
__global__ void load_by_global(const CUtensorMap* map, unsigned bytes, Result* out) { copy_box<2>(map, bytes, out); }

/// One block writes a box of ones.
__global__ void store_2d(const __grid_constant__ CUtensorMap map, unsigned bytes) {
    __shared__ __align__(128) unsigned char window[kWindow];
    for (unsigned at = threadIdx.x; at < kWindow; at += blockDim.x) window[at] = at < bytes ? 1 : 0;
    asm volatile("fence.proxy.async.shared::cta;");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %2}], [%1];" ::"l"(&map),
                     "r"(shared_address(window)), "r"(0)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

struct Box {
    CUtensorMapDataType type;
    unsigned element_bytes;
    std::vector<cuuint32_t> box, strides;

    unsigned bytes() const {
        unsigned bytes = element_bytes;
        for (size_t i = 0; i < box.size(); ++i)  // the first dimension has no stride
            bytes *= i == 0 ? box[0] : (box[i] + strides[i] - 1) / strides[i];
        return bytes;
    }
};

/// A map of a tensor of 64 elements in each dimension, at most 16 Mi elements.
CUtensorMap map_of(const Box& box, void* memory) {
    static const auto encode = [] {
        void* found = nullptr;
        cudaDriverEntryPointQueryResult result{};
        MUST(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result));
        program::must(found != nullptr, "cuTensorMapEncodeTiled");
        return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
    }();
    const auto rank = static_cast<cuuint32_t>(box.box.size());
    const cuuint64_t side = rank == 1 ? 4096 : rank == 5 ? 16 : 64;
    std::vector<cuuint64_t> size(rank, side), rows;
    for (cuuint64_t row = side * box.element_bytes; rows.size() + 1 < rank; row *= side) rows.push_back(row);
    rows.resize(5);
    alignas(128) CUtensorMap map;
    program::must(encode(&map, box.type, rank, memory, size.data(), rows.data(), box.box.data(), box.strides.data(),
                         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS,
                  "the tensor map");
    return map;
}

static void check(const char* kernel, const Box& box, const program::Array<Result>& out) {
    MUST(cudaGetLastError());
    for (const Result& result : out.read()) {
        program::must(result.arrived == 1, kernel);
        program::must(result.sum == box.bytes(), kernel);  // the tensor is all ones, byte by byte
    }
    std::printf("expect_copies %s load %u %u\n", kernel, kBlocks, kBlocks * box.bytes());
}

int main() {
    program::limit(60);
    program::Array<unsigned char> tensor(size_t{1} << 27);
    MUST(cudaMemset(tensor.pointer, 1, tensor.count));
    program::Array<Result> out(kBlocks);
    const auto load = [&](const char* name, auto* kernel, const Box& box) {
        kernel<<<kBlocks, 64>>>(map_of(box, tensor.pointer), box.bytes(), out.pointer);
        check(name, box, out);
    };
    load("load_1d", load_1d, {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, {256}, {1}});
    load("load_2d", load_2d, {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {16, 17}, {1, 1}});
    load("load_3d", load_3d, {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {64, 8, 3}, {1, 1, 1}});
    load("load_4d", load_4d, {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, {8, 5, 2, 3}, {1, 1, 1, 1}});
    load("load_5d", load_5d, {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8, {2, 3, 1, 2, 5}, {1, 1, 1, 1, 1}});
    load("load_strided", load_strided, {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, {16, 15, 9}, {1, 2, 4}});

    const Box box{CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, {32, 32}, {1, 1}};
    const CUtensorMap map = map_of(box, tensor.pointer);
    MUST(cudaMemcpyToSymbol(constant_map, &map, sizeof(map)));
    load_by_constant<<<kBlocks, 64>>>(box.bytes(), out.pointer);
    check("load_by_constant", box, out);
    program::Array<CUtensorMap> in_global(1);
    in_global.write({map});
    load_by_global<<<kBlocks, 64>>>(in_global.pointer, box.bytes(), out.pointer);
    check("load_by_global", box, out);

    program::Array<unsigned char> written(64 * 64);
    const Box stored{CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, {32, 20}, {1, 1}};
    store_2d<<<1, 64>>>(map_of(stored, written.pointer), stored.bytes());
    MUST(cudaGetLastError());
    const auto bytes = written.read();
    program::must(std::accumulate(bytes.begin(), bytes.end(), 0u) == stored.bytes(), "what was stored");
    std::printf("expect_copies store_2d store 1 %u\n", stored.bytes());
    return program::done("tensor copies");
}
