// SPDX-License-Identifier: Apache-2.0
#include "host/record/writer.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <type_traits>

#include <fmt/format.h>

#include "base/version.hpp"
#include "host/findings/findings.hpp"
#include "host/record/file_begin.hpp"
#include "host/record/recorder.hpp"
#include "host/record/schema.hpp"
#include "segment/access/process.hpp"

namespace egpu::host {
namespace {

namespace fs = std::filesystem;

/// The file is readable at any moment, one file only (no -wal beside it), and is not forced to disk: a killed egpu
/// loses nothing that was committed, a machine that loses its power may.
constexpr const char* kPragmas = "PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; PRAGMA page_size = 4096;";

/// Where files have a size limit (ulimit -f), writing beyond it gives an error, and by default a signal that ends the
/// process: not on this thread while this stands.
class NoSizeSignal {
public:
    NoSizeSignal() {
        ::sigemptyset(&set_);
        ::sigaddset(&set_, SIGXFSZ);
        ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
    }
    ~NoSizeSignal() {
        const timespec none{};
        if (::sigismember(&before_, SIGXFSZ) == 0)
            while (::sigtimedwait(&set_, nullptr, &none) > 0) {
            }
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    NoSizeSignal(const NoSizeSignal&) = delete;
    NoSizeSignal& operator=(const NoSizeSignal&) = delete;

private:
    sigset_t set_, before_;
};

const char* name_of(Severity severity) {
    return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "hint";
}

Diagnostic cannot_write(const std::string& file, const std::string& why) {
    return error("EGPU-R001", fmt::format("{}: {}", file, why), "name a file in a folder that can be written");
}

/// Counts up to the last one that is not 0, by slot: {"7":12,"8":3}.
std::string slots_text(const HistogramSlots& slots) {
    std::string text = "{";
    for (std::size_t i = 0; i < slots.size(); ++i)
        if (slots[i] != 0)
            text += fmt::format("{}\"{}\":{}", text.size() > 1 ? "," : "", i, slots[i]);
    return text + "}";
}

template <typename Value>
std::uint64_t bits_of(const Value& value) {
    if constexpr (std::is_same_v<Value, double>)
        return std::bit_cast<std::uint64_t>(value);
    else
        return static_cast<std::uint64_t>(value);
}

/// "INSERT OR REPLACE INTO t(id, a, b) VALUES(?1, ?2, ?3)", and its table, from a list of members.
template <typename Row, typename Visit>
std::pair<std::string, std::string> sql_of(const char* table, const char* id, Visit visit) {
    std::string columns = id, places = "?1", types = fmt::format("{} INTEGER PRIMARY KEY", id);
    int place = 1;
    const Row row{};
    visit(row, [&](const char* name, const auto& member) {
        columns += fmt::format(", {}", name);
        places += fmt::format(", ?{}", ++place);
        const bool real = std::is_same_v<std::decay_t<decltype(member)>, double>;
        types += fmt::format(", {} {} NOT NULL", name, real ? "REAL" : "INTEGER");
    });
    return {fmt::format("INSERT OR REPLACE INTO {}({}) VALUES({})", table, columns, places),
            fmt::format("CREATE TABLE {}({});", table, types)};
}

const auto kVisitCounts = [](auto& row, auto&& visit) { visit_counts(row, visit); };
const auto kVisitCopy = [](auto& row, auto&& visit) { visit_copy(row, visit); };

std::pair<std::string, std::string> kernel_counts_sql() {
    return sql_of<KernelCounts>("kernel_counts", "kernel", kVisitCounts);
}
std::pair<std::string, std::string> copy_counts_sql() {
    return sql_of<CopyState>("copy_counts", "copy", kVisitCopy);
}

/// Rows whose values differ from what the file holds.
template <typename Row, typename Visit>
void put_changed(Statement& insert, std::size_t index, const Row& row, Visit visit,
                 std::vector<std::vector<std::uint64_t>>& written) {
    std::vector<std::uint64_t> values;
    visit(row, [&](const char*, const auto& member) { values.push_back(bits_of(member)); });
    if (index >= written.size())
        written.resize(index + 1);
    if (written[index] == values)
        return;
    insert.with(static_cast<std::uint64_t>(index + 1));
    int place = 1;
    visit(row, [&](const char*, const auto& member) { insert.bind(++place, member); });
    insert.run();
    written[index] = std::move(values);
}

CopyState copy_state(const SessionView& view, std::size_t index) {
    return {view.copies[index], index < view.copy_times.size() ? view.copy_times[index] : LaunchTimes{}};
}

/// The process that writes the recording now; 0: none does, or it is this one.
std::uint32_t living_writer(const std::string& file) {
    std::error_code failed;
    if (!fs::exists(file, failed))
        return 0;
    Database database(file, Database::Access::read);
    const auto meta = [&](const char* name) {
        Statement statement(database, "SELECT value FROM meta WHERE key = ?1");
        return statement.with(name).step() ? statement.number(0) : 0;
    };
    const auto pid = static_cast<std::uint32_t>(meta("writer_pid"));
    const std::uint64_t start_time = meta("writer_start_time");
    const bool finished = meta("finished") != 0;
    return pid == 0 || finished || pid == static_cast<std::uint32_t>(::getpid()) ||
                   !segment::process_alive(pid, start_time)
               ? 0
               : pid;
}

}  // namespace

Status recording_can_be_written(const std::string& file) {
    std::error_code failed;
    const fs::path path(file);
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    if (fs::is_directory(path, failed))
        return error("EGPU-R001", fmt::format("{} is a folder", file), "name a file in it");
    if (!fs::is_directory(folder, failed))
        return error("EGPU-R001", fmt::format("{}: there is no folder {}", file, folder.string()), "make it first");
    const auto status = fs::symlink_status(path, failed);
    if (fs::exists(status) && !(fs::is_regular_file(path, failed) && can_become_recording(file)))
        return error("EGPU-R002", fmt::format("{} is there, and is no recording of egpu: it is left as it is", file),
                     "name another file, or remove that one");
    if (const auto writer = living_writer(file); writer != 0)
        return error("EGPU-R002", fmt::format("{} is being written by egpu, process {}", file, writer),
                     "name another file");
    // SQLite keeps a journal beside the file, so the folder must be writable too.
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        return cannot_write(file, fmt::format("{}: {}", folder.string(), std::strerror(errno)));
    return ok();
}

RecordingWriter::RecordingWriter(std::string file, std::uint64_t interval_ms)
    : file_(std::move(file)), database_(file_, Database::Access::create) {
    database_.run(kPragmas);
    database_.run("BEGIN IMMEDIATE");
    database_.run(
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kRecordingId, kRecordingSchema).c_str());
    database_.run(kRecordingTables);
    database_.run(kernel_counts_sql().second.c_str());
    database_.run(copy_counts_sql().second.c_str());
    Statement meta(database_, "INSERT INTO meta VALUES(?1, ?2)");
    const auto pid = static_cast<std::uint32_t>(::getpid());
    meta.with("egpu_version", version()).run();
    meta.with("interval_ms", interval_ms).run();
    meta.with("writer_pid", pid).run();
    meta.with("writer_start_time", segment::process_start_time(pid)).run();
    database_.run("COMMIT");
}

Result<std::unique_ptr<RecordingWriter>> RecordingWriter::create(const std::string& file, std::uint64_t interval_ms) {
    if (Status writable = recording_can_be_written(file); !writable)
        return writable.errors();
    const NoSizeSignal no_signal;
    std::unique_ptr<RecordingWriter> writer(new RecordingWriter(file, interval_ms));
    if (writer->database_.failed())
        return cannot_write(file, writer->database_.problem());
    return writer;
}

Status RecordingWriter::write(std::span<const Sample> samples, const Source& source) {
    return carry_out(samples, source, source.view(), nullptr);
}

Status RecordingWriter::finish(std::span<const Sample> samples, const Source& source, const SessionView& last,
                               const std::string& summary) {
    return carry_out(samples, source, last, &summary);
}

Status RecordingWriter::carry_out(std::span<const Sample> samples, const Source& source, const SessionView& view,
                                  const std::string* summary) {
    const NoSizeSignal no_signal;
    writing_ = written_;
    database_.run("BEGIN IMMEDIATE");
    put_meta(view, summary);
    put_samples(samples, source);
    if (summary != nullptr)
        writing_.catalogue_version = 0;  // of a view that is not the segment's
    put_state(view);
    put_counts(view);
    put_maps(view);
    if (summary != nullptr)
        put_findings(view);
    database_.run("COMMIT");
    if (!database_.failed()) {
        written_ = std::move(writing_);
        return ok();
    }
    const bool busy = database_.busy();
    const std::string problem = database_.problem();
    database_.roll_back();
    database_.forget_failure();
    if (busy)
        return error("EGPU-R004", fmt::format("{} is read by another process just now", file_));
    return error("EGPU-R003", fmt::format("{}: {}", file_, problem),
                 "the recording ends there; what it holds stays readable");
}

void RecordingWriter::put_meta(const SessionView& view, const std::string* summary) {
    Statement meta(database_, "INSERT OR REPLACE INTO meta VALUES(?1, ?2)");
    if (!writing_.begun) {
        meta.with("session", view.catalogue.session).run();
        meta.with("started_unix_ms", view.catalogue.started_unix_ms).run();
        writing_.begun = true;
    }
    if (summary == nullptr)
        return;
    meta.with("finished", 1).run();
    if (!summary->empty())
        meta.with("summary", *summary).run();
}

void RecordingWriter::put_samples(std::span<const Sample> samples, const Source& source) {
    Statement series(database_, "INSERT INTO series VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
    for (; writing_.series < source.series().size(); ++writing_.series) {
        const Series& each = source.series()[writing_.series];
        series
            .with(each.id, to_name(each.kind), to_name(each.unit), each.map, each.field, each.kernel_id, each.site_id,
                  each.space, each.access, each.label, each.clock)
            .run();
    }
    Statement message(database_, "INSERT INTO messages(unix_ns, text) VALUES(?1, ?2)");
    for (; writing_.messages < source.messages().size(); ++writing_.messages)
        message.with(source.messages()[writing_.messages].unix_ns, source.messages()[writing_.messages].text).run();
    Statement sample(database_, "INSERT INTO samples VALUES(?1, ?2, ?3)");
    Statement clock(database_, "INSERT INTO clocks VALUES(?1, ?2, ?3)");
    Statement point(database_, "INSERT INTO points VALUES(?1, ?2, ?3, ?4)");
    Statement histogram(database_, "INSERT INTO histograms VALUES(?1, ?2, ?3, ?4)");
    for (const auto& each : samples) {
        const std::int64_t id = ++writing_.sample;
        sample.with(id, each.unix_ns, each.monotonic_ns).run();
        writing_.clocks.resize(each.clocks.size());
        for (std::uint32_t i = kTrafficClock; i < each.clocks.size(); ++i) {
            if (each.clocks[i] != writing_.clocks[i])
                clock.with(id, i, each.clocks[i]).run();
            writing_.clocks[i] = each.clocks[i];
        }
        for (const auto& value : each.points)
            point.with(id, value.series, value.epoch, value.value).run();
        for (const auto& value : each.histograms)
            histogram.with(id, value.series, value.epoch, slots_text(value.slots)).run();
    }
}

void RecordingWriter::put_state(const SessionView& view) {
    if (writing_.catalogue_version == 0 || writing_.catalogue_version != view.catalogue_version) {
        Statement catalogue(database_, "INSERT OR REPLACE INTO catalogue VALUES(1, ?1)");
        catalogue.with(to_json(view.catalogue)).run();
        writing_.catalogue_version = view.catalogue_version;
    }
    Statement state(database_, "INSERT OR REPLACE INTO state VALUES(?1, ?2)");
    visit_state(view, [&](const char* name, const auto& member) { state.with(name, member).run(); });
    if (view.last_drain_age_ns)
        state.with("last_drain_ns", view.monotonic_ns - std::min(*view.last_drain_age_ns, view.monotonic_ns)).run();
    state.with("monotonic_ns", view.monotonic_ns).run();
    state.with("unix_ns", view.unix_ns).run();
}

void RecordingWriter::put_counts(const SessionView& view) {
    Statement kernels(database_, kernel_counts_sql().first);
    for (std::size_t i = 0; i < view.counts.size(); ++i)
        put_changed(kernels, i, view.counts[i], kVisitCounts, writing_.kernels);
    Statement copies(database_, copy_counts_sql().first);
    for (std::size_t i = 0; i < view.copies.size(); ++i)
        put_changed(copies, i, copy_state(view, i), kVisitCopy, writing_.copies);
}

void RecordingWriter::put_maps(const SessionView& view) {
    Statement insert(database_, "INSERT OR REPLACE INTO maps VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
    writing_.copied_ns.resize(view.maps.size());
    for (std::size_t i = 0; i < view.maps.size(); ++i) {
        const MapData& data = view.maps[i];
        if (!data.age_ns)
            continue;
        const std::uint64_t copied = view.monotonic_ns - std::min(*data.age_ns, view.monotonic_ns);
        if (copied == writing_.copied_ns[i])
            continue;
        const MapData merged = merge_shards(data);
        insert
            .with(static_cast<std::uint64_t>(i), merged.map->name, merged.slots, merged.refused_keys, copied,
                  std::span(merged.keys), std::span(merged.values), merged.refused_lookups)
            .run();
        writing_.copied_ns[i] = copied;
    }
}

void RecordingWriter::put_findings(const SessionView& view) {
    Statement insert(
        database_, "INSERT INTO findings(name, severity, plugin, kernel, place, text) VALUES(?1, ?2, ?3, ?4, ?5, ?6)");
    for (const auto& finding : find_all(view))
        insert
            .with(finding.id, name_of(finding.severity), finding.plugin, finding.kernel_id, finding.place, finding.text)
            .run();
}

}  // namespace egpu::host
