// SPDX-License-Identifier: Apache-2.0
// The fields of the contexts, at the offsets of core/include/egpu/bpf/egpu.bpf.h. events_test compiles that header for
// the bpf target and compares every row with its BTF.
#include <algorithm>
#include <array>

#include "ebpf/events/events.hpp"

namespace egpu::ebpf {
namespace {

constexpr ContextField common(std::string_view name, std::uint32_t offset, std::uint32_t bytes,
                              Variability variability) {
    return {name, offset, bytes, variability, true, true, ContextField::When::always};
}
constexpr ContextField of_mem(std::string_view name, std::uint32_t offset, std::uint32_t bytes, Variability variability,
                              ContextField::When when = ContextField::When::always) {
    return {name, offset, bytes, variability, false, true, when};
}
constexpr ContextField of_kernel(std::string_view name, std::uint32_t offset, std::uint32_t bytes,
                                 Variability variability, ContextField::When when) {
    return {name, offset, bytes, variability, true, false, when};
}

constexpr std::array kFields{
    common("kernel", 0, 4, Variability::site),
    common("site", 4, 4, Variability::site),
    common("launch", 8, 8, Variability::warp),
    common("sm", 16, 4, Variability::warp),
    common("device", 20, 4, Variability::warp),
    common("warp", 24, 4, Variability::warp),
    common("active_mask", 28, 4, Variability::warp),
    common("active_lanes", 32, 4, Variability::warp),
    common("lane", 36, 4, Variability::lane),
    common("grid_dim.x", 40, 4, Variability::warp),
    common("grid_dim.y", 44, 4, Variability::warp),
    common("grid_dim.z", 48, 4, Variability::warp),
    common("block_dim.x", 52, 4, Variability::warp),
    common("block_dim.y", 56, 4, Variability::warp),
    common("block_dim.z", 60, 4, Variability::warp),
    common("block.x", 64, 4, Variability::warp),
    common("block.y", 68, 4, Variability::warp),
    common("block.z", 72, 4, Variability::warp),
    common("thread.x", 76, 4, Variability::lane),
    common("thread.y", 80, 4, Variability::lane),
    common("thread.z", 84, 4, Variability::lane),
    of_mem("space", 88, 4, Variability::site),
    of_mem("access", 92, 4, Variability::site),
    of_mem("bytes_per_lane", 96, 4, Variability::site),
    of_mem("address", 104, 8, Variability::lane),  // after 4 bytes of padding
    of_mem("bytes", 112, 4, Variability::warp),
    of_mem("sectors", 116, 4, Variability::warp),
    of_mem("latency", 120, 8, Variability::warp, ContextField::When::return_events),
    of_kernel("elapsed", 88, 8, Variability::warp, ContextField::When::grid_exit),
};

bool is_in(const ContextField& field, ContextKind kind) {
    return kind == ContextKind::kernel ? field.in_kernel_context : field.in_mem_context;
}

}  // namespace

std::span<const ContextField> context_fields() {
    return kFields;
}

std::uint32_t context_bytes(ContextKind kind) {
    return kind == ContextKind::kernel ? 96 : 128;
}

const ContextField* field_at(ContextKind kind, std::uint32_t offset, std::uint32_t bytes) {
    const auto found = std::ranges::find_if(kFields, [&](const ContextField& field) {
        return field.offset == offset && field.bytes == bytes && is_in(field, kind);
    });
    return found == kFields.end() ? nullptr : &*found;
}

const ContextField* field_named(ContextKind kind, std::string_view name) {
    const auto found = std::ranges::find_if(
        kFields, [&](const ContextField& field) { return field.name == name && is_in(field, kind); });
    return found == kFields.end() ? nullptr : &*found;
}

}  // namespace egpu::ebpf
