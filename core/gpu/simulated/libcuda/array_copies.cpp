// SPDX-License-Identifier: Apache-2.0
// cuMemcpy*: bytes of an array's first row, each in the forms for both default streams.
#include "gpu/simulated/libcuda/driver.hpp"
#include "gpu/simulated/libcuda/streams.hpp"

using namespace egpu::simulated;

namespace {

constexpr DefaultStream kLegacy = DefaultStream::legacy;
constexpr DefaultStream kOwn = DefaultStream::per_thread;

struct Stretch {
    CUmemorytype type = CU_MEMORYTYPE_ARRAY;
    CUarray array = nullptr;
    std::size_t offset = 0;
    CUdeviceptr device = 0;
    const void* host = nullptr;
};

Stretch of(CUarray array, std::size_t offset) {
    return {CU_MEMORYTYPE_ARRAY, array, offset, 0, nullptr};
}
Stretch of(CUdeviceptr device) {
    return {CU_MEMORYTYPE_DEVICE, nullptr, 0, device, nullptr};
}
Stretch of(const void* host) {
    return {CU_MEMORYTYPE_HOST, nullptr, 0, 0, host};
}

CUresult copy(const Stretch& to, const Stretch& from, std::size_t bytes, CUstream stream, DefaultStream zero,
              Returns returns) {
    CUDA_MEMCPY3D row{};
    row.srcMemoryType = from.type;
    row.srcArray = from.array;
    row.srcXInBytes = from.offset;
    row.srcDevice = from.device;
    row.srcHost = from.host;
    row.dstMemoryType = to.type;
    row.dstArray = to.array;
    row.dstXInBytes = to.offset;
    row.dstDevice = to.device;
    row.dstHost = const_cast<void*>(to.host);
    row.WidthInBytes = bytes;
    row.Height = 1;
    row.Depth = 1;
    return enqueue_work(stream, zero, returns, [&](DriverContext&, Work& work, bool& something) {
        something = bytes != 0;
        work = CopyWork{row};
        return check_copy(row);
    });
}

CUresult copy_now(const Stretch& to, const Stretch& from, std::size_t bytes, DefaultStream zero) {
    return copy(to, from, bytes, nullptr, zero, Returns::when_done);
}

}  // namespace

CUresult cuMemcpyHtoA_v2(CUarray to, size_t offset, const void* from, size_t bytes) {
    return copy_now(of(to, offset), of(from), bytes, kLegacy);
}
CUresult cuMemcpyHtoA_v2_ptds(CUarray to, size_t offset, const void* from, size_t bytes) {
    return copy_now(of(to, offset), of(from), bytes, kOwn);
}
CUresult cuMemcpyAtoH_v2(void* to, CUarray from, size_t offset, size_t bytes) {
    return copy_now(of(to), of(from, offset), bytes, kLegacy);
}
CUresult cuMemcpyAtoH_v2_ptds(void* to, CUarray from, size_t offset, size_t bytes) {
    return copy_now(of(to), of(from, offset), bytes, kOwn);
}
CUresult cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
    return copy_now(of(to, offset), of(from), bytes, kLegacy);
}
CUresult cuMemcpyDtoA_v2_ptds(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
    return copy_now(of(to, offset), of(from), bytes, kOwn);
}
CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
    return copy_now(of(to), of(from, offset), bytes, kLegacy);
}
CUresult cuMemcpyAtoD_v2_ptds(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
    return copy_now(of(to), of(from, offset), bytes, kOwn);
}
CUresult cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes) {
    return copy_now(of(to, to_offset), of(from, from_offset), bytes, kLegacy);
}
CUresult cuMemcpyAtoA_v2_ptds(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes) {
    return copy_now(of(to, to_offset), of(from, from_offset), bytes, kOwn);
}
CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void* from, size_t bytes, CUstream stream) {
    return copy(of(to, offset), of(from), bytes, stream, kLegacy, Returns::at_once);
}
CUresult cuMemcpyHtoAAsync_v2_ptsz(CUarray to, size_t offset, const void* from, size_t bytes, CUstream stream) {
    return copy(of(to, offset), of(from), bytes, stream, kOwn, Returns::at_once);
}
CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray from, size_t offset, size_t bytes, CUstream stream) {
    return copy(of(to), of(from, offset), bytes, stream, kLegacy, Returns::at_once);
}
CUresult cuMemcpyAtoHAsync_v2_ptsz(void* to, CUarray from, size_t offset, size_t bytes, CUstream stream) {
    return copy(of(to), of(from, offset), bytes, stream, kOwn, Returns::at_once);
}
