// SPDX-License-Identifier: Apache-2.0
#include "agent/drain/copy_maps.hpp"

#include <cstdio>
#include <cstring>

#include "agent/driver/driver.hpp"
#include "agent/maps/device_maps.hpp"
#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"
#include "segment/access/snapshot_writer.hpp"

namespace egpu::agent {

namespace {

// Instrumented launches of each kernel at the last good drain: what was launched since may be at fault.
constinit std::uint64_t launches_then[EGPU_SEGMENT_MAX_KERNELS] = {};

CUresult copy_map(std::uint32_t index, CUdeviceptr address) {
    const Driver& real = driver();
    const std::uint32_t slots = view().used_slots(index);
    const std::uint64_t bytes = view().geometry(index).used_bytes(slots);
    const segment::SnapshotWriter writer = segment::begin_snapshot(view(), index);
    void* to = staging() != nullptr ? staging() : writer.data.data();
    CUresult result = CUDA_SUCCESS;
    if (bytes != 0)
        result = real.cuMemcpyDtoHAsync_v2(to, address, bytes, own_stream());
    if (result == CUDA_SUCCESS && bytes != 0)
        result = real.cuStreamSynchronize(own_stream());
    if (result != CUDA_SUCCESS) {
        segment::abandon_snapshot(writer);
        return result;
    }
    if (to != writer.data.data())
        std::memcpy(writer.data.data(), to, bytes);
    segment::publish_snapshot(writer, slots, segment::monotonic_ns());
    return CUDA_SUCCESS;
}

void remember_launches() {
    const auto kernels = view().kernels();
    for (std::size_t i = 0; i < kernels.size(); ++i)
        launches_then[i] = segment::load_relaxed(kernels[i].launches_instrumented);
}

}  // namespace

CUresult copy_all_maps() {
    egpu_segment_header& header = view().header();
    bool copied = false;
    for (std::uint32_t i = 0; i < view().map_count(); ++i) {
        const CUdeviceptr address = allocated_map(i);
        if (address == 0)
            continue;
        const CUresult result = copy_map(i, address);
        if (result != CUDA_SUCCESS)
            return result;
        copied = true;
    }
    if (copied) {
        segment::store_relaxed(header.last_drain_ns, segment::monotonic_ns());
        segment::add_relaxed(header.drains, std::uint64_t{1});
        remember_launches();
    }
    return CUDA_SUCCESS;
}

void report_lost_device(CUresult error) {
    const auto kernels = view().kernels();
    unsigned int copies = 0;
    for (std::size_t i = 0; i < kernels.size(); ++i)
        copies += segment::load_relaxed(kernels[i].launches_instrumented) != launches_then[i] ? 1 : 0;
    const char* name = nullptr;
    if (driver().cuGetErrorName == nullptr || driver().cuGetErrorName(error, &name) != CUDA_SUCCESS || name == nullptr)
        name = "an unknown error";
    char text[200];
    std::snprintf(text, sizeof(text),
                  "the device was lost with %s (%d); instrumented copies launched since the last copy of the maps: %u",
                  name, static_cast<int>(error), copies);
    report_error(static_cast<std::uint32_t>(error), text);
}

}  // namespace egpu::agent
