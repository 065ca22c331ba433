// SPDX-License-Identifier: Apache-2.0
// Whether what a recording says can be so. Files are passed on, edited and bent: a number that no session can have, or
// that another one contradicts, is damage and no figure to show.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "host/record/database.hpp"
#include "host/view/session_view.hpp"

namespace egpu::host {

/// Reads a column into a number or text. False: what stands there is none that `value` can have (text for a number, a
/// negative count, one that is too large, an infinite figure).
template <typename Value>
bool take(const Statement& row, int column, Value& value) {
    if constexpr (std::is_same_v<Value, std::string>) {
        const bool is_text = row.is_text(column);  // asked first: reading it as text makes it one
        value = row.text(column);
        return is_text;
    } else if constexpr (std::is_same_v<Value, double>) {
        value = row.real(column);
        return row.is_real(column) && std::isfinite(value);
    } else if constexpr (std::is_same_v<Value, bool>) {
        value = row.integer(column) == 1;
        return row.is_integer(column) && (value || row.integer(column) == 0);
    } else {
        static_assert(std::is_unsigned_v<Value>, "counts are not negative");
        value = static_cast<Value>(row.integer(column));
        return row.is_integer(column) && row.integer(column) >= 0 &&
               row.number(column) <= std::numeric_limits<Value>::max();
    }
}

/// Nanoseconds since 1970 that a clock can show.
bool is_calendar_time(const Statement& row, int column);
/// What stands there, for a message: the beginning of what is long.
std::string shown(const Statement& row, int column);

// Each says why not, as part of a sentence: "kernel 3 has copy 9, of 2"; "" where all is well.

/// Facts that a writer puts there with the first thing it writes, and what it says of its session.
std::string contradiction_in_meta(Database& database);
/// Of a session that has no catalogue: whether there is more of it than a writer begins with.
std::string contradiction_without_catalogue(Database& database);
/// Each kernel of the catalogue has its counts.
std::string contradiction_in_counts(Database& database, const Catalogue& catalogue);
/// Kernels, sites, copies and probes that name each other.
std::string contradiction_in(const Catalogue& catalogue);
/// Counts of kernels and copies. `finished`: nothing was counted any more while they were written.
std::string contradiction_in(const SessionView& view, bool finished);
/// Series of the session itself that are of no kernel of the catalogue.
std::string contradiction_in_series(Database& database, const Catalogue& catalogue);

/// Looks at the samples behind those that it has seen: their time never runs backwards, and is one that a clock shows.
class SampleTimes {
public:
    std::string contradiction(Database& database);

private:
    std::int64_t last_sample_ = 0;
    std::int64_t last_ns_ = 0;
};

}  // namespace egpu::host
