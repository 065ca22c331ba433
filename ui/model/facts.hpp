// SPDX-License-Identifier: Apache-2.0
// Facts: all of a session but its lines, as tables and lists show it, at one moment. Made by the thread that reads the
// session, never changed after.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/findings/findings.hpp"
#include "host/view/session_view.hpp"
#include "ui/model/series_buffer.hpp"

namespace egpu::ui {

struct KernelRow {
    std::uint32_t id = 0;
    std::string name;
    std::string signature;
    std::string module;
    host::KernelState state = host::KernelState::not_matched;
    std::string reason;  ///< why it is in that state, and what to do; "" for instrumented
    std::uint64_t launches = 0;
    std::uint64_t instrumented = 0;
    std::optional<double> launch_rate;                       ///< a second
    std::optional<double> read_rate;                         ///< requested bytes a second
    std::optional<double> written_rate;                      ///< requested bytes a second
    std::optional<double> sectors_per_load;                  ///< of global memory
    std::optional<double> sector_use;                        ///< share of the sectors' bytes that was asked for
    std::optional<std::uint64_t> read_bytes, written_bytes;  ///< requested, of global memory, since the session began
    bool bytes_at_least = false;                             ///< the two may be more
    std::optional<std::uint32_t> registers, registers_instrumented;
    std::uint32_t sites = 0;
};

struct ProbeRow {
    std::string probe, program, section;
    host::ProbeState state = host::ProbeState::matched_nothing;
    std::string remark;
    std::uint32_t sites = 0, kernels = 0;
};

struct FindingRow {
    std::string id, kernel, place, text, origin;
    Severity severity = Severity::warning;
};

/// A map as a table: what `egpu map dump` prints, at most kMostMapRows of it.
struct MapRows {
    std::string name;                ///< "bandwidth/traffic"
    std::vector<std::string> heads;  ///< key columns, then values
    std::size_t key_columns = 0;
    std::vector<std::vector<std::string>> rows;
    std::string note;  ///< "4 rows, totals of all launches", or why they are "at least"
};
inline constexpr std::size_t kMostMapRows = 1000;

enum class Life {
    starting,   ///< nothing of it was seen so far
    live,       ///< more comes
    ended,      ///< nothing more comes: what there is stays
    damaged,    ///< the same, but something that was there could not be read
    recorded,   ///< a file, read to its end
    replaying,  ///< a file that plays as if it were live
};

struct Facts {
    Time time = 0;              ///< the sample that all figures are of
    std::uint32_t session = 0;  ///< its number, as -s takes it
    std::string program;
    std::uint32_t pid = 0;
    std::string device;
    bool simulated = false;
    std::string command;
    std::string egpu_version;
    std::int64_t started_unix_ms = 0;
    std::uint64_t gpu_memory_bytes = 0;
    std::uint64_t launches = 0, instrumented = 0;
    std::optional<std::uint64_t> dropped;  ///< keys that found their map full, launches nobody counted
    bool complete = false;
    std::vector<KernelRow> kernels;
    std::vector<ProbeRow> probes;
    std::vector<FindingRow> findings;
    std::vector<MapRows> maps;
    std::string agent_error;
};

using FactsPointer = std::shared_ptr<const Facts>;

/// Everything that a view says; rates are left out.
Facts facts_of(const host::SessionView& view, const std::vector<host::Finding>& findings);

}  // namespace egpu::ui
