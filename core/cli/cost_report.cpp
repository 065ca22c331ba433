// SPDX-License-Identifier: Apache-2.0
#include "cli/cost_report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.hpp"
#include "host/findings/overhead.hpp"

namespace egpu::cli {
namespace {

using host::Overhead;
using host::SessionView;

constexpr std::size_t kMostKernels = 4;

/// All the time that its pairs took: kernels that matter most come first, and those without a figure last.
double measured_time(const Overhead& overhead) {
    return overhead.measured ? static_cast<double>(overhead.pairs) *
                                   (overhead.measured->original_ns + overhead.measured->instrumented_ns)
                             : -1;
}

/// "1.12x ± 0.01 (64 pairs), 61.2 us -> 68.5 us a launch".
std::string overhead_text(const SessionView& view, const Overhead& overhead) {
    const host::Kernel* kernel = view.catalogue.kernel(overhead.kernel_id);
    std::string text = fmt::format("overhead: {} {}", kernel->name, overhead.text());
    if (overhead.measured)
        text += fmt::format(", {} -> {} a launch", format_duration_ns(overhead.measured->original_ns),
                            format_duration_ns(overhead.measured->instrumented_ns));
    // Probes that came or went gave the kernel several copies.
    if (view.catalogue.changes != 0 && !overhead.probes.empty())
        text += fmt::format(", with {}", fmt::join(overhead.probes, ", "));
    return text;
}

void add_overheads(const SessionView& view, std::vector<std::string>& lines) {
    if (view.simulated) {
        lines.push_back(fmt::format("overhead: n/a: {}", host::kNoTime));
        return;
    }
    std::vector<Overhead> all = host::overheads(view);
    std::stable_sort(all.begin(), all.end(), [](const Overhead& left, const Overhead& right) {
        return measured_time(left) > measured_time(right);
    });
    for (std::size_t i = 0; i < all.size() && i < kMostKernels; ++i)
        lines.push_back(overhead_text(view, all[i]));
    if (all.size() > kMostKernels)
        lines.push_back(fmt::format("  ({} more: --summary FILE lists all)", all.size() - kMostKernels));
    if (all.empty())
        lines.emplace_back("overhead: n/a: no launch ran an instrumented copy");
}

std::string waited_text(const SessionView& view) {
    if (view.waits == 0)
        return "no call of the application waited 1 ms for egpu";
    const std::string all = format_duration_ns(static_cast<double>(view.waited_ns));
    if (view.waits == 1)
        return fmt::format("one call of the application waited {} for egpu", all);
    return fmt::format("{} calls of the application waited {} for egpu, the longest {}", format_count(view.waits), all,
                       format_duration_ns(static_cast<double>(view.longest_wait_ns)));
}

}  // namespace

std::vector<std::string> cost_report(const SessionView& view) {
    std::vector<std::string> lines;
    if (view.device_name.empty())
        return lines;
    if (view.catalogue.measure_overhead)
        add_overheads(view, lines);
    if (view.simulated)
        return lines;
    std::string line = waited_text(view);
    if (view.most_gpu_memory_bytes != 0)
        line += fmt::format("; {} of GPU memory used", format_memory(view.most_gpu_memory_bytes));
    if (!view.catalogue.measure_overhead && view.instrumented_launches() != 0)
        line += "; overhead not measured (--overhead)";
    lines.push_back(std::move(line));
    return lines;
}

}  // namespace egpu::cli
