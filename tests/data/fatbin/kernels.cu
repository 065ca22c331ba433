// SPDX-License-Identifier: Apache-2.0
// The kernels of the fixtures in this folder. scale is another program from compute_90 on, as CUTLASS-like kernels are.
__constant__ float factors[4];

extern "C" __global__ void scale(float* values, int count) {
#if __CUDA_ARCH__ >= 900
    __shared__ float tile[256];
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < count) {
        tile[threadIdx.x] = values[i];
        values[i] = tile[threadIdx.x] * factors[count & 3];
    }
#else
    if (count > 0)
        values[0] = -1.0f;
#endif
}

template <int N>
__global__ void __launch_bounds__(96) sum(const double* from, double* to) {
    double total = 0;
    for (int i = 0; i < N; ++i)
        total += from[i * 96 + threadIdx.x];
    to[threadIdx.x] = total;
}
template __global__ void sum<4>(const double*, double*);
