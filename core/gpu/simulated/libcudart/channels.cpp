// SPDX-License-Identifier: Apache-2.0
#include "gpu/simulated/libcudart/channels.hpp"

#include <initializer_list>

namespace egpu::simulated::runtime {
namespace {

struct Format {
    CUarray_format format;
    cudaChannelFormatKind kind;
    int bits;
};

constexpr Format kFormats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, cudaChannelFormatKindUnsigned, 8},
    {CU_AD_FORMAT_UNSIGNED_INT16, cudaChannelFormatKindUnsigned, 16},
    {CU_AD_FORMAT_UNSIGNED_INT32, cudaChannelFormatKindUnsigned, 32},
    {CU_AD_FORMAT_SIGNED_INT8, cudaChannelFormatKindSigned, 8},
    {CU_AD_FORMAT_SIGNED_INT16, cudaChannelFormatKindSigned, 16},
    {CU_AD_FORMAT_SIGNED_INT32, cudaChannelFormatKindSigned, 32},
    {CU_AD_FORMAT_HALF, cudaChannelFormatKindFloat, 16},
    {CU_AD_FORMAT_FLOAT, cudaChannelFormatKindFloat, 32},
};

}  // namespace

bool driver_format(const cudaChannelFormatDesc& channels, CUarray_format& format, unsigned& count) {
    count = 0;
    bool ended = false;
    for (const int bits : {channels.x, channels.y, channels.z, channels.w}) {
        if (bits != 0 && (ended || bits != channels.x)) {
            return false;
        }
        ended = bits == 0;
        count += ended ? 0 : 1;
    }
    for (const Format& one : kFormats) {
        if (one.kind == channels.f && one.bits == channels.x) {
            format = one.format;
            return count == 1 || count == 2 || count == 4;
        }
    }
    return false;
}

cudaChannelFormatDesc channels_of(CUarray_format format, unsigned count) {
    for (const Format& one : kFormats) {
        if (one.format == format) {
            const auto bits = [&](unsigned channel) { return channel < count ? one.bits : 0; };
            return {bits(0), bits(1), bits(2), bits(3), one.kind};
        }
    }
    return {0, 0, 0, 0, cudaChannelFormatKindNone};
}

int bits_of_format(CUarray_format format) {
    return channels_of(format, 1).x;
}

}  // namespace egpu::simulated::runtime
