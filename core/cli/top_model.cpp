// SPDX-License-Identifier: Apache-2.0
#include "cli/top_model.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/names.hpp"
#include "host/findings/metrics.hpp"

namespace egpu::cli {
namespace {

constexpr std::size_t kHistory = 60;
constexpr std::uint64_t kHistoryStepNs = 250'000'000;
constexpr std::size_t kTimes = 21;

std::string state_of(const host::Kernel& kernel, const host::KernelCounts& counts) {
    if (kernel.waiting)
        return kernel.copy == 0 ? "its copy still runs" : "waiting for a quiet moment";
    if (kernel.state == host::KernelState::instrumented) {
        std::string text = fmt::format("instrumented{}", kernel.source.empty() ? "" : " (" + kernel.source + ")");
        return counts.nodes_behind != 0 ? text + fmt::format(", {} graph nodes behind", counts.nodes_behind) : text;
    }
    if (kernel.state == host::KernelState::not_matched)
        return "original code runs" + (kernel.reason.empty() ? "" : ": " + kernel.reason);
    return std::string(host::to_words(kernel.state)) + (kernel.reason.empty() ? "" : ": " + kernel.reason);
}

std::vector<TopProbe> probes_of(const host::SessionView& view) {
    std::vector<TopProbe> probes;
    for (const auto& each : view.catalogue.probes) {
        auto found =
            std::find_if(probes.begin(), probes.end(), [&](const TopProbe& probe) { return probe.name == each.probe; });
        if (found == probes.end()) {
            probes.push_back({.name = each.probe, .state = {}, .remark = {}});
            found = probes.end() - 1;
        }
        const bool detached = each.state == host::ProbeState::detached;
        found->state = host::to_words(each.state);
        found->attached = found->attached || (!detached && each.state != host::ProbeState::refused);
        found->sites += each.sites;
        found->kernels = std::max(found->kernels, each.kernels);
        if (!each.reason.empty())
            found->remark = each.reason;
        else if (detached)
            found->remark = "what it counted stays";
        else if (!each.sampling.is_all())
            found->remark = fmt::format("in {}", to_words(each.sampling));
    }
    return probes;
}

std::string lower(const std::string& text) {
    std::string out;
    for (const char c : text)
        out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

double traffic(const TopRow& row) {
    return row.rates.read || row.rates.written ? row.rates.read.value_or(0) + row.rates.written.value_or(0) : -1;
}

}  // namespace

void TopModel::sample() {
    for (const auto& sample : source_.take_samples()) {
        window_.push(sample, source_.series());
        times_.push_back(sample.monotonic_ns);
        while (times_.size() > kTimes)
            times_.pop_front();
        if (sample.monotonic_ns < next_history_ns_)
            continue;
        next_history_ns_ = sample.monotonic_ns + kHistoryStepNs;
        const auto total = window_.kernel(0, source_.series());
        read_history_.push_back(total.read);
        written_history_.push_back(total.written);
        for (auto* history : {&read_history_, &written_history_})
            while (history->size() > kHistory)
                history->pop_front();
    }
}

TopView TopModel::view() const {
    const host::SessionView& session = source_.view();
    TopView view;
    view.session = session.catalogue.session;
    view.pid = session.agent_pid;
    const auto& command = session.catalogue.command;
    view.program = !session.program.empty() ? session.program
                   : command.empty()        ? ""
                                            : command[0].substr(command[0].rfind('/') + 1);
    view.device = session.device_name;
    view.simulated = session.simulated;
    view.live = source_.state() == host::SourceState::live;
    view.state_text = source_.state_text();
    view.stopped = session.catalogue.stopped_unix_ms != 0;
    view.seconds = static_cast<double>(session.unix_ns / 1'000'000 - session.catalogue.started_unix_ms) / 1e3;
    view.egpu_memory = session.gpu_memory_bytes;
    view.dropped = session.refused_keys() + session.refused_lookups() + session.dropped_records();
    if (times_.size() >= 2 && times_.back() > times_.front())
        view.samples_per_second =
            static_cast<double>(times_.size() - 1) * 1e9 / static_cast<double>(times_.back() - times_.front());
    view.total = window_.kernel(0, source_.series());
    view.read_history = read_history_;
    view.written_history = written_history_;
    view.probes = probes_of(session);
    const auto metrics = session.copy_times.empty() && view.live ? std::map<std::uint32_t, host::KernelMetrics>()
                                                                 : host::kernel_metrics(session);
    for (std::size_t i = 0; i < session.counts.size() && i < session.catalogue.kernels.size(); ++i) {
        if (session.counts[i].launches == 0)
            continue;
        const host::Kernel& kernel = session.catalogue.kernels[i];
        TopRow row;
        row.kernel_id = kernel.id;
        row.name = kernel.name;
        row.state = state_of(kernel, session.counts[i]);
        row.launches = session.counts[i].launches;
        row.rates = window_.kernel(kernel.id, source_.series());
        if (!view.live)
            row.rates = {};  // nothing happens now
        if (const auto found = metrics.find(kernel.id); found != metrics.end()) {
            row.each_ns = found->second.launch_ns;
            row.read_total = found->second.read_bytes;
            row.written_total = found->second.written_bytes;
            row.totals_at_least = found->second.at_least;
        }
        if (row.each_ns && row.rates.launches)
            row.busy = std::min(1.0, *row.each_ns * *row.rates.launches / 1e9);
        view.rows.push_back(std::move(row));
    }
    if (!view.live)
        view.total = {};
    return view;
}

const char* to_words(TopSort sort) {
    switch (sort) {
        case TopSort::traffic:
            return "bytes";
        case TopSort::launches:
            return "launches";
        case TopSort::name:
            return "name";
    }
    return "";
}

std::vector<TopRow> arrange(std::vector<TopRow> rows, TopSort sort, const std::string& filter) {
    const bool glob = filter.find_first_of("*?") != std::string::npos;
    std::erase_if(rows, [&](const TopRow& row) {
        return !(glob ? glob_matches(lower(filter), lower(row.name))
                      : lower(row.name).find(lower(filter)) != std::string::npos);
    });
    std::stable_sort(rows.begin(), rows.end(), [&](const TopRow& left, const TopRow& right) {
        if (sort == TopSort::name)
            return left.name < right.name;
        if (sort == TopSort::traffic && traffic(left) != traffic(right))
            return traffic(left) > traffic(right);
        const double left_rate = left.rates.launches.value_or(-1), right_rate = right.rates.launches.value_or(-1);
        return left_rate != right_rate ? left_rate > right_rate : left.launches > right.launches;
    });
    return rows;
}

}  // namespace egpu::cli
