// SPDX-License-Identifier: Apache-2.0
// Sections of bpftime's GPU programs (github.com/eunomia-bpf/bpftime, example/gpu), as injection points of ours:
//   SEC("kprobe/_Z9vectorAddPKfS0_Pf") int cuda__probe()      gpu/kernel_entry/_Z9vectorAddPKfS0_Pf
//   SEC("kretprobe/...") int cuda__probe()                    gpu/kernel_exit/...
//   SEC("kprobe/__memcapture") int cuda__probe()              gpu/mem
#include <fmt/format.h>

#include "ebpf/events/events.hpp"

namespace egpu::ebpf {
namespace {

constexpr std::string_view kEntry = "kprobe/", kExit = "kretprobe/";
constexpr std::string_view kMemory = "__memcapture", kDirect = "__directly_run";

std::string_view target_of(std::string_view section) {
    return section.substr(section.find('/') + 1);
}

}  // namespace

bool is_kernel_probe(std::string_view section) {
    return section.starts_with(kEntry) || section.starts_with(kExit);
}

bool is_bpftime_program(std::string_view section, std::string_view program) {
    return is_kernel_probe(section) &&
           (program.starts_with("cuda__") || target_of(section) == kMemory || target_of(section) == kDirect);
}

Result<InjectionPoint> parse_bpftime_section(std::string_view section) {
    if (!is_kernel_probe(section))
        return error("EGPU-B010", fmt::format("section \"{}\" is no kernel probe", section));
    InjectionPoint point;
    std::string_view target = target_of(section);
    if (target == kDirect)
        return error("EGPU-B016",
                     fmt::format("section \"{}\" makes a kernel of the program, and egpu starts no kernels", section),
                     "egpu runs programs inside the kernels of an application: write SEC(\"gpu/kernel_entry/KERNEL\")");
    if (target == kMemory) {
        if (section.starts_with(kExit))
            return error("EGPU-B016", fmt::format("section \"{}\" means nothing", section),
                         "write kprobe/__memcapture, or SEC(\"gpu/mem\")");
        point.event = Event::mem;
        return point;
    }
    // Where bpftime runs beside kernel probes of Linux, the prefix of the program is put before the kernel's name too.
    if (target.starts_with("cuda__Z"))
        target.remove_prefix(5);
    if (target.empty())
        return error("EGPU-B010", fmt::format("section \"{}\" names no kernel", section),
                     "write kprobe/KERNEL with the kernel's mangled name");
    if (target.find_first_of(",+ ") != std::string_view::npos)
        return error("EGPU-B016",
                     fmt::format("section \"{}\" names more than one kernel, or a place inside it", section),
                     "write a program for each kernel, or SEC(\"gpu/kernel_entry/GLOB\"), such as *gemm*");
    point.event = section.starts_with(kEntry) ? Event::kernel_entry : Event::kernel_exit;
    point.kernel_pattern = target;
    return point;
}

}  // namespace egpu::ebpf
