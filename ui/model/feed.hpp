// SPDX-License-Identifier: Apache-2.0
// Feed: where the data of a window comes from. It is read on a thread of its own, so that a slow disk or a large
// session never holds the window up; the window takes what has come once a frame.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ui/model/facts.hpp"
#include "ui/model/palette.hpp"
#include "ui/model/series_buffer.hpp"
#include "ui/model/unit.hpp"

namespace egpu::ui {

/// A line, told once; updates name it by its number, which is its place in the order of telling.
struct LineDefinition {
    std::string chart;  ///< id; the first line of a chart makes it
    std::string chart_title, chart_note;
    Unit unit = Unit::number;
    bool logarithmic = false;
    bool shown = true;  ///< the chart, unless somebody hides it
    int rank = 0;       ///< of the chart
    std::string id, name;
    std::string colour_of;              ///< what has one colour everywhere; "": the line has one of its own
    Stroke stroke = Stroke::solid;      ///< where colour_of is named
    bool filled = false, wide = false;  ///< as of Trace
};

struct LineValue {
    std::uint32_t line = 0;
    double value = 0;  ///< NaN: a gap
};

/// What is new.
struct Update {
    Time time = 0;
    std::vector<LineDefinition> lines;
    std::vector<LineValue> values;
    bool gap = false;    ///< nothing is known between what was and what comes: all lines break
    FactsPointer facts;  ///< nullptr: as before
    Life life = Life::live;
    std::string life_text;  ///< "the application ended 12 s ago"
    std::vector<std::pair<Severity, std::string>> messages;
    bool last = false;  ///< nothing follows
};

class Feed {
public:
    virtual ~Feed() = default;
    /// Called again and again on the feed's thread until an update is the last.
    virtual Update next() = 0;
    /// How long to wait before the next call.
    virtual std::chrono::milliseconds pause() const = 0;
    virtual std::string name() const = 0;  ///< "session 4711", "run.egpu", "demo data"
};

/// Runs a feed and keeps what it gave until it is taken.
class FeedThread {
public:
    explicit FeedThread(std::unique_ptr<Feed> feed);
    ~FeedThread();
    FeedThread(const FeedThread&) = delete;
    FeedThread& operator=(const FeedThread&) = delete;

    std::vector<Update> take();
    const std::string& name() const { return name_; }

private:
    void run();

    std::unique_ptr<Feed> feed_;
    std::string name_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<Update> waiting_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace egpu::ui
