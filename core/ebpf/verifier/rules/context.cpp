// SPDX-License-Identifier: Apache-2.0
// Rules 15 and 16: a context is no memory but a list of values made where the program is injected: whole fields only,
// each where it exists, and never written.
#include <fmt/format.h>

#include <array>

#include "ebpf/events/events.hpp"
#include "ebpf/events/known.hpp"
#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {
namespace {

/// Bounds that hold by what a field means, whatever the application does; a larger one isn't claimed.
struct FieldBound {
    std::string_view name;
    std::uint64_t low, high;
};
constexpr std::array kBounds{
    FieldBound{"active_lanes", 0, 32},  // popcount of a 32-bit mask
    FieldBound{"lane", 0, 31},
    FieldBound{"space", 0, 4},   // enum egpu_space
    FieldBound{"access", 0, 2},  // enum egpu_access
    FieldBound{"bytes_per_lane", 0, kLargestBytesPerLane},
    FieldBound{"bytes", 0, 32 * kLargestBytesPerLane},
    FieldBound{"sectors", 0, 64},  // those of a lane's 32 bytes, .v8.b32 (PTX ISA, "ld"), are two at most
};

Refusal no_such_field(const Scene& scene, const Span& span, std::uint32_t bytes) {
    Refusal refusal;
    refusal.code = "EGPU-V012";
    const char* type = scene.context == ContextKind::mem ? "egpu_mem_ctx" : "egpu_kernel_ctx";
    if (!span.exact) {
        refusal.message = "the context is read at an offset that isn't constant";
        refusal.why = fmt::format("struct {} is a list of fields, not memory", type);
        refusal.fix = "read each field by its name, and choose between the values";
        return refusal;
    }
    refusal.message = fmt::format("this is no field of struct {}", type);
    refusal.why = fmt::format("it reads {} bytes at offset {}; only whole fields can be read", bytes, span.first);
    for (const ContextField& field : context_fields())
        if (field.offset == span.first && field.bytes == bytes && field.in_mem_context &&
            scene.context == ContextKind::kernel)
            refusal.why = fmt::format("'{}' exists at events of memory accesses only; this program runs at {}",
                                      field.name, scene.program.section);
    for (const ContextField& field : context_fields()) {
        const bool inside = span.first >= field.offset && span.end <= field.offset + std::int64_t{field.bytes};
        if (inside && field.bytes != bytes && field_named(scene.context, field.name) != nullptr &&
            is_known_at(field, scene.program.point))
            refusal.why = fmt::format("it reads {} of the {} bytes of '{}'; only whole fields can be read", bytes,
                                      field.bytes, field.name);
    }
    refusal.fix = "read the field by its name with its own type, then shift or mask the value";
    return refusal;
}

}  // namespace

Verdict check_context(const Scene& scene, const MemoryAccess& access) {
    Refusal refusal;
    if (access.kind != AccessKind::read) {
        refusal.code = "EGPU-V012";
        refusal.message = "the context is written here";
        refusal.why = "a program can't change the application: contexts are read-only";
        refusal.fix = "keep the value in a variable or a map";
        return refusal;
    }
    if (!scene.program.has_context) {
        refusal.code = "EGPU-V012";
        refusal.message = "this program's argument is read, in which there is nothing";
        refusal.why = "a program for bpftime gets no registers and no arguments of the kernel";
        refusal.fix = "take a struct egpu_kernel_ctx * (egpu/bpf/egpu.bpf.h), and read its fields";
        return refusal;
    }
    const Span span = span_of(access);
    const ContextField* field = nullptr;
    if (span.exact && span.first >= 0 && span.end <= context_bytes(scene.context))
        field = field_at(scene.context, static_cast<std::uint32_t>(span.first), access.bytes);
    if (field == nullptr)
        return no_such_field(scene, span, access.bytes);
    if (scene.program.point.granularity == Granularity::thread && field->name == "sectors") {
        refusal.code = "EGPU-V012";
        refusal.message = "'sectors' is of a warp's whole access; this program runs for each thread";
        refusal.why = "a thread knows its own access only: 32 threads that add their sectors would not give the warp's";
        refusal.fix = "SEC(\"gpu.warp/...\") runs once a warp";
        return refusal;
    }
    if (!is_known_at(*field, scene.program.point)) {
        const bool is_latency = field->when == ContextField::When::return_events;
        refusal.code = "EGPU-V012";
        refusal.message = is_latency
                              ? fmt::format("'{}' is not known yet at {}", field->name, scene.program.section)
                              : fmt::format("'{}' is not known at {}", field->name, to_section(scene.program.point));
        refusal.why = is_latency ? "a latency is known when the value has arrived, and this program runs before"
                                 : "it is a launch's time from its first thread to enter to its last to leave";
        refusal.fix = is_latency
                          ? "run the program at gpu/load_return or gpu/atomic_return; a space may follow, as in .global"
                          : "use SEC(\"gpu.grid/kernel_exit\")";
        return refusal;
    }
    return std::nullopt;
}

Scalar context_number(const ContextField& field, const InjectionPoint& point) {
    Scalar number = Scalar::of_bytes(field.bytes);
    // A bulk copy's size is any number.
    const bool any_size = point.event == Event::async_copy && (field.name == "bytes_per_lane" || field.name == "bytes");
    for (const FieldBound& bound : kBounds)
        if (bound.name == field.name && !any_size)
            number = Scalar::between(bound.low, bound.high);
    number.variability = variability_at(field, point);
    number.expression = combine(0x700, field.offset, field.bytes);
    number.application_address = field.name == "address";
    if (field.name == "active_lanes")
        number.origin = Origin::of_all_lanes;
    return number;
}

}  // namespace egpu::ebpf
