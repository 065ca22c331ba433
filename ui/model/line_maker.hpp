// SPDX-License-Identifier: Apache-2.0
// LineMaker: samples of a session to points of lines. Bandwidth and launches come from what egpu counts itself,
// percentiles from every histogram, and one chart from each counter of each map, whatever probe it is of: BTF says its
// name and unit.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host/series/rates.hpp"
#include "host/series/series.hpp"
#include "ui/model/feed.hpp"
#include "ui/model/kernel_names.hpp"

namespace egpu::ui {

/// Lines of one chart; what is beyond is in the table of kernels only, and a message says so.
inline constexpr std::size_t kMostLines = 60;

class LineMaker {
public:
    /// The sample's points into `update`, at `time`. Samples come in the order of their time.
    void add(const host::Sample& sample, const host::SeriesTable& table, const host::SessionView& view, Time time,
             Update& update);
    /// What comes next is not a continuation: another round of a file. Lines keep their numbers.
    void restart();
    const host::RateWindow& window() const { return window_; }

private:
    struct ChartKind {
        std::string id, title, note;
        Unit unit = Unit::number;
        bool logarithmic = false;
        int rank = 0;
        bool shown = true;
    };
    static constexpr std::uint32_t kNoLine = ~std::uint32_t{0};

    /// What a line is of, and how it is drawn.
    struct Look {
        std::string colour_of;
        Stroke stroke = Stroke::solid;
        bool filled = false, wide = false;
    };
    static Look look_of(const host::Series& series);
    std::uint32_t line(const ChartKind& chart, const std::string& id, const std::string& name, const Look& look,
                       Update& update);
    /// Of a series that has no line so far: its label, with a number where another one of its chart reads alike.
    std::string series_name(const host::Series& series, const host::SeriesTable& table, const std::string& chart) const;
    void put(std::uint32_t line, std::optional<double> value, Update& update);
    void add_bandwidth(const host::SeriesTable& table, const host::SessionView& view, Update& update);
    void add_launches(const host::SeriesTable& table, const host::SessionView& view, Update& update);
    void add_histograms(const host::SeriesTable& table, const host::SessionView& view, Update& update);
    void add_counters(const host::SeriesTable& table, const host::SessionView& view, Update& update);
    void add_percentiles(const ChartKind& chart, const std::string& whose, const std::string& colour_of,
                         const std::vector<std::uint32_t>& series, Update& update);

    host::RateWindow window_;
    KernelNames names_;
    std::set<std::pair<std::string, std::string>> used_;                    ///< names, by chart
    std::map<std::pair<std::string, std::string>, std::uint32_t> numbers_;  ///< by chart and line
    std::map<std::string, std::size_t> lines_of_;                           ///< by chart: told so far
    std::uint32_t told_ = 0;
    std::vector<std::string> overfull_;  ///< charts of which it was said
};

}  // namespace egpu::ui
