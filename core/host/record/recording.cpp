// SPDX-License-Identifier: Apache-2.0
#include "host/record/recording.hpp"

#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "host/record/consistency.hpp"
#include "host/record/database.hpp"
#include "host/record/file_begin.hpp"
#include "host/record/schema.hpp"
#include "host/record/state.hpp"
#include "segment/access/process.hpp"

namespace egpu::host {
namespace {

/// Samples a call of take_samples gives at most.
constexpr std::int64_t kMostSamples = 4096;
constexpr std::uint32_t kMostClocks = 4096;

SeriesUnit unit_named(const std::string& name) {
    for (const auto unit : {SeriesUnit::count, SeriesUnit::bytes, SeriesUnit::cycles, SeriesUnit::nanoseconds})
        if (name == to_name(unit))
            return unit;
    return SeriesUnit::number;
}

/// {"7":12,"8":3}; false where it is something else.
bool slots_from_text(const std::string& text, HistogramSlots& slots) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object())
        return false;
    for (const auto& [key, count] : json.items()) {
        const auto slot = static_cast<std::size_t>(std::strtoul(key.c_str(), nullptr, 10));
        if (slot >= slots.size() || !count.is_number_unsigned())
            return false;
        slots[slot] = count.get<std::uint64_t>();
    }
    return true;
}

Diagnostic damaged(const std::string& file, const std::string& why) {
    return error("EGPU-R013", fmt::format("{} is damaged: {}", file, why));
}

}  // namespace

struct Recording::State {
    explicit State(const std::string& name) : file(name), database(name, Database::Access::read) {}

    std::string file;
    Database database;
    SeriesTable table;
    SessionView view;
    std::vector<SourceMessage> messages;
    RecordingFacts facts;
    std::int64_t last_sample = 0;
    std::vector<std::uint64_t> clocks;  // as of last_sample
    std::uint32_t writer_pid = 0;
    std::uint64_t writer_start_time = 0;
    std::int64_t most_samples = kMostSamples;
    std::string catalogue;           // that the view's was made from
    std::int64_t data_version = -1;  // of the file, when it was read last
    SampleTimes times;
    SourceState state = SourceState::ended;
    std::string state_text;

    Status read_all();
    Status read_meta();
    Status read_messages();
    Status read_view();
    Status read_maps(SessionView& fresh);
    std::int64_t version_now();
    bool read_series();
    bool read_values(std::vector<Sample>& samples);
    std::vector<Sample> read_samples();
    void end(SourceState how, std::string text) {
        state = how;
        state_text = std::move(text);
    }
    void judge();
};

Status Recording::State::read_meta() {
    if (const std::string why = contradiction_in_meta(database); !why.empty() && !database.failed())
        return damaged(file, why);
    std::map<std::string, std::int64_t> numbers;
    Statement meta(database, "SELECT key, value FROM meta");
    while (meta.step()) {
        const std::string key = meta.text(0);
        if (key == "egpu_version")
            facts.egpu_version = meta.text(1);
        else if (key == "summary")
            facts.summary = meta.text(1);
        else
            numbers[key] = meta.integer(1);
    }
    facts.session = static_cast<std::uint32_t>(numbers["session"]);
    facts.started_unix_ns = numbers["started_unix_ms"] * 1'000'000;
    facts.interval_ms = static_cast<std::uint64_t>(numbers["interval_ms"]);
    facts.finished = numbers["finished"] != 0;
    writer_pid = static_cast<std::uint32_t>(numbers["writer_pid"]);
    writer_start_time = static_cast<std::uint64_t>(numbers["writer_start_time"]);
    Statement last(database, "SELECT count(*), max(unix_ns) FROM samples");
    if (last.step()) {
        facts.samples = last.number(0);
        facts.last_unix_ns = last.integer(1);
    }
    const std::string why = times.contradiction(database);
    return why.empty() ? ok() : damaged(file, why);
}

Status Recording::State::read_messages() {
    Statement rows(database, "SELECT unix_ns, text FROM messages WHERE id > ?1 ORDER BY id");
    rows.with(static_cast<std::uint64_t>(messages.size()));
    while (rows.step()) {
        if (!is_calendar_time(rows, 0))
            return damaged(file, fmt::format("message {} has a time that no clock shows", messages.size() + 1));
        messages.push_back({rows.integer(0), rows.text(1)});
    }
    return ok();
}

Status Recording::State::read_maps(SessionView& fresh) {
    for (const auto& map : fresh.catalogue.maps) {
        MapData data;
        data.map = &map;
        fresh.maps.push_back(std::move(data));
    }
    // A recording of before has no such column.
    Statement column(database, "SELECT COUNT(*) FROM pragma_table_info('maps') WHERE name = 'refused_lookups'");
    const bool has_lookups = column.step() && column.number(0) != 0;
    Statement rows(database,
                   has_lookups
                       ? "SELECT id, slots, refused_keys, copied_ns, keys, slot_values, refused_lookups FROM maps"
                       : "SELECT id, slots, refused_keys, copied_ns, keys, slot_values, 0 FROM maps");
    while (rows.step()) {
        if (rows.number(0) >= fresh.maps.size())
            return damaged(file, "it has a map that its catalogue lacks");
        MapData& data = fresh.maps[rows.number(0)];
        const auto& definition = data.map->definition;
        const auto keys = rows.bytes(4), values = rows.bytes(5);
        const std::uint64_t slots = rows.small(1), stride = (std::uint64_t{definition.value_bytes} + 7) / 8 * 8;
        if (values.size() != slots * stride || (!definition.is_array() && keys.size() != slots * definition.key_bytes))
            return damaged(file, fmt::format("map {} has another size than its entries", data.map->name));
        std::uint64_t copied_ns = 0;
        if (!take(rows, 2, data.refused_keys) || !take(rows, 3, copied_ns) || !take(rows, 6, data.refused_lookups))
            return damaged(file, fmt::format("map {} has a number that is none, or below 0", data.map->name));
        data.slots = static_cast<std::uint32_t>(slots);
        data.keys.assign(keys.begin(), keys.end());
        data.values.assign(values.begin(), values.end());
        data.layout = {.value_bytes = definition.value_bytes,
                       .stride = static_cast<std::uint32_t>(stride),
                       .capacity = static_cast<std::uint32_t>(slots),
                       .shards = 1};
        data.age_ns = fresh.monotonic_ns - std::min(copied_ns, fresh.monotonic_ns);
    }
    return ok();
}

Status Recording::State::read_view() {
    SessionView fresh;
    Statement rows(database, "SELECT json FROM catalogue");
    if (!rows.step()) {  // egpu was killed before it wrote the first second
        const std::string why = contradiction_without_catalogue(database);
        return why.empty() || database.failed() ? ok() : damaged(file, why);
    }
    std::string json = rows.text(0);
    auto parsed = json == catalogue ? Result<Catalogue>(view.catalogue) : catalogue_from_json(json);
    if (!parsed)
        return error("EGPU-R013", fmt::format("{}: {}", file, parsed.error().message),
                     fmt::format("it was made by egpu {}", facts.egpu_version));
    fresh.catalogue = std::move(*parsed);
    fresh.counts.resize(fresh.catalogue.kernels.size());
    fresh.copies.resize(fresh.catalogue.copies.size());
    std::string why = contradiction_in(fresh.catalogue);
    if (why.empty() && fresh.catalogue.session != facts.session)
        why = fmt::format("it is of session {}, its catalogue of {}", facts.session, fresh.catalogue.session);
    std::map<std::string, std::uint64_t> moments;
    Statement state(database, "SELECT key, value FROM state");
    while (state.step()) {
        const std::string key = state.text(0);
        bool fits = take(state, 1, moments[key]) || !key.ends_with("_ns");
        visit_state(fresh,
                    [&](const char* name, auto& member) { fits = (key != name || take(state, 1, member)) && fits; });
        why = fits || !why.empty() ? why : fmt::format("its {} is {}", key, shown(state, 1));
        if (key == "unix_ns" && !is_calendar_time(state, 1) && why.empty())
            why = "its state is of a time that no clock shows";
    }
    if (why.empty() && (!moments.contains("monotonic_ns") || !moments.contains("unix_ns")))
        why = "its state is missing";
    fresh.monotonic_ns = moments["monotonic_ns"];
    fresh.unix_ns = static_cast<std::int64_t>(moments["unix_ns"]);
    if (moments["last_drain_ns"] != 0)
        fresh.last_drain_age_ns = fresh.monotonic_ns - std::min(moments["last_drain_ns"], fresh.monotonic_ns);
    const auto read_rows_of = [&](const char* table, const auto& visit, auto row, const auto& put) {
        std::string columns;
        visit(row, [&](const char* name, auto&) { columns += fmt::format(", {}", name); });
        Statement rows(database, fmt::format("SELECT rowid{} FROM {}", columns, table));
        while (rows.step()) {
            int column = 0;
            visit(row, [&](const char* name, auto& member) {
                if (!take(rows, ++column, member) && why.empty())
                    why = fmt::format("{} of {} {} is {}", name, table, rows.integer(0), shown(rows, column));
            });
            if (!put(rows.number(0) - 1, row) && why.empty())
                why = fmt::format("{} {} is of none that its catalogue has", table, rows.integer(0));
        }
    };
    read_rows_of(
        "kernel_counts", [](auto& row, auto&& each) { visit_counts(row, each); }, KernelCounts{},
        [&](std::uint64_t index, const KernelCounts& counts) {
            if (index < fresh.counts.size())
                fresh.counts[index] = counts;
            return index < fresh.counts.size();
        });
    read_rows_of(
        "copy_counts", [](auto& row, auto&& each) { visit_copy(row, each); }, CopyState{},
        [&](std::uint64_t index, const CopyState& copy) {
            if (index < fresh.copies.size())
                fresh.copies[index] = copy.counts;
            if (index < fresh.copies.size() && (copy.times.pairs != 0 || copy.times.single_launches != 0)) {
                fresh.copy_times.resize(fresh.copies.size());
                fresh.copy_times[index] = copy.times;
            }
            return index < fresh.copies.size();
        });
    why = !why.empty() ? why : contradiction_in_counts(database, fresh.catalogue);
    why = !why.empty() ? why : contradiction_in(fresh, facts.finished);
    why = !why.empty() ? why : contradiction_in_series(database, fresh.catalogue);
    if (!why.empty() && !database.failed())
        return damaged(file, why);
    if (Status maps = read_maps(fresh); !maps)
        return maps;
    catalogue = std::move(json);
    view = std::move(fresh);
    return ok();
}

/// Differs where another process has written.
std::int64_t Recording::State::version_now() {
    Statement pragma(database, "PRAGMA data_version");
    return pragma.step() ? pragma.integer(0) : -1;
}

bool Recording::State::read_series() {
    Statement rows(database,
                   "SELECT id, kind, unit, map, field, kernel, site, space, access, label, clock FROM series WHERE id "
                   ">= ?1 ORDER BY id");
    rows.with(table.size());
    while (rows.step()) {
        Series series;
        series.kind = rows.text(1) == to_name(SeriesKind::histogram) ? SeriesKind::histogram : SeriesKind::counter;
        series.unit = unit_named(rows.text(2));
        series.map = rows.text(3);
        series.field = rows.text(4);
        series.kernel_id = rows.small(5);
        series.site_id = rows.small(6);
        series.space = rows.text(7);
        series.access = rows.text(8);
        series.label = rows.text(9);
        series.clock = rows.small(10);
        if (rows.number(0) != table.size())
            return false;
        table.add(std::move(series));
    }
    return true;
}

/// Clocks, points and histograms of samples whose ids are one behind the other.
bool Recording::State::read_values(std::vector<Sample>& samples) {
    const std::int64_t first = last_sample + 1, last = last_sample + static_cast<std::int64_t>(samples.size());
    // A damaged index gives rows that were not asked for.
    const auto sample_of = [&](const Statement& row) -> Sample* {
        const std::int64_t id = row.integer(0);
        return id < first || id > last ? nullptr : &samples[static_cast<std::size_t>(id - first)];
    };
    Statement clock_rows(
        database, "SELECT sample, clock, monotonic_ns FROM clocks WHERE sample BETWEEN ?1 AND ?2 ORDER BY sample");
    clock_rows.with(first, last);
    while (clock_rows.step()) {
        Sample* const sample = sample_of(clock_rows);
        const std::uint32_t clock = clock_rows.small(1);
        if (sample == nullptr || clock >= kMostClocks || !clock_rows.is_integer(2))
            return false;
        auto& own = sample->clocks;
        own.resize(std::max<std::size_t>(own.size(), std::size_t{clock} + 1));
        own[clock] = clock_rows.number(2);
    }
    for (auto& sample : samples) {
        // A clock that is not named stands still.
        clocks.resize(std::max({clocks.size(), sample.clocks.size(), std::size_t{kFirstMapClock}}));
        for (std::size_t i = 0; i < sample.clocks.size(); ++i)
            if (sample.clocks[i] != 0)
                clocks[i] = sample.clocks[i];
        clocks[kSessionClock] = sample.monotonic_ns;
        sample.clocks = clocks;
    }
    Statement points(database, "SELECT sample, series, epoch, value FROM points WHERE sample BETWEEN ?1 AND ?2");
    points.with(first, last);
    while (points.step()) {
        Sample* const sample = sample_of(points);
        if (sample == nullptr || points.small(1) >= table.size() || !points.is_integer(2) || !points.is_integer(3))
            return false;
        sample->points.push_back({points.small(1), points.small(2), points.number(3)});
    }
    Statement slots(database, "SELECT sample, series, epoch, slots FROM histograms WHERE sample BETWEEN ?1 AND ?2");
    slots.with(first, last);
    while (slots.step()) {
        HistogramPoint point{.series = slots.small(1), .epoch = slots.small(2), .slots = {}};
        Sample* const sample = sample_of(slots);
        if (sample == nullptr || point.series >= table.size() || !slots_from_text(slots.text(3), point.slots))
            return false;
        sample->histograms.push_back(point);
    }
    return true;
}

std::vector<Sample> Recording::State::read_samples() {
    std::vector<Sample> samples;
    if (!read_series()) {
        end(SourceState::damaged, "its list of series is not whole");
        return {};
    }
    const auto clocks_before = clocks;
    Statement rows(database, "SELECT id, unix_ns, monotonic_ns FROM samples WHERE id > ?1 ORDER BY id LIMIT ?2");
    rows.with(last_sample, most_samples);
    bool whole = true;
    while (whole && rows.step()) {
        whole = rows.integer(0) == last_sample + static_cast<std::int64_t>(samples.size()) + 1;
        Sample sample;
        sample.unix_ns = rows.integer(1);
        sample.monotonic_ns = rows.number(2);
        if (whole)
            samples.push_back(std::move(sample));
    }
    whole = whole && (samples.empty() || read_values(samples));
    if (whole && !database.failed()) {
        last_sample += static_cast<std::int64_t>(samples.size());
        return samples;
    }
    clocks = clocks_before;
    if (database.busy()) {
        database.forget_failure();
        return {};
    }
    if (most_samples == 1 || (!database.failed() && samples.size() <= 1)) {
        end(SourceState::damaged, database.failed() ? database.problem() : "a sample is not whole");
        return {};
    }
    // Up to the damage there may be samples that are whole.
    most_samples = std::max<std::int64_t>(most_samples / 8, 1);
    database.forget_failure();
    return read_samples();
}

void Recording::State::judge() {
    if (state == SourceState::damaged)
        return;
    if (facts.finished)
        return end(SourceState::ended,
                   view.drained || view.agent_pid == 0 ? "ended" : "ended without a last copy of the maps");
    if (segment::process_alive(writer_pid, writer_start_time))
        return end(SourceState::live, {});
    end(SourceState::ended, "egpu was killed while it wrote this: what came in its last second is missing");
}

Status Recording::State::read_all() {
    database.run("BEGIN");
    Status status = read_meta();
    if (status)
        status = read_messages();
    if (status)
        status = read_view();
    database.run("COMMIT");
    if (!status || database.failed()) {
        database.roll_back();
        if (status)
            status = database.damaged() ? damaged(file, database.problem())
                                        : error("EGPU-R010", fmt::format("{}: {}", file, database.problem()));
    }
    judge();
    return status;
}

Recording::Recording(std::unique_ptr<State> state) : state_(std::move(state)) {}
Recording::~Recording() = default;

Result<std::unique_ptr<Recording>> Recording::open(const std::string& file) {
    // Opening a pipe would wait for who writes it.
    std::error_code ignored;
    const auto status = std::filesystem::status(file, ignored);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        return error("EGPU-R011", fmt::format("{} is no file that can hold a recording", file),
                     "egpu run --record FILE makes one");
    const auto begin = read_file_begin(file);
    if (!begin)
        return error("EGPU-R010", fmt::format("{}: {}", file, std::strerror(errno)));
    if (!begin->is_database())
        return error("EGPU-R011",
                     fmt::format("{} is no recording of egpu{}", file, begin->bytes == 0 ? ": it is empty" : ""),
                     "egpu run --record FILE makes one");
    // What is known before SQLite is asked: a transaction that made the file may have been cut off.
    auto state = std::make_unique<State>(file);
    Statement pragmas(state->database,
                      "SELECT (SELECT application_id FROM pragma_application_id), (SELECT "
                      "user_version FROM pragma_user_version)");
    const bool answered = pragmas.step();
    if (!answered)
        return state->database.damaged() ? damaged(file, state->database.problem())
                                         : error("EGPU-R010", fmt::format("{}: {}", file, state->database.problem()));
    if (pragmas.small(0) != kRecordingId)
        return error("EGPU-R011", fmt::format("{} is a database, but no recording of egpu", file));
    state->facts.schema = pragmas.small(1);
    pragmas.reset();
    if (state->facts.schema > kRecordingSchema)
        return error("EGPU-R012",
                     fmt::format("{} has schema {}: a newer egpu made it, this one reads up to {}", file,
                                 state->facts.schema, kRecordingSchema),
                     "open it with that egpu");
    if (Status read = state->read_all(); !read)
        return read.errors();
    return std::unique_ptr<Recording>(new Recording(std::move(state)));
}

std::vector<Sample> Recording::take_samples() {
    if (state_->state == SourceState::damaged)
        return {};
    State& own = *state_;
    if (own.state != SourceState::live)
        return own.read_samples();
    // What is being written has a new end now and then.
    const std::int64_t version = own.version_now();
    if (version == own.data_version && version >= 0 &&
        own.last_sample == static_cast<std::int64_t>(own.facts.samples)) {
        own.judge();
        return {};
    }
    auto samples = own.read_samples();
    if (own.state == SourceState::damaged)
        return samples;
    if (const Status again = own.read_all(); again)
        own.data_version = version;
    else if (!own.database.busy())
        own.end(SourceState::damaged, again.error().message);
    own.database.forget_failure();
    return samples;
}

SessionView Recording::take_view() && {
    return std::move(state_->view);
}

const SeriesTable& Recording::series() const {
    return state_->table;
}
const SessionView& Recording::view() const {
    return state_->view;
}
const std::vector<SourceMessage>& Recording::messages() const {
    return state_->messages;
}
SourceState Recording::state() const {
    return state_->state;
}
const std::string& Recording::state_text() const {
    return state_->state_text;
}
const RecordingFacts& Recording::facts() const {
    return state_->facts;
}

}  // namespace egpu::host
