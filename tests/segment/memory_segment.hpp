// SPDX-License-Identifier: Apache-2.0
// A segment in plain memory, laid out as a real one: what a test may damage at will.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>

#include "segment/access/copy_times.hpp"
#include "segment/create/geometry.hpp"

namespace egpu::segment {

inline SegmentRequest small_request() {
    SegmentRequest request;
    request.maps = {{"probe/hash", 8, 16, 4, 3, false}, {"probe/array", 4, 12, 2, 1, true}};
    request.kernel_capacity = 4;
    request.copy_capacity = 8;
    request.measure_overhead = true;
    request.ring_bytes = 4096;
    request.catalogue_bytes = 256;
    return request;
}

class MemorySegment {
public:
    explicit MemorySegment(const SegmentRequest& request = small_request()) : geometry_(geometry_of(request)) {
        base_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, geometry_.bytes)));
        std::memset(base_.get(), 0, geometry_.bytes);
        lay_out(base_.get(), request, geometry_);
    }
    std::byte* base() { return base_.get(); }
    std::size_t bytes() const { return geometry_.bytes; }
    egpu_segment_header& header() { return *reinterpret_cast<egpu_segment_header*>(base_.get()); }
    const Geometry& geometry() const { return geometry_; }

private:
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    Geometry geometry_;
    std::unique_ptr<std::byte, Free> base_;
};

/// Touches everything that a reader may touch through a view; sums, so that nothing is optimised away.
inline std::uint64_t touch_all(const View& view) {
    std::uint64_t sum = view.kernels().size();
    for (const egpu_kernel_counters& kernel : view.kernels())
        sum += kernel.launches + kernel.launches_left_out;
    for (const egpu_copy_times& times : view.copy_times())
        sum += read_times(times).value_or(CopyTimes{}).pairs;
    for (std::uint32_t i = 0; i < view.map_count(); ++i) {
        sum += view.map_name(i).size() + view.used_slots(i);
        for (const auto& piece : {view.keys(i), view.snapshot(i, 0), view.snapshot(i, 1)})
            if (!piece.empty())
                sum += static_cast<std::uint64_t>(piece.front()) + static_cast<std::uint64_t>(piece.back());
    }
    for (const auto& piece : {view.catalogue(0), view.catalogue(1), view.to_host().data, view.to_agent().data})
        if (!piece.empty())
            sum += static_cast<std::uint64_t>(piece.front()) + static_cast<std::uint64_t>(piece.back());
    return sum;
}

}  // namespace egpu::segment
