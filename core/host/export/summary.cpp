// SPDX-License-Identifier: Apache-2.0
#include "host/export/summary.hpp"

#include <time.h>

#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/version.hpp"
#include "host/export/metrics_json.hpp"
#include "host/export/overhead_json.hpp"
#include "host/findings/findings.hpp"
#include "host/findings/overhead.hpp"
#include "host/view/map_users.hpp"

namespace egpu::host {
namespace {

using nlohmann::ordered_json;

std::string iso_time(std::int64_t unix_ms) {
    const time_t seconds = unix_ms / 1000;
    tm parts{};
    ::gmtime_r(&seconds, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                       parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, unix_ms % 1000);
}

template <typename T>
ordered_json or_null(const std::optional<T>& value) {
    return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json text_or_null(const std::string& text) {
    return text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

ordered_json figures_json(const Figures& figures) {
    return {{"original", or_null(figures.original)},
            {"reassembled", or_null(figures.reassembled)},
            {"instrumented", or_null(figures.instrumented)}};
}

ordered_json kernel_json(const SessionView& view, const std::vector<Overhead>& overheads, std::size_t index) {
    const Kernel& kernel = view.catalogue.kernels[index];
    const KernelCounts counts = index < view.counts.size() ? view.counts[index] : KernelCounts{};
    const bool instrumented = kernel.state == KernelState::instrumented;
    return {{"id", kernel.id},
            {"name", kernel.name},
            {"signature", kernel.signature},
            {"mangled", kernel.mangled},
            {"module", text_or_null(kernel.module)},
            {"device", kernel.device},
            {"state", to_name(kernel.state)},
            {"backend", instrumented ? ordered_json("ptx") : ordered_json(nullptr)},
            {"reason", text_or_null(kernel.reason)},
            {"launches", counts.launches},
            {"launches_instrumented", counts.instrumented},
            {"launches_left_out", counts.left_out},
            {"launches_constants_in_bank", counts.banked},
            {"launches_former",
             {{"all", counts.former.all()},
              {"graph_busy", counts.former.busy},
              {"graph_gone", counts.former.no_source},
              {"graph_changed", counts.former.changed},
              {"refused", counts.former.refused}}},
            {"gpu_time_ns", nullptr},
            {"overhead", overhead_json(overheads, kernel.id)},
            {"registers", figures_json(kernel.registers)},
            {"spill_bytes", figures_json(kernel.spill_bytes)},
            {"local_bytes", figures_json(kernel.local_bytes)},
            {"resident_warps", figures_json(kernel.resident_warps())},
            {"proof", to_name(kernel.proof)},
            {"proof_reason", text_or_null(kernel.proof_reason)},
            {"notes", kernel.notes}};
}

ordered_json session_json(const SessionView& view) {
    return {{"id", view.catalogue.session},
            {"egpu_version", version()},
            {"started_at", iso_time(view.catalogue.started_unix_ms)},
            {"simulated", view.device_name.empty() ? ordered_json(nullptr) : ordered_json(view.simulated)},
            {"probe_sets", view.catalogue.probe_sets},
            {"backend", {"ptx"}},
            {"sample", {{"launches", view.catalogue.sample_launches}}},
            {"launches",
             {{"skip", view.catalogue.launch_skip},
              {"count",
               view.catalogue.launch_count == 0 ? ordered_json(nullptr) : ordered_json(view.catalogue.launch_count)}}},
            {"measure_overhead", view.catalogue.measure_overhead},
            {"gpu_memory_bytes",
             view.device_name.empty() ? ordered_json(nullptr) : ordered_json(view.most_gpu_memory_bytes)},
            {"probe_changes", view.catalogue.changes},
            {"complete", view.complete()}};
}

/// Calls of the application that egpu held for over a millisecond; null where it used no CUDA.
ordered_json waited_json(const SessionView& view) {
    if (view.agent_pid == 0)
        return nullptr;
    return {{"calls", view.waits}, {"total_ns", view.waited_ns}, {"longest_ns", view.longest_wait_ns}};
}

ordered_json devices_json(const SessionView& view) {
    ordered_json devices = ordered_json::array();
    if (!view.device_name.empty())
        devices.push_back(
            {{"index", 0},
             {"name", view.device_name},
             {"compute_capability", fmt::format("{}.{}", view.compute_capability / 10, view.compute_capability % 10)},
             {"dram_peak_bytes_per_s", nullptr}});
    return devices;
}

ordered_json probe_json(const Probe& probe) {
    const auto time_or_null = [](std::int64_t unix_ms) {
        return unix_ms == 0 ? ordered_json(nullptr) : ordered_json(iso_time(unix_ms));
    };
    return {{"probe", probe.probe},
            {"program", probe.program},
            {"state", to_name(probe.state)},
            {"sites", probe.sites},
            {"kernels", probe.kernels},
            {"reason", text_or_null(probe.reason)},
            {"notes", probe.notes},
            {"sample", probe.sampling.is_all() ? ordered_json(nullptr)
                                               : ordered_json({{to_name(probe.sampling.unit), probe.sampling.one_in}})},
            {"attached_at", time_or_null(probe.attached_unix_ms)},
            {"detached_at", time_or_null(probe.detached_unix_ms)}};
}

/// Numbers are null where no program ran that sends to it, and at least these where there was no copy at the end.
ordered_json ring_json(const SessionView& view, const MapData& data) {
    const bool came = data.ring->records != 0 || data.ring->dropped != 0;  // also of a launch that never ended
    const std::string why = came                                ? ""
                            : view.instrumented_launches() == 0 ? "no launch was instrumented"
                                                                : why_not_counted(view, data);
    const auto known = [&](std::uint64_t number) { return why.empty() ? ordered_json(number) : ordered_json(nullptr); };
    ordered_json ring = {{"map", data.map->name},
                         {"records", known(data.ring->records)},
                         {"dropped", known(data.ring->dropped)},
                         {"bytes_left_on_gpu", known(data.ring->behind)},
                         {"damaged", data.ring->damaged}};
    if (!why.empty())
        ring["reason"] = why;
    else if (!view.drained)
        ring["bound"] = "at_least";
    return ring;
}

}  // namespace

std::string summary_json(const SessionView& view, const RunFacts& facts) {
    ordered_json whole;
    whole["schema"] = kSummarySchema;
    whole["session"] = session_json(view);
    whole["application"] = {
        {"command", view.catalogue.command},
        {"pid", facts.application_pid},
        {"exit_code", facts.ending.signal ? ordered_json(nullptr) : ordered_json(facts.ending.exit_code)},
        {"signal", or_null(facts.ending.signal)},
        {"elapsed_s", facts.elapsed_s},
        {"waited", waited_json(view)}};
    whole["devices"] = devices_json(view);
    whole["kernels"] = ordered_json::array();
    const std::vector<Overhead> measured = overheads(view);
    for (std::size_t i = 0; i < view.catalogue.kernels.size(); ++i)
        whole["kernels"].push_back(kernel_json(view, measured, i));
    whole["probes"] = ordered_json::array();
    for (const auto& probe : view.catalogue.probes)
        whole["probes"].push_back(probe_json(probe));
    whole["metrics"] = metrics_json(view);
    whole["findings"] = ordered_json::array();
    for (const auto& finding : find_all(view))
        whole["findings"].push_back({{"id", finding.id},
                                     {"severity", to_name(finding.severity)},
                                     {"plugin", text_or_null(finding.plugin)},
                                     {"kernel", finding.kernel_id},
                                     {"line", text_or_null(finding.place)},
                                     {"text", finding.text}});
    whole["expectations"] = ordered_json::array();
    for (const auto& result : facts.expectations)
        whole["expectations"].push_back(to_json(result));
    whole["ring_buffers"] = ordered_json::array();
    for (const auto& data : view.maps)
        if (data.ring)
            whole["ring_buffers"].push_back(ring_json(view, data));
    whole["dropped_records"] = view.dropped_records();
    whole["refused_keys"] = view.refused_keys();
    whole["refused_lookups"] = view.refused_lookups();
    whole["launches_unknown"] = view.unknown_launches;
    whole["launches_unasked"] = view.unasked_launches;
    whole["launches_not_followed"] = view.not_followed_launches;
    whole["diagnostics"] = view.catalogue.diagnostics;
    for (const auto& text : facts.diagnostics)
        whole["diagnostics"].push_back(text);
    return whole.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace egpu::host
