// SPDX-License-Identifier: Apache-2.0
#include "ebpf/helpers/helpers.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace egpu::ebpf {
namespace {

using enum ArgumentKind;

// Costs are eBPF-instruction equivalents of the code that replaces the call when nothing about it is known:
// a hash and a probe sequence for lookups, one special register for most of the rest; an atomic operation for which a
// program waits counts 4, a sum over lanes is that of a GPU without redux.sync. The clocks and values differ from lane
// to lane where lanes of one mask execute apart; a map's element does not.
constexpr std::array kHelpers{
    Helper{HelperId::map_lookup_elem,
           "bpf_map_lookup_elem",
           {map, map_key, none, none, none},
           ReturnKind::map_value_or_null,
           true,
           20,
           "void *",
           "void *map, const void *key",
           "The value for a key, NULL where the map has none."},
    Helper{
        HelperId::map_update_elem,
        "bpf_map_update_elem",
        {map, map_key, map_value, constant, none},
        ReturnKind::error,
        false,
        40,
        "long",
        "void *map, const void *key, const void *value, __u64 flags",
        "Writes the value for a key, in a hash makes the entry where there is none; flags BPF_ANY, BPF_NOEXIST (of an "
        "array always -EEXIST) or BPF_EXIST; "
        "0 or a negative error."},
    Helper{HelperId::ktime_get_ns,
           "bpf_ktime_get_ns",
           {none, none, none, none, none},
           ReturnKind::scalar,
           false,
           4,
           "__u64",
           "void",
           "The same as egpu_time_ns."},
    Helper{HelperId::trace_printk,
           "bpf_trace_printk",
           {text, constant, printed, printed, printed},
           ReturnKind::error,
           false,
           60,
           "long",
           "const char *fmt, __u32 fmt_size, ...",
           "What bpf_printk calls for up to three numbers: a line on egpu's standard error, with kernel, block and "
           "thread; %d %i %u %x %X %o %c %p, with l and ll for 64 bits. 0, or -EAGAIN where the line was dropped."},
    Helper{HelperId::get_prandom_u32,
           "bpf_get_prandom_u32",
           {none, none, none, none, none},
           ReturnKind::scalar,
           false,
           16,
           "__u32",
           "void",
           "A number of 32 bits mixed from the SM's clock and the numbers of SM, warp and lane: for samples, not for "
           "secrets; each call gives another."},
    Helper{HelperId::get_smp_processor_id,
           "bpf_get_smp_processor_id",
           {none, none, none, none, none},
           ReturnKind::scalar,
           true,
           1,
           "__u32",
           "void",
           "The number of the SM."},
    Helper{HelperId::ringbuf_output,
           "bpf_ringbuf_output",
           {ring, record, constant, constant, none},
           ReturnKind::error,
           false,
           60,
           "long",
           "void *ringbuf, void *data, __u64 size, __u64 flags",
           "Appends a record of a constant size to a ring buffer, flags 0; 0, or -EAGAIN where there was no room for "
           "it, which is counted and shown."},
    Helper{HelperId::ktime_get_coarse_ns,
           "bpf_ktime_get_coarse_ns",
           {none, none, none, none, none},
           ReturnKind::scalar,
           false,
           4,
           "__u64",
           "void",
           "The same as egpu_time_ns."},
    Helper{HelperId::trace_vprintk,
           "bpf_trace_vprintk",
           {text, constant, record, constant, none},
           ReturnKind::error,
           false,
           60,
           "long",
           "const char *fmt, __u32 fmt_size, const void *data, __u32 data_len",
           "What bpf_printk calls for more numbers, up to twelve."},
    Helper{HelperId::clock,
           "egpu_clock",
           {none, none, none, none, none},
           ReturnKind::scalar,
           false,
           2,
           "__u64",
           "void",
           "The SM's clock, in cycles."},
    Helper{HelperId::time_ns,
           "egpu_time_ns",
           {none, none, none, none, none},
           ReturnKind::scalar,
           false,
           4,
           "__u64",
           "void",
           "The session's clock in nanoseconds: the GPU's globaltimer fitted to CLOCK_MONOTONIC."},
    Helper{HelperId::map_lookup_or_init,
           "egpu_map_lookup_or_init",
           {map, map_key, none, none, none},
           ReturnKind::map_value_or_null,
           true,
           30,
           "void *",
           "void *map, const void *key",
           "The value for a key, made of zeroes where absent; NULL only when the map is full."},
    Helper{HelperId::value,
           "egpu_value",
           {context, stack_buffer, constant, none, none},
           ReturnKind::error,
           false,
           4,
           "long",
           "void *ctx, void *to, __u32 size",
           "Copies the lane's value loaded, stored or exchanged to the stack; 0, or -EINVAL where the event has none."},
    Helper{HelperId::argument,
           "egpu_arg",
           {context, constant, none, none, none},
           ReturnKind::scalar,
           true,
           2,
           "__u64",
           "void *ctx, __u32 n",
           "The bytes of the n-th kernel parameter, of 8 bytes at most."},
    Helper{
        HelperId::min,
        "egpu_min",
        {map_word, scalar, constant, none, none},
        ReturnKind::scalar,
        false,
        10,
        "__u64",
        "void *word, __u64 value, __u32 bytes",
        "Makes a word of a map's value the smaller of both, at once for all threads, unsigned; 0 stands for no "
        "number yet: a value of 0 changes nothing, a word of 0 takes any. Gives the word before. Not in per-SM maps."},
    Helper{HelperId::max,
           "egpu_max",
           {map_word, scalar, constant, none, none},
           ReturnKind::scalar,
           false,
           4,
           "__u64",
           "void *word, __u64 value, __u32 bytes",
           "Makes a word of a map's value the larger of both, at once for all threads, unsigned. Gives the word "
           "before. Not "
           "in per-SM maps."},
    Helper{HelperId::lanes_sum,
           "egpu_lanes_sum",
           {scalar, none, none, none, none},
           ReturnKind::scalar,
           true,
           40,
           "__u64",
           "__u64 value",
           "The sum of the value over all lanes that fire together, the same for each of them; all of them must come "
           "to the call, and not in gpu.warp programs."},
    Helper{HelperId::lanes_min,
           "egpu_lanes_min",
           {scalar, none, none, none, none},
           ReturnKind::scalar,
           true,
           40,
           "__u64",
           "__u64 value",
           "The smallest of the value over these lanes, unsigned."},
    Helper{HelperId::lanes_max,
           "egpu_lanes_max",
           {scalar, none, none, none, none},
           ReturnKind::scalar,
           true,
           40,
           "__u64",
           "__u64 value",
           "The largest of the value over these lanes, unsigned."},
};

std::string joined(std::string_view type, std::string_view rest) {
    return std::string(type) + (type.ends_with('*') ? "" : " ") + std::string(rest);
}

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

std::string signature(const Helper& helper) {
    return joined(helper.result_type, helper.name) + "(" + std::string(helper.parameters) + ")";
}

std::string helper_table() {
    std::string text = "| helper | number | result | cost | |\n|---|---|---|---|---|\n";
    for (const Helper& each : kHelpers) {
        const auto number = static_cast<std::uint32_t>(each.id);
        text += fmt::format("| `{}` | {} | {} | {} | {} |\n", signature(each),
                            number < 0x10000 ? fmt::format("{}", number) : fmt::format("{:#x}", number),
                            each.uniform_result ? "warp" : "lane", each.cost, each.summary);
    }
    return text;
}

}  // namespace egpu::ebpf
