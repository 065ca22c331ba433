// SPDX-License-Identifier: Apache-2.0
#include "host/findings/overhead.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/units.hpp"

namespace egpu::host {
namespace {

constexpr std::uint64_t kFewestPairs = 5;

/// The 97.5 % quantile of Student's t: Fisher and Cornish's expansion around the normal one (Abramowitz and Stegun,
/// 26.7.5), off by less than 0.3 % from 4 degrees of freedom on.
double student_quantile(double freedom) {
    constexpr double z = 1.959963984540054;
    const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
    return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

/// The copy whose times count: the last one of the kernel that has any; 0: none has.
std::uint32_t timed_copy(const SessionView& view, std::uint32_t kernel_id) {
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < view.catalogue.copies.size() && i < view.copy_times.size(); ++i)
        if (view.catalogue.copies[i].kernel_id == kernel_id && view.copy_times[i].pairs != 0)
            found = static_cast<std::uint32_t>(i) + 1;
    return found;
}

std::vector<std::string> probes_of(const SessionView& view, const Copy& copy) {
    std::vector<std::string> names;
    for (const std::uint32_t index : copy.probes)
        if (index < view.catalogue.probes.size())
            names.push_back(view.catalogue.probes[index].probe);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

std::string pairs_text(std::uint64_t pairs) {
    return fmt::format("{} pair{}", format_count(pairs), pairs == 1 ? "" : "s");
}

Overhead overhead_of(const SessionView& view, std::uint32_t kernel_id) {
    Overhead overhead;
    overhead.kernel_id = kernel_id;
    if (view.simulated) {
        overhead.reason = kNoTime;
        return overhead;
    }
    const std::uint32_t copy = timed_copy(view, kernel_id);
    if (copy == 0) {
        overhead.reason = "no two launches of one shape were timed";
        return overhead;
    }
    const LaunchTimes& times = view.copy_times[copy - 1];
    overhead.probes = probes_of(view, view.catalogue.copies[copy - 1]);
    overhead.pairs = times.pairs;
    overhead.measured = measured_overhead(times);
    if (!overhead.measured)
        overhead.reason = "only " + pairs_text(times.pairs);
    return overhead;
}

}  // namespace

std::optional<MeasuredOverhead> measured_overhead(const LaunchTimes& times) {
    if (times.pairs < kFewestPairs)
        return std::nullopt;
    const auto n = static_cast<double>(times.pairs);
    const double mean = times.log_ratio / n;
    const double variance = std::max(0.0, times.log_ratio_squares - n * mean * mean) / (n - 1);
    const double reach = student_quantile(n - 1) * std::sqrt(variance / n);
    MeasuredOverhead measured;
    measured.original_ns = static_cast<double>(times.original_ns) / n;
    measured.instrumented_ns = static_cast<double>(times.instrumented_ns) / n;
    measured.ratio = std::exp(mean);
    measured.low = std::exp(mean - reach);
    measured.high = std::exp(mean + reach);
    // Sums that a damaged segment holds are no measurement.
    const bool sound = std::isfinite(measured.ratio) && std::isfinite(measured.low) && std::isfinite(measured.high);
    return sound ? std::optional(measured) : std::nullopt;
}

std::string MeasuredOverhead::text() const {
    constexpr int kFewest = 2, kMost = 4;
    const double half = (high - low) / 2;
    int digits = kFewest;
    double unit = 0.01;
    for (; digits < kMost && half < unit; ++digits)
        unit /= 10;
    return fmt::format("{:.{}f}x \u00b1 {:.{}f}", ratio, digits, std::max(half, unit), digits);
}

std::string Overhead::text() const {
    return measured ? fmt::format("{} ({})", measured->text(), pairs_text(pairs)) : "n/a: " + reason;
}

std::vector<Overhead> overheads(const SessionView& view) {
    std::vector<Overhead> found;
    for (std::size_t i = 0; view.catalogue.measure_overhead && i < view.catalogue.kernels.size(); ++i)
        if (view.counts[i].instrumented != 0)
            found.push_back(overhead_of(view, view.catalogue.kernels[i].id));
    return found;
}

}  // namespace egpu::host
