// SPDX-License-Identifier: Apache-2.0
// What to do instead, for helpers of Linux that people reach for most and a GPU doesn't have.
#include <string_view>

#include <fmt/format.h>

#include "ebpf/helpers/helpers.hpp"
#include "ebpf/verifier/rules/rule.hpp"

namespace egpu::ebpf {
namespace {

struct Advice {
    std::string_view part;  ///< of the helper's name
    const char *why, *fix;
};

/// The first whose part stands in the name.
constexpr Advice kAdvice[] = {
    {"probe_read", "no program reads memory of the application: a fault on a GPU can't be undone",
     "egpu_value(ctx, &value, sizeof(value)) gives the value that an access moves (at gpu/store, gpu/load_return and "
     "gpu/atomic_return), egpu_arg(ctx, n) a kernel's parameter"},
    {"probe_write", "a program can't change the application", "keep the value in a map"},
    {"spin_", "a thread of a GPU that waits for another one's lock may wait for ever",
     "count with __sync_fetch_and_add, without a lock; for other updates use __sync_val_compare_and_swap in a loop "
     "with a "
     "small bound"},
    {"printk", "a kernel on a GPU has no trace pipe", "keep the number in a map: it is shown while the program runs"},
    {"tail_call", "there is no table of programs on a GPU",
     "call a static function instead, or give each program an event of its own with SEC(...)"},
    {"ringbuf", "this version has no ring buffers", "count in a map, with what the event said as its key"},
    {"perf_event", "no event leaves a GPU one by one", "count in a map, with what the event said as its key"},
    {"get_current", "Linux knows the process, its threads on a GPU it doesn't",
     "tell kernels apart by ctx->kernel, launches by ctx->launch, threads by ctx->block and ctx->thread"},
    {"get_stack", "a GPU keeps no stack that could be walked",
     "use ctx->site and ctx->kernel: they name the line and the kernel"},
    {"prandom", "there is no source of random numbers on a GPU",
     "mix egpu_clock() with ctx->lane and ctx->warp where a sample is all that is needed"},
    {"map_delete", "an entry stays while its map does: other threads may be using it", "store 0 in its value"},
    {"for_each_map", "what other threads put into a map meanwhile has no order", "read the map after the run"},
    {"bpf_loop", "functions are called by name only", "write a for loop with a small constant bound"},
    {"ktime_", "a GPU has one clock that agrees with the host's", "use bpf_ktime_get_ns, or egpu_clock for cycles"},
};

std::string offered() {
    std::string names;
    for (const Helper& each : helpers())
        names += (names.empty() ? "" : ", ") + std::string(each.name);
    return names;
}

}  // namespace

Refusal unknown_helper(std::uint32_t number) {
    Refusal refusal;
    refusal.code = "EGPU-V017";
    if (static_cast<std::int32_t>(number) == kMissingFieldCall) {
        refusal.message = "a context field is read here that this egpu doesn't have";
        refusal.why = "the program asks for it with bpf_core_field_exists() and reads it all the same";
        refusal.fix = "read the field only where bpf_core_field_exists() is true";
        return refusal;
    }
    const std::string_view name = linux_helper_name(number);
    refusal.message = name.empty() ? fmt::format("helper {:#x} is unknown", number)
                                   : fmt::format("{} is not available on a GPU", name);
    for (const Advice& advice : kAdvice)
        if (name.find(advice.part) != std::string_view::npos) {
            refusal.why = advice.why;
            refusal.fix = advice.fix;
            return refusal;
        }
    refusal.why = name.empty() ? "it is a helper of a newer egpu, or of a newer Linux"
                               : "it is a helper of the Linux kernel, which no GPU runs";
    refusal.fix = "a GPU program has: " + offered();
    return refusal;
}

}  // namespace egpu::ebpf
