// SPDX-License-Identifier: Apache-2.0
#include "cli/session_info.hpp"

#include <time.h>

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "cli/terminal.hpp"
#include "host/findings/findings.hpp"
#include "host/findings/metrics.hpp"
#include "host/record/recording.hpp"
#include "host/series/live_source.hpp"

namespace egpu::cli {
namespace {

using nlohmann::ordered_json;

struct Opened {
    std::unique_ptr<host::Source> source;
    std::optional<host::RecordingFacts> file;
};

Result<Opened> open(const std::string& what) {
    Opened opened;
    if (names_file(what)) {
        auto recording = host::Recording::open(what);
        if (!recording)
            return recording.errors();
        opened.file = (*recording)->facts();
        opened.source = std::move(*recording);
        return opened;
    }
    auto session = host::LiveSource::open(what);
    if (!session)
        return session.errors();
    opened.source = std::move(*session);
    opened.source->take_samples();
    return opened;
}

std::string state_words(const host::Source& source) {
    if (source.state() != host::SourceState::live)
        return source.state_text();
    return source.state_text().empty() ? "live" : "live; " + source.state_text();
}

struct Traffic {
    std::optional<std::uint64_t> read, written;
    bool at_least = false;
};

Traffic traffic_of(const host::SessionView& view) {
    Traffic sum;
    for (const auto& [kernel, metrics] : host::kernel_metrics(view)) {
        if (metrics.read_bytes)
            sum.read = sum.read.value_or(0) + *metrics.read_bytes;
        if (metrics.written_bytes)
            sum.written = sum.written.value_or(0) + *metrics.written_bytes;
        sum.at_least = sum.at_least || metrics.at_least;
    }
    return sum;
}

std::string bytes_text(const std::optional<std::uint64_t>& bytes, bool at_least) {
    return bytes ? (at_least ? "at least " : "") + format_bytes(static_cast<double>(*bytes)) : "n/a";
}

std::map<std::string, std::uint64_t> kernel_states(const host::SessionView& view) {
    std::map<std::string, std::uint64_t> states;
    for (const auto& kernel : view.catalogue.kernels)
        ++states[host::to_words(kernel.state)];
    return states;
}

double observed_seconds(const host::SessionView& view) {
    const std::int64_t started = view.catalogue.started_unix_ms * 1'000'000;
    return view.unix_ns > started && started != 0 ? static_cast<double>(view.unix_ns - started) / 1e9 : 0;
}

void print_text(const host::Source& source, const std::optional<host::RecordingFacts>& file) {
    const auto& view = source.view();
    const auto line = [](const char* what, const std::string& text) {
        fmt::print("  {:<12} {}\n", what, printable(text));
    };
    fmt::print("session {}: {}\n", view.catalogue.session,
               printable(fmt::format("{}", fmt::join(view.catalogue.command, " "))));
    line("state", state_words(source));
    line("started", fmt::format("{}, observed for {:.1f} s, by egpu {}", local_time(view.catalogue.started_unix_ms),
                                observed_seconds(view), view.catalogue.egpu_version));
    line("application",
         view.agent_pid == 0 ? "has not used CUDA" : fmt::format("{}, pid {}", view.program, view.agent_pid));
    if (!view.device_name.empty())
        line("device", fmt::format("{} (sm_{}), {} SMs{}", view.device_name, view.compute_capability, view.sm_count,
                                   view.simulated ? ", simulated" : ""));
    for (const auto& probe : view.catalogue.probes)
        line("probe",
             fmt::format("{}/{} {}: {}, {} in {}{}{}{}", probe.probe, probe.program, probe.section,
                         host::to_words(probe.state), counted(probe.sites, "site"), counted(probe.kernels, "kernel"),
                         probe.sampling.is_all() ? "" : ", in " + to_words(probe.sampling),
                         probe.reason.empty() ? "" : ": ", probe.reason));
    std::vector<std::string> states;
    for (const auto& [state, count] : kernel_states(view))
        states.push_back(fmt::format("{} {}", format_count(count), state));
    line("kernels", states.empty() ? "none loaded" : fmt::format("{}", fmt::join(states, ", ")));
    line("launches", fmt::format("{}, {} of them instrumented", format_count(view.launches() + view.unknown_launches),
                                 format_count(view.instrumented_launches())));
    const Traffic traffic = traffic_of(view);
    line("requested", fmt::format("{} read, {} written", bytes_text(traffic.read, traffic.at_least),
                                  bytes_text(traffic.written, traffic.at_least)));
    std::vector<std::string> dropped{counted(view.refused_keys(), "key")};
    if (view.refused_lookups() != 0)
        dropped.push_back(counted(view.refused_lookups(), "look-up"));
    if (view.dropped_records() != 0)
        dropped.push_back(counted(view.dropped_records(), "record"));
    line("dropped", fmt::format("{}", fmt::join(dropped, ", ")));
    line("GPU memory", fmt::format("{} of egpu", format_memory(view.gpu_memory_bytes)));
    line("findings", fmt::format("{}; {}", host::find_all(view).size(), counted(source.messages().size(), "message")));
    if (file)
        line("recording", fmt::format("{} samples, one in {} ms, up to {}; schema {}, {}", format_count(file->samples),
                                      file->interval_ms, local_time(file->last_unix_ns / 1'000'000), file->schema,
                                      file->summary.empty() ? "without a summary" : "with its summary"));
}

template <typename Value>
ordered_json or_null(const std::optional<Value>& value) {
    return value ? ordered_json(*value) : ordered_json(nullptr);
}

void print_json(const host::Source& source, const std::optional<host::RecordingFacts>& file) {
    const auto& view = source.view();
    const Traffic traffic = traffic_of(view);
    auto probes = ordered_json::array();
    for (const auto& probe : view.catalogue.probes)
        probes.push_back({{"probe", probe.probe},
                          {"program", probe.program},
                          {"section", probe.section},
                          {"state", host::to_name(probe.state)},
                          {"sites", probe.sites},
                          {"kernels", probe.kernels},
                          {"sample", probe.sampling.is_all()
                                         ? ordered_json(nullptr)
                                         : ordered_json({{to_name(probe.sampling.unit), probe.sampling.one_in}})}});
    ordered_json whole = {
        {"schema", "egpu/session/1"},
        {"session", view.catalogue.session},
        {"state", source.state() == host::SourceState::live      ? "live"
                  : source.state() == host::SourceState::damaged ? "damaged"
                                                                 : "ended"},
        {"state_text", source.state_text().empty() ? ordered_json(nullptr) : ordered_json(source.state_text())},
        {"egpu_version", view.catalogue.egpu_version},
        {"command", view.catalogue.command},
        {"program", view.program.empty() ? ordered_json(nullptr) : ordered_json(view.program)},
        {"pid", view.agent_pid == 0 ? ordered_json(nullptr) : ordered_json(view.agent_pid)},
        {"started_unix_ms", view.catalogue.started_unix_ms},
        {"stopped_unix_ms",
         view.catalogue.stopped_unix_ms == 0 ? ordered_json(nullptr) : ordered_json(view.catalogue.stopped_unix_ms)},
        {"observed_s", observed_seconds(view)},
        {"device", view.device_name.empty() ? ordered_json(nullptr) : ordered_json(view.device_name)},
        {"simulated", view.simulated},
        {"probes", probes},
        {"kernels", view.catalogue.kernels.size()},
        {"launches", view.launches()},
        {"launches_instrumented", view.instrumented_launches()},
        {"read_bytes", or_null(traffic.read)},
        {"written_bytes", or_null(traffic.written)},
        {"at_least", traffic.at_least},
        {"dropped_keys", view.refused_keys()},
        {"dropped_lookups", view.refused_lookups()},
        {"dropped_records", view.dropped_records()},
        {"gpu_memory_bytes", view.gpu_memory_bytes},
        {"findings", host::find_all(view).size()},
        {"messages", source.messages().size()}};
    if (file)
        whole["recording"] = {{"schema", file->schema},           {"samples", file->samples},
                              {"interval_ms", file->interval_ms}, {"last_unix_ns", file->last_unix_ns},
                              {"finished", file->finished},       {"has_summary", !file->summary.empty()}};
    fmt::print("{}\n", whole.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

}  // namespace

bool names_file(const std::string& what) {
    return !what.empty() && !std::all_of(what.begin(), what.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string local_time(std::int64_t unix_ms) {
    if (unix_ms == 0)
        return "n/a";
    const time_t seconds = unix_ms / 1000;
    tm parts{};
    ::localtime_r(&seconds, &parts);
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                       parts.tm_hour, parts.tm_min, parts.tm_sec);
}

int print_session_info(const std::string& what, bool json) {
    const auto opened = open(what);
    if (!opened) {
        print_errors(opened.errors());
        return kEnvironment;
    }
    if (json)
        print_json(*opened->source, opened->file);
    else
        print_text(*opened->source, opened->file);
    return kYes;
}

}  // namespace egpu::cli
