// SPDX-License-Identifier: Apache-2.0
// THE table of helpers: number, name, signature, uniformity, cost. Code generator, interpreter, verifier and
// documentation are made from it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace egpu::ebpf {

enum class HelperId : std::uint32_t {
    map_lookup_elem = 1,
    map_update_elem = 2,
    ktime_get_ns = 5,
    get_smp_processor_id = 8,  // SM
    clock = 0x10001,
    time_ns = 0x10002,
    map_lookup_or_init = 0x10003,
    value = 0x10004,
    argument = 0x10005,
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

/// stack_buffer: its size is the next argument. stack_word: 8 bytes.
enum class ArgumentKind { none, map, map_key, map_value, context, stack_buffer, stack_word, constant, scalar };
enum class ReturnKind { scalar, map_value_or_null, error };

struct Helper {
    HelperId id;
    std::string_view name;  ///< "egpu_map_lookup_or_init"
    std::array<ArgumentKind, 5> arguments;
    ReturnKind returns;
    bool uniform_result;       ///< same for all lanes of the site's mask when its arguments are
    std::uint32_t cost;        ///< instructions counted against the limit per firing
    std::string_view summary;  ///< one sentence, for the manual
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

/// What bpftime's programs call and a GPU program can't have, with the reason.
struct RefusedHelper {
    std::uint32_t number;
    std::string_view name, why, fix;
};
const RefusedHelper* refused_helper(std::uint32_t number);

}  // namespace egpu::ebpf
