// SPDX-License-Identifier: Apache-2.0
#include "ebpf/helpers/helpers.hpp"

#include <algorithm>

namespace egpu::ebpf {
namespace {

using enum ArgumentKind;

// Costs are eBPF-instruction equivalents of the code that replaces the call when nothing about it is known:
// a hash and a probe sequence for lookups, one special register for the rest. The clocks and values differ from lane
// to lane where lanes of one mask execute apart; a map's element does not.
constexpr std::array kHelpers{
    Helper{HelperId::map_lookup_elem,
           "bpf_map_lookup_elem",
           {map, map_key, none, none, none},
           ReturnKind::map_value_or_null,
           true,
           20,
           "The value for a key, NULL where the map has none."},
    Helper{HelperId::map_update_elem,
           "bpf_map_update_elem",
           {map, map_key, map_value, constant, none},
           ReturnKind::error,
           false,
           40,
           "Writes the value for a key of an array (no hash in this version); flags BPF_ANY, BPF_NOEXIST or BPF_EXIST; "
           "0 or a negative error."},
    Helper{HelperId::ktime_get_ns,
           "bpf_ktime_get_ns",
           {none, none, none, none, none},
           ReturnKind::scalar,
           false,
           4,
           "The same as egpu_time_ns."},
    Helper{HelperId::get_smp_processor_id,
           "bpf_get_smp_processor_id",
           {none, none, none, none, none},
           ReturnKind::scalar,
           true,
           1,
           "The number of the SM."},
    Helper{HelperId::clock,
           "egpu_clock",
           {none, none, none, none, none},
           ReturnKind::scalar,
           false,
           2,
           "The SM's clock, in cycles."},
    Helper{HelperId::time_ns,
           "egpu_time_ns",
           {none, none, none, none, none},
           ReturnKind::scalar,
           false,
           4,
           "The session's clock in nanoseconds: the GPU's globaltimer fitted to CLOCK_MONOTONIC."},
    Helper{HelperId::map_lookup_or_init,
           "egpu_map_lookup_or_init",
           {map, map_key, none, none, none},
           ReturnKind::map_value_or_null,
           true,
           30,
           "The value for a key, made of zeroes where absent; NULL only when the map is full."},
    Helper{HelperId::value,
           "egpu_value",
           {context, stack_buffer, constant, none, none},
           ReturnKind::error,
           false,
           4,
           "Copies the lane's value loaded, stored or exchanged to the stack; 0, or -EINVAL where the event has none."},
    Helper{HelperId::argument,
           "egpu_arg",
           {context, constant, none, none, none},
           ReturnKind::scalar,
           true,
           2,
           "The bytes of the n-th kernel parameter, of 8 bytes at most."},
};

}  // namespace

std::span<const Helper> helpers() {
    return kHelpers;
}

const Helper* helper(std::uint32_t number) {
    const auto found = std::ranges::find(kHelpers, static_cast<HelperId>(number), &Helper::id);
    if (found != kHelpers.end())
        return &*found;
    const auto aliases = bpftime_helpers();
    const auto alias = std::ranges::find(aliases, static_cast<HelperId>(number), &Helper::id);
    return alias == aliases.end() ? nullptr : &*alias;
}

}  // namespace egpu::ebpf
