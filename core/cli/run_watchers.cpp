// SPDX-License-Identifier: Apache-2.0
#include "cli/run_watchers.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/file_names.hpp"
#include "cli/quantities.hpp"
#include "cli/terminal.hpp"
#include "host/export/summary.hpp"
#include "host/series/live_source.hpp"

namespace egpu::cli {
namespace {

constexpr std::uint64_t kShortestIntervalNs = 10'000'000, kLongestIntervalNs = 3'600'000'000'000;

Result<std::string> record_name(const Watching& watching, int pid) {
    return expand_file_name(watching.record, {.pid = pid, .set = watching.set});
}

/// Shells have opened it already: the program's own lines would land in it.
bool is_output(const std::string& file, int descriptor) {
    struct stat named {
    }, open{};
    return descriptor >= 0 && ::stat(file.c_str(), &named) == 0 && ::fstat(descriptor, &open) == 0 &&
           open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/// A name that holds the program's pid is not known before.
bool name_is_known(const Watching& watching) {
    const auto one = record_name(watching, 0), other = record_name(watching, 1);
    return one && other && *one == *other;
}

Result<std::chrono::milliseconds> record_interval(const Watching& watching) {
    const auto interval = parse_duration_ns(watching.record_interval, "--record-interval");
    if (!interval)
        return interval.errors();
    if (*interval < kShortestIntervalNs || *interval > kLongestIntervalNs)
        return error("EGPU-X050",
                     fmt::format("--record-interval {}: it can be 10 ms to 1 hour", watching.record_interval));
    return std::chrono::milliseconds(*interval / 1'000'000);
}

void say_recording_failed(const Diagnostic& problem, bool strict) {
    Diagnostic said = problem;
    said.severity = strict ? Severity::error : Severity::warning;
    said.hints.emplace_back("the program runs on, and is not recorded");
    say(said);
}

}  // namespace

Status RunWatchers::check(const Watching& watching) {
    if (watching.live)
        if (Status terminal = LiveTable::possible(); !terminal)
            return terminal;
    if (const auto interval = record_interval(watching); !interval)
        return interval.errors();
    if (watching.record.empty())
        return ok();
    const auto name = record_name(watching, 0);
    if (!name)
        return name.errors();
    if (is_output(*name, watching.standard_output) || is_output(*name, STDERR_FILENO))
        return error("EGPU-R002", fmt::format("--record {}: the output of this run goes there", *name),
                     "name another file");
    // Another file of that name is a slip of the user: it is said before anything runs.
    if (name_is_known(watching))
        if (Status writable = host::recording_can_be_written(*name);
            !writable && (watching.strict || writable.error().code == "EGPU-R002"))
            return writable;
    return ok();
}

RunWatchers::RunWatchers(const Watching& watching) : watching_(watching) {
    if (watching.live)
        table_ = std::make_unique<LiveTable>();
}

void RunWatchers::watch(const host::Session& session) {
    if (table_ != nullptr)
        table_->watch(session.segment_name());
    if (!watching_.record.empty())
        record(session);
}

void RunWatchers::record(const host::Session& session) {
    const auto name = record_name(watching_, session.application());
    auto source = host::LiveSource::open_segment(session.segment_name());
    if (!name || !source) {
        good_ = false;
        return say_recording_failed(name ? source.error() : name.error(), watching_.strict);
    }
    const bool strict = watching_.strict;
    auto recorder = host::Recorder::start(
        {.file = *name,
         .interval = *record_interval(watching_),
         .on_problem = [strict](const Diagnostic& problem) { say_recording_failed(problem, strict); }},
        std::move(*source));
    if (!recorder) {
        good_ = false;
        return say_recording_failed(recorder.error(), watching_.strict);
    }
    file_ = *name;
    recorder_ = std::move(*recorder);
}

bool RunWatchers::finish(const host::SessionView& view, const host::RunFacts& facts) {
    if (recorder_ == nullptr)
        return good_;
    const Status written = recorder_->finish(view, host::summary_json(view, facts));
    if (!written && !recorder_->had_problem())
        say(written.error());
    recorder_.reset();
    if (!written)
        file_.clear();
    return written.has_value() && good_;
}

}  // namespace egpu::cli
