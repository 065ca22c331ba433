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

/// Reads a column into a number or text. False: what stands there is none that `value` can have (a negative count, one
/// that is too large, an infinite figure).
template <typename Value>
bool take(const Statement& row, int column, Value& value) {
    if constexpr (std::is_same_v<Value, std::string>) {
        value = row.text(column);
    } else if constexpr (std::is_same_v<Value, double>) {
        value = row.real(column);
        return std::isfinite(value);
    } else if constexpr (std::is_same_v<Value, bool>) {
        value = row.integer(column) != 0;
    } else {
        static_assert(std::is_unsigned_v<Value>, "counts are not negative");
        value = static_cast<Value>(row.integer(column));
        return row.integer(column) >= 0 && row.number(column) <= std::numeric_limits<Value>::max();
    }
    return true;
}

// Each says why not, as part of a sentence: "kernel 3 has copy 9, of 2"; "" where all is well.

/// Kernels, sites, copies and probes that name each other.
std::string contradiction_in(const Catalogue& catalogue);
/// Counts of kernels and copies. `finished`: nothing was counted any more while they were written.
std::string contradiction_in(const SessionView& view, bool finished);
/// Series of the session itself that are of no kernel of the catalogue.
std::string contradiction_in_series(Database& database, const Catalogue& catalogue);

/// Looks at the samples behind those that it has seen: their time never runs backwards.
class SampleTimes {
public:
    std::string contradiction(Database& database);

private:
    std::int64_t last_sample_ = 0;
    std::int64_t last_ns_ = 0;
};

}  // namespace egpu::host
