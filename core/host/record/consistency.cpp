// SPDX-License-Identifier: Apache-2.0
#include "host/record/consistency.hpp"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

namespace egpu::host {
namespace {

/// Nine years of a launch each microsecond.
constexpr std::uint64_t kMostLaunches = std::uint64_t{1} << 48;
/// Counters are read one after the other, and a process that is killed ends between two of them.
constexpr std::uint64_t kUnevenly = 1024;
/// A negative number of a catalogue reads as one that is larger.
constexpr std::uint32_t kMostOfAnything = std::numeric_limits<std::uint32_t>::max() / 2;
/// In the year 2248: later ones do not fit in nanoseconds.
constexpr std::int64_t kLastUnixMs = 8'800'000'000'000;
constexpr std::int64_t kLastUnixNs = kLastUnixMs * 1'000'000;
/// Far above what egpu run takes for an interval.
constexpr std::int64_t kLongestIntervalMs = 86'400'000;
/// A pebibyte, of one GPU.
constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 50;
/// Nine years.
constexpr std::uint64_t kLongestNs = std::uint64_t{1} << 58;
constexpr std::size_t kMostShown = 60;

struct Fact {
    const char* key;
    std::int64_t least, most;
};
constexpr std::int64_t kAnyId = std::numeric_limits<std::uint32_t>::max();
/// In `meta` from the start.
constexpr Fact kFirstFacts[] = {{"interval_ms", 1, kLongestIntervalMs},
                                {"writer_pid", 1, kAnyId},
                                {"writer_start_time", 0, std::numeric_limits<std::int64_t>::max()}};
/// From the first write on.
constexpr Fact kSessionFacts[] = {{"session", 0, kAnyId}, {"started_unix_ms", 0, kLastUnixMs}};
/// At the end.
constexpr Fact kLastFact = {"finished", 1, 1};

bool has_row(Database& database, const char* sql) {
    Statement rows(database, sql);
    return rows.step();
}

std::string fact_contradiction(Database& database, const Fact& fact, bool needed) {
    Statement value(database, "SELECT value FROM meta WHERE key = ?1");
    if (!value.with(fact.key).step())
        return needed ? fmt::format("its {} is missing", fact.key) : std::string();
    return value.is_integer(0) && value.integer(0) >= fact.least && value.integer(0) <= fact.most
               ? std::string()
               : fmt::format("its {} is {}", fact.key, shown(value, 0));
}

std::string kernel_contradiction(const Kernel& kernel, std::size_t index, const Catalogue& catalogue) {
    if (kernel.id != index + 1)
        return fmt::format("kernel {} stands where kernel {} belongs", kernel.id, index + 1);
    if (kernel.copy > catalogue.copies.size())
        return fmt::format("kernel {} has copy {}, of {}", kernel.id, kernel.copy, catalogue.copies.size());
    const auto is_absurd = [](const Figures& figures) {
        return std::max({figures.original.value_or(0), figures.reassembled.value_or(0),
                         figures.instrumented.value_or(0)}) > kMostOfAnything;
    };
    if (std::max({kernel.sites, kernel.accumulators, kernel.bounds.most_threads}) > kMostOfAnything ||
        is_absurd(kernel.registers) || is_absurd(kernel.spill_bytes) || is_absurd(kernel.local_bytes))
        return fmt::format("kernel {} has a figure that no kernel can have", kernel.id);
    return {};
}

std::string copy_contradiction(const Copy& copy, std::size_t index, const Catalogue& catalogue) {
    if (catalogue.kernel(copy.kernel_id) == nullptr)
        return fmt::format("copy {} is of kernel {}, of {}", index + 1, copy.kernel_id, catalogue.kernels.size());
    for (const std::uint32_t probe : copy.probes)
        if (probe >= catalogue.probes.size())
            return fmt::format("copy {} holds probe {}, of {}", index + 1, std::uint64_t{probe} + 1,
                               catalogue.probes.size());
    return {};
}

std::string launches_contradiction(const char* what, std::size_t index, std::initializer_list<std::uint64_t> counts) {
    const std::uint64_t most = std::max(counts);
    return most < kMostLaunches ? std::string()
                                : fmt::format("{} {} has {} launches, more than there can be", what, index + 1, most);
}

/// Of figures that are the session's, not a kernel's.
std::string totals_contradiction(const SessionView& view) {
    const struct {
        const char* what;
        std::uint64_t value, most;
    } kTotals[] = {
        {"unknown_launches", view.unknown_launches, kMostLaunches},
        {"unasked_launches", view.unasked_launches, kMostLaunches},
        {"not_followed_launches", view.not_followed_launches, kMostLaunches},
        {"partly_counted_graphs", view.partly_counted_graphs, kMostLaunches},
        {"gpu_memory_bytes", view.gpu_memory_bytes, kMostMemory},
        {"most_gpu_memory_bytes", view.most_gpu_memory_bytes, kMostMemory},
        {"waited_ns", view.waited_ns, kLongestNs},
        {"longest_wait_ns", view.longest_wait_ns, kLongestNs},
        {"compute_capability", view.compute_capability, kMostOfAnything},
        {"sm_count", view.sm_count, kMostOfAnything},
        {"agent_pid", view.agent_pid, kMostOfAnything},
        {"other_processes", view.other_processes, kMostOfAnything},
    };
    for (const auto& total : kTotals)
        if (total.value > total.most)
            return fmt::format("its {} is {}, more than there can be", total.what, total.value);
    return {};
}

}  // namespace

bool is_calendar_time(const Statement& row, int column) {
    return row.is_integer(column) && row.integer(column) > 0 && row.integer(column) <= kLastUnixNs;
}

std::string shown(const Statement& row, int column) {
    std::string text = row.text(column);
    if (text.empty())
        return "empty";
    if (text.size() > kMostShown) {
        text.resize(kMostShown);
        text += "...";
    }
    return text;
}

std::string contradiction_in_meta(Database& database) {
    const bool begun = has_row(database, "SELECT 1 FROM catalogue");
    std::string why;
    for (const Fact& fact : kFirstFacts)
        why = !why.empty() ? why : fact_contradiction(database, fact, true);
    for (const Fact& fact : kSessionFacts)
        why = !why.empty() ? why : fact_contradiction(database, fact, begun);
    why = !why.empty() ? why : fact_contradiction(database, kLastFact, false);
    if (why.empty() && !has_row(database, "SELECT 1 FROM meta WHERE key = 'egpu_version' AND typeof(value) = 'text'"))
        why = "it does not say which egpu wrote it";
    if (why.empty() && has_row(database, "SELECT 1 FROM meta WHERE key = 'summary' AND typeof(value) <> 'text'"))
        why = "its summary is no text";
    return why;
}

std::string contradiction_without_catalogue(Database& database) {
    for (const char* sql : {"SELECT 1 FROM samples", "SELECT 1 FROM series", "SELECT 1 FROM state",
                            "SELECT 1 FROM kernel_counts", "SELECT 1 FROM meta WHERE key IN ('session', 'finished')"})
        if (has_row(database, sql))
            return "its catalogue is missing";
    return {};
}

std::string contradiction_in_counts(Database& database, const Catalogue& catalogue) {
    // Rows of other kernels are refused where they are read.
    Statement rows(database, "SELECT count(*) FROM kernel_counts");
    return !rows.step() || rows.number(0) == catalogue.kernels.size()
               ? std::string()
               : fmt::format("it has counts of {} kernels, of {}", rows.number(0), catalogue.kernels.size());
}

std::string contradiction_in(const Catalogue& catalogue) {
    if (catalogue.started_unix_ms < 0 || catalogue.started_unix_ms > kLastUnixMs)
        return "it began at a time that no clock shows";
    for (std::size_t i = 0; i < catalogue.kernels.size(); ++i)
        if (std::string why = kernel_contradiction(catalogue.kernels[i], i, catalogue); !why.empty())
            return why;
    for (std::size_t i = 0; i < catalogue.copies.size(); ++i)
        if (std::string why = copy_contradiction(catalogue.copies[i], i, catalogue); !why.empty())
            return why;
    for (std::size_t i = 0; i < catalogue.sites.size(); ++i) {
        const Site& site = catalogue.sites[i];
        if (site.id != i + 1)
            return fmt::format("site {} stands where site {} belongs", site.id, i + 1);
        if (catalogue.kernel(site.kernel_id) == nullptr)
            return fmt::format("site {} is in kernel {}, of {}", site.id, site.kernel_id, catalogue.kernels.size());
    }
    for (const auto& probe : catalogue.probes)
        if (std::max(probe.sites, probe.kernels) > kMostOfAnything)
            return fmt::format("probe {} has a figure that no probe can have", probe.probe);
    for (const auto& finding : catalogue.findings)
        if (finding.kernel_id > catalogue.kernels.size() || finding.site_id > catalogue.sites.size())
            return fmt::format("finding {} is of a kernel or site that its catalogue lacks", finding.id);
    return {};
}

std::string contradiction_in(const SessionView& view, bool finished) {
    if (std::string why = totals_contradiction(view); !why.empty())
        return why;
    for (std::size_t i = 0; i < view.counts.size(); ++i) {
        const KernelCounts& counts = view.counts[i];
        if (std::string why = launches_contradiction(
                "kernel", i,
                {counts.launches, counts.instrumented, counts.captured, counts.left_out, counts.banked,
                 counts.former.busy, counts.former.no_source, counts.former.changed, counts.former.refused});
            !why.empty())
            return why;
        if (finished && counts.instrumented > counts.launches + kUnevenly)
            return fmt::format("kernel {} has {} instrumented launches of {}", i + 1, counts.instrumented,
                               counts.launches);
    }
    for (std::size_t i = 0; i < view.copies.size(); ++i) {
        const CopyCounts& counts = view.copies[i];
        if (std::string why =
                launches_contradiction("copy", i,
                                       {counts.launches, counts.banked, counts.former.busy, counts.former.no_source,
                                        counts.former.changed, counts.former.refused});
            !why.empty())
            return why;
    }
    for (std::size_t i = 0; i < view.copy_times.size(); ++i) {
        const LaunchTimes& times = view.copy_times[i];
        if (times.log_ratio_squares < 0)
            return fmt::format("copy {} has times whose squares are negative", i + 1);
        if (std::string why = launches_contradiction("copy", i, {times.pairs, times.single_launches}); !why.empty())
            return why;
    }
    return {};
}

std::string contradiction_in_series(Database& database, const Catalogue& catalogue) {
    Statement negative(database, "SELECT id FROM series WHERE kernel < 0 OR site < 0 OR clock < 0 LIMIT 1");
    if (negative.step())
        return fmt::format("series {} is of a kernel, site or clock below 0", negative.integer(0));
    Statement other(database,
                    "SELECT id FROM series WHERE typeof(kernel) <> 'integer' OR typeof(site) <> 'integer' OR "
                    "typeof(clock) <> 'integer' LIMIT 1");
    if (other.step())
        return fmt::format("series {} has a kernel, site or clock that is no number", other.integer(0));
    // Kernels that a program writes into its own keys are the program's.
    Statement unknown(database, "SELECT id, kernel FROM series WHERE map = 'session' AND kernel > ?1 LIMIT 1");
    unknown.with(static_cast<std::uint64_t>(catalogue.kernels.size()));
    if (unknown.step())
        return fmt::format("series {} is of kernel {}, of {}", unknown.integer(0), unknown.integer(1),
                           catalogue.kernels.size());
    return {};
}

std::string SampleTimes::contradiction(Database& database) {
    if (has_row(database, "SELECT 1 FROM samples WHERE id < 1"))
        return "it has samples before the first one";
    Statement rows(database, "SELECT id, monotonic_ns, unix_ns FROM samples WHERE id > ?1 ORDER BY id");
    rows.with(last_sample_);
    while (rows.step()) {
        const std::int64_t ns = rows.integer(1);
        if (ns < last_ns_)
            return fmt::format("the time of sample {} runs backwards", rows.integer(0));
        if (!rows.is_integer(1) || !is_calendar_time(rows, 2))
            return fmt::format("sample {} is of a time that no clock shows", rows.integer(0));
        last_sample_ = rows.integer(0);
        last_ns_ = ns;
    }
    return {};
}

}  // namespace egpu::host
