// SPDX-License-Identifier: Apache-2.0
#include "host/export/expectations.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/patterns.hpp"
#include "base/units.hpp"
#include "host/export/metrics_json.hpp"
#include "host/findings/metrics.hpp"
#include "host/view/map_users.hpp"

namespace egpu::host {
namespace {

using nlohmann::ordered_json;

std::string part_before(const std::string& text, char separator) {
    return text.substr(0, text.find(separator));
}

/// The kernel pattern that an expectation is limited to; "" where it is of all.
std::string kernel_pattern(const Expectation& expectation) {
    for (const auto& [label, value] : expectation.where)
        if (label.value == "kernel")
            return value.value;
    return {};
}

bool concerns(const std::string& pattern, const Kernel& kernel) {
    return pattern.empty() || kernel_pattern_matches(pattern, kernel.mangled);
}

/// True where a metric of the summary is one that is expected of.
bool matches(const ordered_json& metric, const Expectation& expectation, const Catalogue& catalogue) {
    if (metric.at("name") != expectation.metric.value)
        return false;
    return std::all_of(expectation.where.begin(), expectation.where.end(), [&](const auto& wanted) {
        const auto found = metric.find(wanted.first.value);
        if (found == metric.end())
            return false;
        if (wanted.first.value == "kernel") {
            const Kernel* kernel = catalogue.kernel(found->template get<std::uint64_t>());
            return kernel != nullptr && concerns(wanted.second.value, *kernel);
        }
        return found->is_string() ? *found == wanted.second.value : found->dump() == wanted.second.value;
    });
}

/// A probe's programs take the kernel, if it were only within reach.
bool asked_for(const SessionView& view, const std::string& probe, const Kernel& kernel) {
    return std::any_of(view.catalogue.probes.begin(), view.catalogue.probes.end(), [&](const Probe& each) {
        return each.probe == probe && all_take(each.selections, kernel.mangled);
    });
}

/// Launches of kernels that the probe was to run in and that could not be instrumented; "" where there is none.
std::string out_of_reach(const SessionView& view, const std::string& probe, const std::string& pattern) {
    for (std::size_t i = 0; i < view.catalogue.kernels.size(); ++i) {
        const Kernel& kernel = view.catalogue.kernels[i];
        const bool lost = kernel.state == KernelState::no_ptx || kernel.state == KernelState::refused ||
                          kernel.state == KernelState::failed;
        if (lost && view.counts[i].launches != 0 && view.coverage(probe, kernel.id).covered == 0 &&
            concerns(pattern, kernel) && asked_for(view, probe, kernel))
            return fmt::format("{} launches of {} were not observed: {}", format_count(view.counts[i].launches),
                               kernel.name, kernel.reason);
    }
    return {};
}

/// Launches of the probe's kernels that it did not see and that nobody chose to leave out.
std::string missed(const SessionView& view, const std::string& probe, const std::string& pattern) {
    for (std::size_t i = 0; i < view.catalogue.kernels.size(); ++i) {
        const Kernel& kernel = view.catalogue.kernels[i];
        const Coverage coverage = view.coverage(probe, kernel.id);
        if (!concerns(pattern, kernel) || coverage.covered == 0)
            continue;
        const bool chosen = view.catalogue.sample_launches <= 1 && !view.catalogue.measure_overhead;
        const std::uint64_t left_out = chosen ? view.counts[i].left_out : 0;
        if (coverage.covered + left_out < coverage.launches)
            return fmt::format("counted in {} of {} launches of {}", format_count(coverage.covered),
                               format_count(coverage.launches), kernel.name);
    }
    return {};
}

std::string full_map(const SessionView& view, const std::string& probe) {
    for (const auto& data : view.maps)
        if (data.is_full() && part_before(data.map->name, '/') == probe)
            return fmt::format("map {} was full", data.map->name);
    return {};
}

/// A map and its field that count a metric.
struct Counter {
    const MapData* data = nullptr;
    const ebpf::TypeField* field = nullptr;
};

std::vector<Counter> counters_of(const SessionView& view, const std::string& metric) {
    std::vector<Counter> counters;
    for (const auto& data : view.maps)
        for (const auto& field : data.map->definition.value.fields)
            if (metric_name(data, field) == metric)
                counters.push_back({&data, &field});
    return counters;
}

/// What a probe's rates and shares are made of.
std::vector<Counter> counters_of_derived(const SessionView& view, const std::string& probe) {
    std::vector<Counter> counters;
    for (const auto& data : view.maps)
        if (data.probe() == probe && feeds_metrics(view, data))
            counters.push_back({&data, nullptr});
    return counters;
}

/// Programs that were refused and would have counted some of it, too: "program on_exit was refused"; "" where none.
std::string refused_part(const SessionView& view, const std::vector<Counter>& counters) {
    for (const auto& counter : counters)
        if (const auto refused = refused_users(view, *counter.data); !refused.empty())
            return refused_text(refused);
    return {};
}

/// Why none of its counters counted; "" where one did.
std::string nothing_counted(const SessionView& view, const std::vector<Counter>& counters) {
    std::string why;
    for (const auto& counter : counters) {
        const std::string reason = why_not_counted(view, *counter.data, counter.field);
        if (reason.empty())
            return {};
        why = reason;
    }
    return why;
}

/// The note of a kernel that was launched and of which a program of the probe counts a part; "" where there is none.
std::string counted_in_part(const SessionView& view, const std::string& probe, const std::string& pattern) {
    for (const Probe& program : view.catalogue.probes)
        for (const std::uint32_t id : program.in_part) {
            if (program.probe != probe || id < 1 || id > view.catalogue.kernels.size())
                continue;
            const Kernel& kernel = view.catalogue.kernels[id - 1];
            if (!concerns(pattern, kernel) || view.counts[id - 1].launches == 0)
                continue;
            const auto note = std::find_if(program.notes.begin(), program.notes.end(), [&](const std::string& text) {
                return text.starts_with(kernel.name + ": ");
            });
            return note != program.notes.end() ? *note : kernel.name + " is counted in part";
        }
    return {};
}

/// "counted in 1 in 64 warps"; "" where all are.
std::string sampled_part(const SessionView& view, const std::string& probe) {
    const Sampling sampling = view.catalogue.sampling_of(probe);
    return sampling.is_all() ? std::string() : fmt::format("counted in {}", to_words(sampling));
}

constexpr const char* kNoLastCopy = "the maps were not copied at the end";

/// Why a probe's totals may be more than they show; "" where they are exact.
std::string why_at_least(const SessionView& view, const std::string& probe, const std::string& pattern) {
    if (!view.drained)
        return kNoLastCopy;
    if (view.unknown_launches != 0)
        return fmt::format("{} launches were of kernels that egpu has not seen", format_count(view.unknown_launches));
    if (view.unasked_launches != 0 || view.partly_counted_graphs != 0 || view.other_processes != 0)
        return "not every launch is known";
    for (auto why : {full_map(view, probe), out_of_reach(view, probe, pattern), missed(view, probe, pattern),
                     sampled_part(view, probe), counted_in_part(view, probe, pattern)})
        if (!why.empty())
            return why;
    return {};
}

/// Why nothing at all is known of a probe; "" where it ran.
std::string why_unknown(const SessionView& view, const std::string& probe, const std::string& pattern) {
    if (view.agent_pid == 0)
        return "the application used no CUDA";
    bool launched = false, covered = false;
    for (std::size_t i = 0; i < view.catalogue.kernels.size(); ++i) {
        const Kernel& kernel = view.catalogue.kernels[i];
        if (!concerns(pattern, kernel))
            continue;
        launched = launched || view.counts[i].launches != 0;
        covered = covered || view.coverage(probe, kernel.id).covered != 0;
    }
    if (!launched)
        return pattern.empty() ? "no kernel was launched" : fmt::format("no launched kernel matches '{}'", pattern);
    if (covered)
        return {};
    const std::string lost = out_of_reach(view, probe, pattern);
    return lost.empty() ? fmt::format("probe {} ran nowhere", probe) : lost;
}

bool holds(Bound bound, Quantity value, Quantity limit) {
    return bound == Bound::at_least ? value >= limit : bound == Bound::at_most ? value <= limit : value == limit;
}

void decide(ExpectationResult& result) {
    const auto& expectation = result.expectation;
    result.passed = result.value && holds(expectation.bound, *result.value, expectation.value.value) &&
                    (!result.at_least || expectation.bound == Bound::at_least);
}

/// Of a counter: all that match, together.
void add_up(ExpectationResult& result, const ordered_json& metrics, const SessionView& view) {
    const Expectation& expectation = result.expectation;
    const std::string probe = part_before(expectation.metric.value, '.');
    const std::string pattern = kernel_pattern(expectation);
    const auto counters = counters_of(view, expectation.metric.value);
    result.reason = why_unknown(view, probe, pattern);
    if (result.reason.empty())
        result.reason = nothing_counted(view, counters);
    if (!result.reason.empty())
        return;
    Quantity sum = 0;
    for (const auto& metric : metrics) {
        // What one of several maps lacks makes a sum of the others, at least; it has no labels to match.
        if (metric.contains("reason") || !matches(metric, expectation, view.catalogue))
            continue;
        const auto value = metric.find("value");
        if (value == metric.end() || value->is_null()) {
            result.reason = "a value of it is not known";
            return;
        }
        // Whole numbers keep all their 64 bits.
        sum += value->is_number_unsigned()  ? static_cast<Quantity>(value->get<std::uint64_t>())
               : value->is_number_integer() ? static_cast<Quantity>(value->get<std::int64_t>())
                                            : static_cast<Quantity>(value->get<double>());
    }
    // A key that is not there was never counted: 0, where all was seen.
    result.value = sum;
    result.reason = refused_part(view, counters);
    if (result.reason.empty())
        result.reason = why_at_least(view, probe, pattern);
    result.at_least = !result.reason.empty();
}

/// Of a rate or a share: the one that is farthest from what is expected.
void take_worst(ExpectationResult& result, const ordered_json& metrics, const SessionView& view) {
    const Expectation& expectation = result.expectation;
    const std::string probe = part_before(expectation.metric.value, '.');
    const std::string pattern = kernel_pattern(expectation);
    result.reason = why_unknown(view, probe, pattern);
    if (result.reason.empty())
        result.reason = out_of_reach(view, probe, pattern);
    if (result.reason.empty())
        result.reason = refused_part(view, counters_of_derived(view, probe));
    if (!result.reason.empty())
        return;
    const auto distance = [&](Quantity value) {
        const Quantity from = value - expectation.value.value;
        return expectation.bound == Bound::at_least  ? -from
               : expectation.bound == Bound::at_most ? from
               : from < 0                            ? -from
                                                     : from;
    };
    for (const auto& metric : metrics) {
        if (!matches(metric, expectation, view.catalogue) || metric.at("value").is_null())
            continue;
        const auto value = static_cast<Quantity>(metric.at("value").get<double>());
        if (result.value && distance(value) <= distance(*result.value))
            continue;
        result.value = value;
        result.at_least = metric.contains("bound");
    }
    if (result.at_least)
        result.reason = "of the time of a launch only an upper bound is known";
    if (result.value)
        return;
    const bool of_time = expectation.metric.value.ends_with(".kernel_throughput");
    const std::string sampled = sampled_part(view, probe);
    result.reason = !of_time           ? "no launch gave a value"
                    : !sampled.empty() ? sampled + ": no rate is made of that"
                    : view.simulated   ? "the simulated GPU knows no time"
                                       : "no launch was timed";
}

void take_session_figure(ExpectationResult& result, const SessionView& view, double elapsed_s) {
    const std::string name = result.expectation.metric.value.substr(std::string_view("session.").size());
    if (name == "elapsed") {
        result.value = static_cast<Quantity>(elapsed_s) * 1e9L;
        return;
    }
    if (view.agent_pid == 0) {
        result.reason = "the application used no CUDA";
        return;
    }
    std::uint64_t launched = 0, instrumented = 0;
    for (const auto& counts : view.counts) {
        launched += counts.launches != 0 ? 1 : 0;
        instrumented += counts.instrumented != 0 ? 1 : 0;
    }
    const std::pair<std::string_view, std::uint64_t> figures[] = {
        {"launches", view.launches()},
        {"launches_instrumented", view.instrumented_launches()},
        {"launches_left_out", view.left_out_launches()},
        {"launches_unknown", view.unknown_launches},
        {"launches_unasked", view.unasked_launches},
        {"launches_not_followed", view.not_followed_launches},
        {"kernels", launched},
        {"kernels_instrumented", instrumented},
        {"refused_keys", view.refused_keys()},
        {"refused_lookups", view.refused_lookups()},
        {"dropped_records", view.dropped_records()},
        {"gpu_memory", view.most_gpu_memory_bytes},
        {"waited", view.waited_ns},
        {"longest_wait", view.longest_wait_ns}};
    for (const auto& [known, value] : figures)
        if (known == name)
            result.value = static_cast<Quantity>(value);
    if (!result.value)
        result.reason = "the session has no such figure";
    const bool is_told_by_gpu = name == "refused_lookups" || name == "dropped_records";
    if (is_told_by_gpu && instrumented == 0 && *result.value == 0) {
        result.value.reset();
        result.reason = "no launch was instrumented";
    } else if (is_told_by_gpu && !view.drained) {
        result.at_least = true;
        result.reason = kNoLastCopy;
    }
    if (view.other_processes != 0 && name.starts_with("launches")) {
        result.at_least = true;
        result.reason = "other processes of the application were not observed";
    }
}

std::string where_text(const Expectation& expectation) {
    std::string text;
    for (const auto& [label, value] : expectation.where)
        text += fmt::format("{}{}: {}", text.empty() ? " {" : ", ", label.value, value.value);
    return text.empty() ? text : text + "}";
}

/// A figure that is no sum; a map's field of the same name is one.
bool is_derived(const std::string& name, const ordered_json& metrics) {
    return (name.ends_with(".kernel_throughput") || name.ends_with(".sectors_per_load") ||
            name.ends_with(".sector_use")) &&
           std::none_of(metrics.begin(), metrics.end(),
                        [&](const auto& metric) { return metric.at("name") == name && metric.contains("map"); });
}

}  // namespace

std::string ExpectationResult::text() const {
    const Quantity bound = expectation.value.value;
    const auto [measured, expected] = format_apart(value.value_or(bound), bound, expectation.dimension);
    std::string text = fmt::format("{}{} is {}{}", expectation.metric.value, where_text(expectation),
                                   value && at_least ? "at least " : "", value ? measured : "n/a");
    if (!reason.empty())
        text += fmt::format(" ({})", reason);
    return text + fmt::format(", expected {} {}", to_words(expectation.bound), expected);
}

std::vector<ExpectationResult> evaluate(const std::vector<Expectation>& expectations, const SessionView& view,
                                        double elapsed_s) {
    std::vector<ExpectationResult> results;
    if (expectations.empty())
        return results;
    const ordered_json metrics = metrics_json(view);
    for (const auto& expectation : expectations) {
        ExpectationResult& result = results.emplace_back();
        result.expectation = expectation;
        const std::string& name = expectation.metric.value;
        if (name.starts_with("session."))
            take_session_figure(result, view, elapsed_s);
        else if (is_derived(name, metrics))
            take_worst(result, metrics, view);
        else
            add_up(result, metrics, view);
        decide(result);
    }
    return results;
}

ordered_json to_json(const ExpectationResult& result) {
    const auto& expectation = result.expectation;
    // A number that JSON readers hold exactly where it is whole and not too large.
    const auto number = [](Quantity value) {
        const bool whole = value >= 0 && value < 9007199254740992.0L &&
                           value == static_cast<Quantity>(static_cast<std::uint64_t>(value));
        return whole ? ordered_json(static_cast<std::uint64_t>(value)) : ordered_json(static_cast<double>(value));
    };
    ordered_json where = ordered_json::object();
    for (const auto& [label, value] : expectation.where)
        where[label.value] = value.value;
    return {{"metric", expectation.metric.value},
            {"where", where},
            {to_name(expectation.bound), number(expectation.value.value)},
            {"unit", base_unit(expectation.dimension)},
            {"value", result.value ? number(*result.value) : ordered_json(nullptr)},
            {"complete", result.value && !result.at_least},
            {"passed", result.passed},
            {"reason", result.reason.empty() ? ordered_json(nullptr) : ordered_json(result.reason)},
            {"probe_set", expectation.set}};
}

}  // namespace egpu::host
