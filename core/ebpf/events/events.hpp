// SPDX-License-Identifier: Apache-2.0
// THE table of events: injection points (TARGETS E3.1), contexts and their fields (E3.2).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace egpu::ebpf {

enum class Granularity { thread, warp, block, grid };
enum class Event {
    kernel_entry,
    kernel_exit,
    load,
    store,
    atomic,
    mem,
    load_return,
    atomic_return,
    async_copy,
    barrier,
    branch,
    basic_block,
    call,
    mma,
    instruction,
};
enum class Space { global, shared, local, constant, generic };  // values of enum egpu_space
enum class Access { load, store, atomic };                      // values of enum egpu_access

/// A parsed SEC("gpu[.GRANULARITY]/EVENT[.SPACE][/KERNEL]").
struct InjectionPoint {
    Granularity granularity = Granularity::thread;
    Event event = Event::kernel_entry;
    std::optional<Space> space;
    std::string opcode_pattern;  ///< event instruction only
    std::string kernel_pattern;  ///< glob, empty: all
};

/// True where a section holds a program for the GPU ("gpu/", "gpu.warp/").
bool is_gpu_section(std::string_view section);

/// True for a program written for bpftime's GPU attachments: in a section of a kernel probe, with a name that begins
/// with "cuda__".
bool is_bpftime_program(std::string_view section, std::string_view program);
/// True for the section of a kernel probe ("kprobe/...", "kretprobe/..."), of Linux or of bpftime.
bool is_kernel_probe(std::string_view section);
/// The injection point that means the same; what egpu can't do is refused (EGPU-B016).
Result<InjectionPoint> parse_bpftime_section(std::string_view section);

/// EGPU-B010 ... with "did you mean": unknown granularity, event, space; granularity not offered at that event;
/// what this version doesn't have yet (named in the message).
Result<InjectionPoint> parse_section(std::string_view section);
std::string to_section(const InjectionPoint& point);

enum class ContextKind { kernel, mem };
ContextKind context_of(Event event);

/// For whom a value is the same.
enum class Variability { site, warp, lane };

/// A field of a context, as the eBPF program sees it (layout of core/include/egpu/bpf/egpu.bpf.h on this egpu).
struct ContextField {
    std::string_view name;  ///< "kernel", "grid_dim.x", "address"
    std::uint32_t offset;
    std::uint32_t bytes;
    Variability variability;
    bool in_kernel_context, in_mem_context;
    enum class When {
        always,
        return_events,  ///< latency
        grid_exit,      ///< elapsed
    } when;
};
std::span<const ContextField> context_fields();
std::uint32_t context_bytes(ContextKind kind);
/// The field that covers exactly [offset, offset+bytes) of a context; nullptr where there is none.
const ContextField* field_at(ContextKind kind, std::uint32_t offset, std::uint32_t bytes);
const ContextField* field_named(ContextKind kind, std::string_view name);

/// The program runs when the value of the load or atomic is there, and may ask how long that took.
constexpr bool waits_for_value(Event event) {
    return event == Event::load_return || event == Event::atomic_return;
}

const char* to_name(Event event);
const char* to_name(Granularity granularity);
const char* to_name(Space space);
const char* to_name(Access access);

}  // namespace egpu::ebpf
