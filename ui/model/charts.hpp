// SPDX-License-Identifier: Apache-2.0
// Charts of a window and the lines in them: what is drawn, without how.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ui/model/palette.hpp"
#include "ui/model/series_buffer.hpp"
#include "ui/model/unit.hpp"
#include "ui/model/viewport.hpp"

namespace egpu::ui {

/// A line of a chart.
struct Trace {
    std::string id;    ///< stable: names its colour
    std::string name;  ///< as shown: "vector_add, read"
    LineStyle style;
    bool visible = true;
    bool filled = false;  ///< the ground under it is tinted: of totals
    bool wide = false;    ///< drawn under all others, and wider: where another one coincides both are seen
    SeriesBuffer points;
};

/// A level that lines are compared with.
struct ReferenceLine {
    double value = 0;
    std::string label;  ///< "DRAM peak 4.80 TB/s: caches can exceed it"
};

struct Chart {
    static constexpr std::size_t kShownAtFirst = 9;  ///< lines that are visible unless somebody hides them

    std::string id;
    std::string title;  ///< "Requested bandwidth"
    std::string note;   ///< what exactly: "requested bytes a second over the last 1 s"
    Unit unit = Unit::number;
    bool logarithmic = false;
    bool shown = true;
    std::string why_empty = "no data yet";  ///< said where none of its visible lines has a point
    int rank = 0;                           ///< charts of a lower rank stand above
    std::optional<ReferenceLine> reference;
    std::vector<std::unique_ptr<Trace>> traces;

    /// Finds a line; nullptr where there is none.
    Trace* find(const std::string& id);
    std::size_t hidden() const;
    /// What is said instead of lines: that none is chosen, or why_empty; "" where a visible line has a value.
    std::string empty_text() const;
};

/// All charts, in the order in which they are shown.
class Charts {
public:
    explicit Charts(std::size_t points = SeriesBuffer::kDefaultCapacity) : points_(points) {}

    /// Finds a chart; nullptr where there is none.
    Chart* find(const std::string& id);
    /// Adds one, below all others of its rank.
    Chart& add(Chart chart);
    /// Finds a line or adds it, in the colour of `colour_of`. Those beyond kShownAtFirst start hidden.
    Trace& line(Chart& chart, const std::string& id, const std::string& name, const std::string& colour_of,
                std::optional<Stroke> stroke = std::nullopt);
    /// NaN: a gap.
    void append(Trace& trace, Time time, double value);
    /// Appends a point to a line of its own colour, which is made where it is new.
    Trace& append(Chart& chart, const std::string& id, const std::string& name, Time time, double value);
    /// Every line breaks here: what comes next is not connected with what was.
    void break_lines(Time time);

    std::vector<std::unique_ptr<Chart>>& all() { return charts_; }
    const std::vector<std::unique_ptr<Chart>>& all() const { return charts_; }
    Palette& palette() { return palette_; }
    /// From the oldest point to the newest, of all lines; nullopt without points.
    std::optional<TimeRange> extent() const;
    /// Grows with everything that changes what is drawn.
    std::uint64_t revision() const { return revision_; }
    void touch() { ++revision_; }

private:
    std::size_t points_;
    Palette palette_;
    std::vector<std::unique_ptr<Chart>> charts_;
    std::optional<TimeRange> extent_;
    std::uint64_t revision_ = 0;
};

/// The visible lines of a stretch of time as CSV: a row for each moment at which any line has a point, an empty cell
/// where a line has none. Numbers are not rounded; the unit is in the head of each column.
std::string to_csv(const Chart& chart, const TimeRange& range);

}  // namespace egpu::ui
