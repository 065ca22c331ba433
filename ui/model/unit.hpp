// SPDX-License-Identifier: Apache-2.0
// Units of what is drawn, and numbers as people read them. What is not known is "n/a", never 0.
#pragma once

#include <cstdint>
#include <string>

namespace egpu::ui {

enum class Unit {
    bytes_per_second,
    per_second,  ///< of a counter without unit
    nanoseconds,
    simulated_nanoseconds,  ///< of the simulated GPU's clocks: no time that passed
    cycles,
    simulated_cycles,  ///< of the simulated GPU's %clock, which follows a table: no time
    bytes,
    number,
};

/// Behind an axis' title: "bytes/s", "simulated ns", "cycles", "simulated cycles"; "" for a bare number.
const char* unit_name(Unit unit);
/// How long something took, on whichever clock.
bool is_duration(Unit unit);

/// "2.12 TB/s", "63.4 us", "1.2 k/s", "n/a" for NaN.
std::string human_text(double value, Unit unit);
/// "2 123 456 789 B/s": every digit before the point; "n/a" for NaN.
std::string exact_text(double value, Unit unit);
/// A label of an axis: no more digits than `step` between labels needs.
std::string axis_text(double value, Unit unit, double step = 0);
/// "0:42", "1:02:00": whole seconds of a time in ns.
std::string clock_text(std::int64_t nanoseconds);
/// "12 ms", "1.5 s", "2 min": a stretch of time in ns.
std::string span_text(double nanoseconds);

}  // namespace egpu::ui
