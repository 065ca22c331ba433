// SPDX-License-Identifier: Apache-2.0
// THE table of helpers: number, name, signature, uniformity, cost, sentence. Verifier and documentation are made from
// it. What a helper does is said by specialiser, code generator and interpreter in switches over HelperId without a
// default: a helper that one of them lacks does not compile.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace egpu::ebpf {

enum class HelperId : std::uint32_t {
    map_lookup_elem = 1,
    map_update_elem = 2,
    ktime_get_ns = 5,
    trace_printk = 6,
    get_prandom_u32 = 7,
    get_smp_processor_id = 8,  // SM
    ringbuf_output = 130,
    ktime_get_coarse_ns = 160,
    trace_vprintk = 177,
    clock = 0x10001,
    time_ns = 0x10002,
    map_lookup_or_init = 0x10003,
    value = 0x10004,
    argument = 0x10005,
    min = 0x10006,
    max = 0x10007,
    lanes_sum = 0x10008,
    lanes_min = 0x10009,
    lanes_max = 0x1000a,
    // bpftime's numbers (bpftime_helpers.cpp)
    bpftime_timer = 502,
    bpftime_block_index = 503,
    bpftime_block_size = 504,
    bpftime_thread_index = 505,
    bpftime_barrier = 506,
    bpftime_grid_size = 508,
    bpftime_sm = 509,
    bpftime_warp_slot = 510,
    bpftime_lane = 511,
};

enum class ArgumentKind {
    none,
    map,
    map_key,
    map_value,
    map_word,  ///< in a map's value: 4 or 8 bytes, as a constant argument says, changed by an atomic operation
    context,
    stack_buffer,  ///< its size is the next argument
    stack_word,    ///< 8 bytes
    ring,          ///< a ring buffer
    record,        ///< bytes that are read; how many is the next argument
    text,          ///< read-only data; how many bytes is the next argument
    printed,       ///< a number, where the text prints so many; else anything, set or not
    constant,
    scalar
};
enum class ReturnKind { scalar, map_value_or_null, error };

struct Helper {
    HelperId id;
    std::string_view name;  ///< "egpu_map_lookup_or_init"
    std::array<ArgumentKind, 5> arguments;
    ReturnKind returns;
    bool uniform_result;           ///< same for all lanes of the site's mask when its arguments are
    std::uint32_t cost;            ///< instructions counted against the limit per firing
    std::string_view result_type;  ///< as C has it: "void *"
    std::string_view parameters;   ///< "void *map, const void *key"
    std::string_view summary;      ///< one sentence, for the manual

    /// True for one that asks all lanes that fire together: all of them must come to the call.
    constexpr bool asks_lanes() const {
        return id == HelperId::lanes_sum || id == HelperId::lanes_min || id == HelperId::lanes_max;
    }
    bool prints() const { return id == HelperId::trace_printk || id == HelperId::trace_vprintk; }
    /// True for one that changes a word of a map's value.
    constexpr bool changes_word() const { return arguments[0] == ArgumentKind::map_word; }
};

std::span<const Helper> helpers();
/// Accepted beside them for programs written for bpftime; not advertised.
std::span<const Helper> bpftime_helpers();
/// Fields that one of these gives: as its result, or written to its arguments in order; empty for the others.
std::span<const std::string_view> bpftime_fields(HelperId id);
/// By number; nullptr where unknown or not offered on a GPU.
const Helper* helper(std::uint32_t number);
/// A name for a number that Linux has and a GPU has not ("bpf_probe_read_kernel"), for messages; "" where unknown.
std::string_view linux_helper_name(std::uint32_t number);

/// Why a GPU doesn't have a helper of Linux or of bpftime, and what a program does instead.
struct Unavailable {
    std::string_view why;
    std::string_view instead;   ///< "" where nothing stands for it
    std::string_view name;      ///< of one that is bpftime's alone; else "", see linux_helper_name()
    bool reads_memory = false;  ///< bpf_probe_read() and its kin, which BPF_CORE_READ() calls, too
};
/// nullptr where no more is to be said than that it is a helper of Linux.
const Unavailable* unavailable(std::uint32_t number);

/// "void *egpu_map_lookup_or_init(void *map, const void *key)".
std::string signature(const Helper& helper);
/// The chapter's table of all helpers (core/include/egpu/bpf/README.md), as Markdown.
std::string helper_table();

}  // namespace egpu::ebpf
