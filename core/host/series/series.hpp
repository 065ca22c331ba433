// SPDX-License-Identifier: Apache-2.0
// What charts, egpu top and recordings are made of: numbers of a session over time. Which there are follows from the
// maps' BTF and from what egpu counts itself; no probe is known by name.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace egpu::host {

enum class SeriesUnit { number, count, bytes, cycles, nanoseconds };
/// A counter grows since the session's start; a histogram is 64 such counters: slot i holds values in [2^i, 2^(i+1)).
enum class SeriesKind { counter, histogram };

const char* to_name(SeriesUnit unit);  ///< "bytes"
const char* to_name(SeriesKind kind);  ///< "counter"

using HistogramSlots = std::array<std::uint64_t, 64>;

/// Series that egpu counts or derives itself stand under this instead of a map's name.
inline constexpr const char* kSessionMap = "session";

/// Series of one kernel, or (kernel 0) of all together, that stand under kSessionMap. The last three are derived from
/// the map that counts the session's traffic (host/findings/metrics.hpp).
enum class SessionField { launches, instrumented, left_out, traffic_launches, read_bytes, written_bytes };
inline constexpr std::size_t kSessionFields = 6;
const char* to_name(SessionField field);  ///< "read_bytes"

/// Whose time a series' values have: index of Sample::clocks.
inline constexpr std::uint32_t kSessionClock = 0;   ///< read at the moment of the sample
inline constexpr std::uint32_t kTrafficClock = 1;   ///< copies of whichever map counts the traffic
inline constexpr std::uint32_t kFirstMapClock = 2;  ///< + a map's index: copies of that map

struct Series {
    std::uint32_t id = 0;  ///< its index in SeriesTable
    SeriesKind kind = SeriesKind::counter;
    SeriesUnit unit = SeriesUnit::number;
    std::string map;              ///< "bandwidth/traffic", or kSessionMap
    std::string field;            ///< "requested_bytes"; of a bare scalar or histogram the map's own name
    std::uint32_t kernel_id = 0;  ///< of its key's kernel or site; 0: none, or all kernels
    std::uint32_t site_id = 0;
    std::string space, access;  ///< "global", "load": texts of key fields of these names; else ""
    std::string label;          ///< of its key, for people: "vector_add global load"
    std::uint32_t clock = kSessionClock;
};

/// Of a series that was counted from its beginning: before the first sample that names it, it was 0.
inline constexpr std::uint32_t kFirstEpoch = 1;

/// The value of a counter. Values of different epochs are of different counts (it went back, or another map took
/// over): their difference means nothing. Epoch 0: not known from here on.
struct Point {
    std::uint32_t series = 0;
    std::uint32_t epoch = 0;
    std::uint64_t value = 0;
    bool operator==(const Point&) const = default;
};

struct HistogramPoint {
    std::uint32_t series = 0;
    std::uint32_t epoch = 0;
    HistogramSlots slots{};
    bool operator==(const HistogramPoint&) const = default;
};

/// One moment: what has changed since the sample before. A series that is not named has the value it had.
struct Sample {
    std::int64_t unix_ns = 0;
    std::uint64_t monotonic_ns = 0;  ///< CLOCK_MONOTONIC of the machine that was observed
    /// By Series::clock: the moment (monotonic) that its series' values are of; 0: none so far. One that stands still
    /// while monotonic_ns goes on says that nobody knows how these series went on.
    std::vector<std::uint64_t> clocks;
    std::vector<Point> points;               ///< each series at most once
    std::vector<HistogramPoint> histograms;  ///< each series at most once
    bool operator==(const Sample&) const = default;
};

/// All series of a session, numbered in the order in which they were first seen. Only grows.
class SeriesTable {
public:
    /// Gives it the next id.
    std::uint32_t add(Series series);
    const Series& operator[](std::uint32_t id) const { return all_[id]; }
    std::uint32_t size() const { return static_cast<std::uint32_t>(all_.size()); }
    const std::vector<Series>& all() const { return all_; }

    /// One of kSessionMap's; kernel_id 0: of all kernels. nullopt where there is none, such as of a kernel that was
    /// never launched.
    std::optional<std::uint32_t> of_session(SessionField field, std::uint32_t kernel_id = 0) const;
    /// Histograms of one kernel's maps (kernel_id 0: all) in the order of their ids: latencies, sizes.
    std::vector<std::uint32_t> histograms(std::uint32_t kernel_id = 0) const;

private:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    std::vector<Series> all_;
    std::vector<std::array<std::uint32_t, kSessionFields>> session_;  // by kernel id
    std::vector<std::uint32_t> histograms_;
};

}  // namespace egpu::host
