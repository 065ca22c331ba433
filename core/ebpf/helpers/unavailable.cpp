// SPDX-License-Identifier: Apache-2.0
// Helpers of Linux and of bpftime that programs come with: why a GPU doesn't have them, and what to write instead.
#include <algorithm>
#include <array>

#include "ebpf/helpers/helpers.hpp"

namespace egpu::ebpf {
namespace {

struct Row {
    std::uint32_t first, last;  ///< numbers (include/uapi/linux/bpf.h)
    Unavailable said;
};

// A row of Linux's helpers has no name of its own.
constexpr Unavailable kReserve{
    "a record is made in registers here and written to the ring once: nothing is reserved in it",
    "make the record in a variable and send that: bpf_ringbuf_output(&ring, &event, sizeof(event), 0)",
    {}};
constexpr Unavailable kPerfEvent{
    "no event leaves a GPU through perf",
    "define a BPF_MAP_TYPE_RINGBUF and send with bpf_ringbuf_output(&ring, &event, sizeof(event), 0)",
    {}};
constexpr Unavailable kUserRing{
    "nothing is sent to a program while it runs", "an option (EGPU_OPTION) is set when the probe is attached", {}};
constexpr Unavailable kApplicationMemory{
    "no program reads memory of the application: a fault on a GPU can't be undone",
    "egpu_value(ctx, &value, sizeof(value)) stores in value what an access moves (at gpu/store, gpu/load_return and "
    "gpu/atomic_return), egpu_arg(ctx, n) a kernel's parameter",
    {},
    true};
constexpr Unavailable kProcess{
    "Linux knows the process, its threads on a GPU it doesn't",
    "tell kernels apart by ctx->kernel, launches by ctx->launch, threads by ctx->block and ctx->thread",
    {}};
constexpr Unavailable kLock{
    "threads that wait for each other can stop a GPU for ever, and this one has thousands that would come at once",
    "count with __sync_fetch_and_add, without a lock; egpu_min and egpu_max keep extremes; for other updates use "
    "__sync_val_compare_and_swap in a loop with a small bound, which is approximate",
    {}};
constexpr Unavailable kStack{"a thread of a GPU keeps no stack of its calls",
                             "use ctx->site and ctx->kernel: they name the line and the kernel",
                             {}};
constexpr Unavailable kCallback{
    "functions that a helper calls back are not available on a GPU", "write a for loop with a constant bound", {}};
constexpr Unavailable kOtherClock{
    "a GPU's timer is fitted to CLOCK_MONOTONIC alone: other clocks stand still or jump where it does not",
    "egpu_time_ns or bpf_ktime_get_ns is the session's clock, egpu_clock counts the SM's cycles",
    {}};
constexpr Unavailable kTimer{
    "nothing on a GPU runs at a time of its own", "egpu_time_ns gives the time of a firing", {}};
constexpr Unavailable kTexts{"texts are not made on a GPU", "keep the number in a map: it is shown with its unit", {}};
constexpr Unavailable kDelete{"an entry stays for the whole session: other threads may hold its address",
                              "store zeroes in the value; a session starts with an empty map",
                              {}};
constexpr Unavailable kQueue{"stacks and queues are not available on a GPU", "use an array or a hash", {}};

constexpr std::array kRows{
    Row{3, 3, kDelete},
    Row{4, 4, kApplicationMemory},  // probe_read
    Row{12,
        12,
        {"a program is made part of the kernel where it is injected: no other can take its place",
         "call a function of the program",
         {}}},
    Row{14, 16, kProcess},    // pid, uid, comm
    Row{25, 25, kPerfEvent},  // perf_event_output
    Row{27, 27, kStack},
    Row{35, 35, kProcess},  // current task
    Row{36, 36, {"a program can't change the application", "keep the value in a map", {}}},
    Row{45, 45, kApplicationMemory},  // probe_read_str
    Row{67, 67, kStack},
    Row{87, 89, kQueue},
    Row{93, 94, kLock},
    Row{112, 115, kApplicationMemory},  // probe_read_user to probe_read_kernel_str
    Row{118, 118, kOtherClock},         // jiffies64
    Row{120, 120, kProcess},
    Row{125, 125, kOtherClock},  // boot time
    Row{131, 134, kReserve},     // ringbuf_reserve to ringbuf_query
    Row{158, 158, kProcess},
    Row{164, 164, kCallback},  // for_each_map_elem
    Row{165, 165, kTexts},
    Row{169, 172, kTimer},
    Row{181, 181, kCallback},  // loop
    Row{182, 182, kTexts},
    Row{195,
        195,
        {"a GPU's per-SM maps are added up when they are read: one SM's copy alone means nothing",
         "use an array with the number of the SM as its index",
         {}}},
    Row{198, 200, kReserve},
    Row{208, 208, kOtherClock},  // TAI
    Row{209, 209, kUserRing},
    Row{501,
        501,
        {"bpftime's text is of its own kind", "bpf_printk prints a line, with kernel, block and thread", "ebpf_puts"}},
    Row{507,
        507,
        {"it would end threads of the application: a program never changes what that does",
         "leave it out: egpu observes kernels, it doesn't schedule them", "bpf_cuda_exit"}},
};

}  // namespace

const Unavailable* unavailable(std::uint32_t number) {
    const auto row =
        std::ranges::find_if(kRows, [&](const Row& each) { return each.first <= number && number <= each.last; });
    return row == kRows.end() ? nullptr : &row->said;
}

}  // namespace egpu::ebpf
