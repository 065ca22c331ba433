// SPDX-License-Identifier: Apache-2.0
#include "host/probesets/asked.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"
#include "host/probesets/expected_metrics.hpp"
#include "host/probesets/probe_entry.hpp"
#include "host/probesets/search.hpp"
#include "host/programs/lookup.hpp"

namespace egpu::host {
namespace {

void append(std::vector<Diagnostic>& problems, const std::vector<Diagnostic>& more) {
    problems.insert(problems.end(), more.begin(), more.end());
}

/// What two places say of the whole run must be the same, unless the command line decides.
template <typename T>
void agree(std::optional<Placed<T>>& settled, const std::optional<Placed<T>>& more, bool decided, const char* key,
           const char* option, std::vector<Diagnostic>& problems) {
    if (!more)
        return;
    if (!settled || decided) {
        settled = more;
        return;
    }
    if (!(settled->value == more->value))
        problems.push_back(
            problem_at(more->place, "EGPU-S027", fmt::format("another set says something else of '{}'", key),
                       fmt::format("it is said in {}; {} decides for the run", settled->place.text(), option)));
}

void agree(RunSettings& settled, const RunSettings& more, const DecidedElsewhere& decided,
           std::vector<Diagnostic>& problems) {
    agree(settled.launches, more.launches, decided.launches, "launches", "--launch-skip or --launch-count", problems);
    agree(settled.sample_launches, more.sample_launches, decided.sample_launches, "sample", "--sample launches=1/N",
          problems);
    agree(settled.wait_ns, more.wait_ns, decided.wait, "wait", "--wait", problems);
    agree(settled.gpu_memory_bytes, more.gpu_memory_bytes, decided.gpu_memory, "gpu_memory", "--gpu-memory", problems);
    agree(settled.summary, more.summary, decided.summary, "summary", "--summary", problems);
    agree(settled.record, more.record, decided.record, "record", "--record", problems);
    // One set that wants to be strict makes the run so.
    if (more.strict && (!settled.strict || more.strict->value))
        settled.strict = more.strict;
}

/// Launches are sampled, or chosen, for all probes of a run alike: nullopt where a probe says nothing.
void same_for_all(const std::vector<std::optional<Placed<std::uint32_t>>>& samples, bool decided,
                  std::vector<Diagnostic>& problems) {
    if (decided)
        return;
    const auto said =
        std::find_if(samples.begin(), samples.end(), [](const auto& sample) { return sample && sample->value > 1; });
    if (said == samples.end())
        return;
    const bool all = std::all_of(samples.begin(), samples.end(),
                                 [&](const auto& sample) { return sample && sample->value == (*said)->value; });
    if (!all)
        problems.push_back(
            problem_at((*said)->place, "EGPU-S017", "another sample of launches for each probe is not in this version",
                       "give every probe of the run the same one, or decide with --sample launches=1/N"));
}

/// A copy has two bodies: probes that are not sampled are in both, those that are in one of them.
void one_sampling(const std::vector<LoadedProbe>& probes, const std::vector<Place>& places,
                  std::vector<Diagnostic>& problems) {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < probes.size(); ++i) {
        if (probes[i].sampling.is_all())
            continue;
        if (const auto checked = check_sampling(probes[i]); !checked) {
            const auto& why = checked.error();
            problems.push_back(problem_at(places[i], why.code, why.message, why.hints.front()));
        }
        first = first.value_or(i);
        if (!(probes[*first].sampling == probes[i].sampling))
            problems.push_back(problem_at(
                places[i], "EGPU-S034",
                fmt::format("probe '{}' samples {}, probe '{}' {}: a kernel's copy can choose in one way only",
                            probes[i].name, to_words(probes[i].sampling), probes[*first].name,
                            to_words(probes[*first].sampling)),
                "give those that are sampled the same share of the same unit; others may be unsampled"));
    }
}

struct Asking {
    Asked asked;
    std::vector<std::optional<Placed<std::uint32_t>>> samples;  ///< by probe
    std::vector<Place> sampling_places;                         ///< by probe
    std::vector<Diagnostic> problems;
    DecidedElsewhere decided;
    ebpf::VerifierOptions options;

    void add(LoadedProbe probe, std::optional<Placed<std::uint32_t>> sample,
             const std::optional<Placed<Sampling>>& sampling, const Place& place);
    void add_set(const ReadSet& read);
    void add_what(const std::string& what);
    Result<Asked> finish();
};

void Asking::add(LoadedProbe probe, std::optional<Placed<std::uint32_t>> sample,
                 const std::optional<Placed<Sampling>>& sampling, const Place& place) {
    const bool taken = std::any_of(asked.probes.begin(), asked.probes.end(),
                                   [&](const LoadedProbe& each) { return each.name == probe.name; });
    if (taken) {
        problems.push_back(
            problem_at(place, "EGPU-X023", fmt::format("two probes are named '{}'", probe.name),
                       place.source ? "give one of them another name: name: OTHER" : "rename one of the files"));
        return;
    }
    probe.sampling = decided.sampling ? *decided.sampling : sampling ? sampling->value : Sampling{};
    asked.probes.push_back(std::move(probe));
    samples.push_back(std::move(sample));
    sampling_places.push_back(sampling && !decided.sampling ? sampling->place : place);
}

RunSettings settings_of(const ProbeSet& set) {
    RunSettings settings;
    settings.launches = set.launches;
    settings.wait_ns = set.wait_ns;
    settings.gpu_memory_bytes = set.gpu_memory_bytes;
    settings.strict = set.strict;
    settings.summary = set.summary;
    settings.record = set.record;
    for (const auto& probe : set.probes)
        if (!settings.sample_launches)
            settings.sample_launches = probe.sample_launches;
    return settings;
}

void Asking::add_set(const ReadSet& read) {
    const ProbeSet& set = read.set;
    append(problems, read.problems);
    const auto before = static_cast<std::ptrdiff_t>(asked.probes.size());
    std::vector<std::string> named;
    for (const auto& entry : set.probes) {
        named.push_back(entry_name(entry));
        if (entry.broken)
            continue;
        auto probe = load_entry(entry, set, options);
        if (!probe) {
            append(problems, probe.errors());
            continue;
        }
        add(std::move(*probe), entry.sample_launches, entry.sampling, entry.place);
    }
    // What hangs on a probe that could not be loaded is not looked at: it may be right.
    if (!named.empty() || read.problems.empty())
        append(problems, misplaced_maps(set, named));
    std::vector<const LoadedProbe*> own;
    for (auto each = asked.probes.begin() + before; each != asked.probes.end(); ++each)
        own.push_back(&*each);
    append(problems, check_expectations(set.expectations, own, named));
    asked.expectations.insert(asked.expectations.end(), set.expectations.begin(), set.expectations.end());
    agree(asked.settings, settings_of(set), decided, problems);
    asked.names.push_back(set.name);
}

/// A name may be that of a probe set too: what is said of plugins and programs, with the sets among what there is.
Diagnostic unknown_name(const std::string& what, Diagnostic unknown) {
    unknown.message = fmt::format("no probe set, plugin or program is named '{}'", what);
    const auto begins = [](const char* with) {
        return [with](const std::string& hint) { return hint.starts_with(with); };
    };
    auto names = system_set_files().names();
    const bool has_near = std::any_of(unknown.hints.begin(), unknown.hints.end(), begins("did you mean"));
    if (const auto near = nearest(what, names); !has_near && !near.empty())
        unknown.hints.insert(unknown.hints.begin(), fmt::format("did you mean '{}'?", near));
    const auto programs = probe_names();
    names.insert(names.end(), programs.begin(), programs.end());
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::erase_if(unknown.hints, begins("there are: "));
    unknown.hints.push_back(
        fmt::format("there are: {}; a file ends in .yaml, .so, .bpf.c or .bpf.o", fmt::join(names, ", ")));
    return unknown;
}

void Asking::add_what(const std::string& what) {
    const bool is_file = what.find('/') != std::string::npos || what.find('.') != std::string::npos;
    const auto path = what.ends_with(".yaml") ? std::optional(what) : is_file ? std::nullopt : find_probe_set(what);
    if (path) {
        add_set(read_probe_set(*path, system_set_files()));
        return;
    }
    auto probe = load_probe(what, options);
    if (!probe) {
        append(problems,
               probe.error().code == "EGPU-X021" ? std::vector{unknown_name(what, probe.error())} : probe.errors());
        return;
    }
    asked.names.push_back(probe->name);
    add(std::move(*probe), std::nullopt, std::nullopt, {});
}

Result<Asked> Asking::finish() {
    same_for_all(samples, decided.sample_launches, problems);
    one_sampling(asked.probes, sampling_places, problems);
    if (!problems.empty())
        return std::move(problems);
    return std::move(asked);
}

}  // namespace

Result<Asked> ask_for(const std::vector<std::string>& what, const DecidedElsewhere& decided,
                      const ebpf::VerifierOptions& options) {
    Asking asking{
        .asked = {}, .samples = {}, .sampling_places = {}, .problems = {}, .decided = decided, .options = options};
    for (const auto& each : what)
        asking.add_what(each);
    return asking.finish();
}

Result<Asked> ask_for(const ReadSet& set, const ebpf::VerifierOptions& options) {
    Asking asking{.asked = {}, .samples = {}, .sampling_places = {}, .problems = {}, .decided = {}, .options = options};
    asking.add_set(set);
    return asking.finish();
}

}  // namespace egpu::host
