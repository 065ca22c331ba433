// SPDX-License-Identifier: Apache-2.0
// Textures over linear memory, pitched memory and arrays, surfaces; everything that is read is exact in float, so the
// host knows each value. Weights of linear fetches are multiples of 1/8.
#include "program.cuh"

namespace {

constexpr int kWidth = 32, kHeight = 16, kDepth = 4;

/// Texel (x, y, z) of every picture here; whole numbers, so that sums with weights of 1/64 are exact.
__host__ __device__ float texel(int x, int y, int z) {
    return static_cast<float>((x * 7 + y * 13 + z * 29) % 64 * 64);
}

std::vector<float> picture(int width, int height, int depth) {
    std::vector<float> values;
    for (int z = 0; z < depth; ++z)
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x) values.push_back(texel(x, y, z));
    return values;
}

int wrapped(int index, int size) {
    return ((index % size) + size) % size;
}
int clamped(int index, int size) {
    return index < 0 ? 0 : index >= size ? size - 1 : index;
}

/// A CUDA array with the picture in it.
cudaArray_t array_of(int width, int height, int depth, unsigned flags) {
    const cudaChannelFormatDesc channels = cudaCreateChannelDesc<float>();
    cudaArray_t array = nullptr;
    const cudaExtent extent = make_cudaExtent(width, height, depth);
    MUST(cudaMalloc3DArray(&array, &channels, extent, flags));
    std::vector<float> values = picture(width, height == 0 ? 1 : height, depth == 0 ? 1 : depth);
    cudaMemcpy3DParms copy{};
    copy.srcPtr = make_cudaPitchedPtr(values.data(), width * sizeof(float), width, height == 0 ? 1 : height);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(width, height == 0 ? 1 : height, depth == 0 ? 1 : depth);
    copy.kind = cudaMemcpyHostToDevice;
    MUST(cudaMemcpy3D(&copy));
    return array;
}

cudaTextureDesc reading(cudaTextureAddressMode mode, bool linear, bool normalized) {
    cudaTextureDesc how{};
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = mode;
    how.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    how.readMode = cudaReadModeElementType;
    how.normalizedCoords = normalized ? 1 : 0;
    return how;
}

cudaTextureObject_t texture_of(const cudaResourceDesc& resource, const cudaTextureDesc& how) {
    cudaTextureObject_t object = 0;
    MUST(cudaCreateTextureObject(&object, &resource, &how, nullptr));
    return object;
}
cudaTextureObject_t texture_of(cudaArray_t array, const cudaTextureDesc& how) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return texture_of(resource, how);
}

/// Destroys a texture and what was read is compared with what `wanted(i)` says.
template <typename Wanted>
void compare(const program::Array<float>& out, cudaTextureObject_t object, const char* what, Wanted wanted) {
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    MUST(cudaDestroyTextureObject(object));
    const std::vector<float> got = out.read();
    for (int i = 0; i < static_cast<int>(got.size()); ++i) {
        if (got[i] != wanted(i)) {
            std::fprintf(stderr, "element %d is %g, not %g\n", i, got[i], wanted(i));
            program::fail(what, "wrong");
        }
    }
}

}  // namespace

__global__ void fetch_line(cudaTextureObject_t texture, float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tex1Dfetch<float>(texture, i);
}

/// 96 x 48 points around the picture, each 0.25 behind a whole number; `scale` makes them coordinates.
__global__ void points(cudaTextureObject_t texture, float* out, float scale_x, float scale_y) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    out[y * 96 + x] =
        tex2D<float>(texture, (static_cast<float>(x) - 31.75f) * scale_x, (static_cast<float>(y) - 15.75f) * scale_y);
}

/// Weights of 1/4 and 5/8 in each square of texels.
__global__ void between(cudaTextureObject_t texture, float* out) {
    const int x = threadIdx.x, y = blockIdx.x;
    out[y * kWidth + x] = tex2D<float>(texture, static_cast<float>(x) + 0.75f, static_cast<float>(y) + 1.125f);
}

__global__ void corners(cudaTextureObject_t texture, float4* out) {
    const int x = threadIdx.x, y = blockIdx.x;
    out[y * kWidth + x] = tex2Dgather<float4>(texture, static_cast<float>(x) + 1, static_cast<float>(y) + 1, 0);
}

__global__ void solid(cudaTextureObject_t texture, float* out) {
    const int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    out[(z * kHeight + y) * kWidth + x] =
        tex3D<float>(texture, static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f, static_cast<float>(z) + 0.5f);
}

__global__ void layered(cudaTextureObject_t texture, float* out) {
    const int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    out[(z * kHeight + y) * kWidth + x] =
        tex2DLayered<float>(texture, static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f, z);
}

/// Directions through the middles of a face's texels.
__global__ void cube(cudaTextureObject_t texture, float* out) {
    const int x = threadIdx.x, y = threadIdx.y, face = blockIdx.x;
    const float s = (2 * static_cast<float>(x) + 1) / 8 - 1, t = (2 * static_cast<float>(y) + 1) / 8 - 1;
    const float3 all[6] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1}, {-s, -t, -1}};
    out[(face * 8 + y) * 8 + x] = texCubemap<float>(texture, all[face].x, all[face].y, all[face].z);
}

__global__ void bytes(cudaTextureObject_t texture, float* out) {
    const int x = threadIdx.x;
    const float4 value = tex1D<float4>(texture, static_cast<float>(x) + 0.5f);
    out[4 * x] = value.x;
    out[4 * x + 1] = value.y;
    out[4 * x + 2] = value.z;
    out[4 * x + 3] = value.w;
}

/// Every thread takes its texel's double to the mirrored place of the other surface; outside there is nothing.
__global__ void mirror(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    const int x = threadIdx.x - 2, y = blockIdx.x - 2;
    float value;
    surf2Dread(&value, from, x * static_cast<int>(sizeof(float)), y, cudaBoundaryModeZero);
    surf2Dwrite(2 * value, to, (kWidth - 1 - x) * static_cast<int>(sizeof(float)), kHeight - 1 - y, cudaBoundaryModeZero);
}

namespace {

void of_memory() {
    program::Array<float> line(256), out(256);
    line.write(picture(256, 1, 1));
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = line.pointer;
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = 200 * sizeof(float);
    cudaTextureObject_t object = texture_of(resource, cudaTextureDesc{});
    fetch_line<<<4, 64>>>(object, out.pointer);
    compare(out, object, "linear memory", [](int i) { return i < 200 ? texel(i, 0, 0) : 0; });

    void* rows = nullptr;
    size_t pitch = 0;
    MUST(cudaMallocPitch(&rows, &pitch, kWidth * sizeof(float), kHeight));
    const std::vector<float> values = picture(kWidth, kHeight, 1);
    MUST(cudaMemcpy2D(rows, pitch, values.data(), kWidth * sizeof(float), kWidth * sizeof(float), kHeight,
                      cudaMemcpyHostToDevice));
    resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = rows;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    resource.res.pitch2D.width = kWidth;
    resource.res.pitch2D.height = kHeight;
    resource.res.pitch2D.pitchInBytes = pitch;
    object = texture_of(resource, reading(cudaAddressModeClamp, false, false));
    program::Array<float> plane(96 * 48);
    points<<<dim3(3, 48), 32>>>(object, plane.pointer, 1, 1);
    compare(plane, object, "pitched memory", [](int i) {
        return texel(clamped(i % 96 - 32, kWidth), clamped(i / 96 - 16, kHeight), 0);
    });
    MUST(cudaFree(rows));
}

void of_planes() {
    const cudaArray_t array = array_of(kWidth, kHeight, 0, cudaArrayTextureGather);
    program::Array<float> plane(96 * 48), out(kWidth * kHeight);
    cudaTextureObject_t object = texture_of(array, reading(cudaAddressModeClamp, false, false));
    points<<<dim3(3, 48), 32>>>(object, plane.pointer, 1, 1);
    compare(plane, object, "clamp", [](int i) {
        return texel(clamped(i % 96 - 32, kWidth), clamped(i / 96 - 16, kHeight), 0);
    });
    object = texture_of(array, reading(cudaAddressModeBorder, false, false));
    points<<<dim3(3, 48), 32>>>(object, plane.pointer, 1, 1);
    compare(plane, object, "border", [](int i) {
        const int x = i % 96 - 32, y = i / 96 - 16;
        return x < 0 || y < 0 || x >= kWidth || y >= kHeight ? 0 : texel(x, y, 0);
    });
    object = texture_of(array, reading(cudaAddressModeWrap, false, true));
    points<<<dim3(3, 48), 32>>>(object, plane.pointer, 1.0f / kWidth, 1.0f / kHeight);
    compare(plane, object, "wrap", [](int i) {
        return texel(wrapped(i % 96 - 32, kWidth), wrapped(i / 96 - 16, kHeight), 0);
    });
    object = texture_of(array, reading(cudaAddressModeMirror, false, true));
    points<<<dim3(3, 48), 32>>>(object, plane.pointer, 1.0f / kWidth, 1.0f / kHeight);
    compare(plane, object, "mirror", [](int i) {
        const int x = wrapped(i % 96 - 32, 2 * kWidth), y = wrapped(i / 96 - 16, 2 * kHeight);
        return texel(x < kWidth ? x : 2 * kWidth - 1 - x, y < kHeight ? y : 2 * kHeight - 1 - y, 0);
    });
    object = texture_of(array, reading(cudaAddressModeClamp, true, false));
    between<<<kHeight, kWidth>>>(object, out.pointer);
    compare(out, object, "linear filter", [](int i) {
        const int x = i % kWidth, y = i / kWidth, right = clamped(x + 1, kWidth), below = clamped(y + 1, kHeight);
        const float above = 0.75f * texel(x, y, 0) + 0.25f * texel(right, y, 0);
        return 0.375f * above + 0.625f * (0.75f * texel(x, below, 0) + 0.25f * texel(right, below, 0));
    });
    program::Array<float> four(4 * kWidth * kHeight);
    object = texture_of(array, reading(cudaAddressModeClamp, false, false));
    corners<<<kHeight, kWidth>>>(object, reinterpret_cast<float4*>(four.pointer));
    compare(four, object, "gather", [](int i) {
        const int x = i / 4 % kWidth, y = i / 4 / kWidth, corner = i % 4;
        return texel(clamped(corner == 1 || corner == 2 ? x + 1 : x, kWidth), clamped(corner < 2 ? y + 1 : y, kHeight),
                     0);
    });
    MUST(cudaFreeArray(array));
}

void of_slices() {
    const auto wanted = [](int i) { return texel(i % kWidth, i / kWidth % kHeight, i / kWidth / kHeight); };
    program::Array<float> out(kWidth * kHeight * kDepth);
    cudaArray_t array = array_of(kWidth, kHeight, kDepth, 0);
    cudaTextureObject_t object = texture_of(array, reading(cudaAddressModeClamp, false, false));
    solid<<<dim3(kHeight, kDepth), kWidth>>>(object, out.pointer);
    compare(out, object, "three dimensions", wanted);
    MUST(cudaFreeArray(array));
    array = array_of(kWidth, kHeight, kDepth, cudaArrayLayered);
    object = texture_of(array, reading(cudaAddressModeClamp, false, false));
    MUST(cudaMemset(out.pointer, 0, out.count * sizeof(float)));
    layered<<<dim3(kHeight, kDepth), kWidth>>>(object, out.pointer);
    compare(out, object, "layers", wanted);
    MUST(cudaFreeArray(array));
    program::Array<float> faces(6 * 8 * 8);
    array = array_of(8, 8, 6, cudaArrayCubemap);
    object = texture_of(array, reading(cudaAddressModeClamp, false, true));
    cube<<<6, dim3(8, 8)>>>(object, faces.pointer);
    compare(faces, object, "cube", [](int i) { return texel(i % 8, i / 8 % 8, i / 64); });
    MUST(cudaFreeArray(array));
}

/// Bytes read as 0 to 1, of which only 0 and 1 are the same however they are rounded.
void of_bytes() {
    const cudaChannelFormatDesc channels = cudaCreateChannelDesc<uchar4>();
    cudaArray_t array = nullptr;
    MUST(cudaMallocArray(&array, &channels, 8, 0));
    unsigned char values[32];
    for (int i = 0; i < 32; ++i) values[i] = i % 3 == 0 ? 255 : 0;
    MUST(cudaMemcpy2DToArray(array, 0, 0, values, 32, 32, 1, cudaMemcpyHostToDevice));
    cudaTextureDesc how = reading(cudaAddressModeClamp, false, false);
    how.readMode = cudaReadModeNormalizedFloat;
    const cudaTextureObject_t object = texture_of(array, how);
    program::Array<float> out(32);
    bytes<<<1, 8>>>(object, out.pointer);
    compare(out, object, "normalized bytes", [](int i) { return i % 3 == 0 ? 1.0f : 0.0f; });
    MUST(cudaFreeArray(array));
}

void surfaces() {
    cudaArray_t arrays[2];
    cudaSurfaceObject_t objects[2];
    for (int i = 0; i < 2; ++i) {
        arrays[i] = array_of(kWidth, kHeight, 0, cudaArraySurfaceLoadStore);
        cudaResourceDesc resource{};
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = arrays[i];
        MUST(cudaCreateSurfaceObject(&objects[i], &resource));
    }
    mirror<<<kHeight + 4, kWidth + 4>>>(objects[0], objects[1]);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<float> got(kWidth * kHeight);
    MUST(cudaMemcpy2DFromArray(got.data(), kWidth * sizeof(float), arrays[1], 0, 0, kWidth * sizeof(float), kHeight,
                               cudaMemcpyDeviceToHost));
    for (int i = 0; i < kWidth * kHeight; ++i) {
        const int x = i % kWidth, y = i / kWidth;
        program::must(got[i] == 2 * texel(kWidth - 1 - x, kHeight - 1 - y, 0), "a texel of the surface");
    }
    for (int i = 0; i < 2; ++i) {
        MUST(cudaDestroySurfaceObject(objects[i]));
        MUST(cudaFreeArray(arrays[i]));
    }
}

}  // namespace

int main() {
    program::limit(60);
    of_memory();
    of_planes();
    of_slices();
    of_bytes();
    surfaces();
    program::expect("fetch_line", "global", "store", 256);
    program::expect("points", "global", "store", 5ULL * 96 * 48);
    program::expect("between", "global", "store", 1ULL * kWidth * kHeight);
    return program::done("textures");
}
