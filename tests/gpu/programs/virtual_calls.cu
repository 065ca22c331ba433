// SPDX-License-Identifier: Apache-2.0
// Virtual calls on objects that a kernel without probes has built: their vtables hold offsets into the tables of the
// original module, so a copy would jump astray.
#include "program.cuh"

struct Shape {
    __device__ virtual float area() const = 0;
};
struct Square : Shape {
    float side;
    __device__ explicit Square(float one) : side(one) {}
    __device__ float area() const override { return side * side; }
};
struct Strip : Shape {
    float length;
    __device__ explicit Strip(float one) : length(one) {}
    __device__ float area() const override { return length + 1; }
};

__global__ void build(Shape** shapes, unsigned n) {
    const unsigned i = threadIdx.x;
    if (i < n) {
        if (i % 2 == 0) {
            shapes[i] = new Square(static_cast<float>(i));
        } else {
            shapes[i] = new Strip(static_cast<float>(i));
        }
    }
}
__global__ void use(Shape** shapes, float* out, unsigned n) {
    const unsigned i = threadIdx.x;
    if (i < n) out[i] = shapes[i]->area();
}

int main() {
    program::limit(60);
    constexpr unsigned n = 128;
    program::Array<Shape*> shapes(n);
    program::Array<float> out(n);
    build<<<1, n>>>(shapes.pointer, n);
    for (int launch = 0; launch < 3; ++launch) use<<<1, n>>>(shapes.pointer, out.pointer, n);
    MUST(cudaDeviceSynchronize());
    const std::vector<float> seen = out.read();
    for (unsigned i = 0; i < n; ++i) {
        const float side = static_cast<float>(i);
        program::must(seen[i] == (i % 2 == 0 ? side * side : side + 1), "an area");
    }
    return program::done("virtual_calls");
}
