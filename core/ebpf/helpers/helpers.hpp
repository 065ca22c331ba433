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
};

enum class ArgumentKind { none, map, map_key, map_value, context, stack_buffer, constant, scalar };
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
/// By number; nullptr where unknown or not offered on a GPU.
const Helper* helper(std::uint32_t number);
/// A name for a number that Linux has and a GPU has not ("bpf_probe_read_kernel"), for messages; "" where unknown.
std::string_view linux_helper_name(std::uint32_t number);

}  // namespace egpu::ebpf
