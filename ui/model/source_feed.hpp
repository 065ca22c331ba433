// SPDX-License-Identifier: Apache-2.0
// Feeds out of sources (host/series): a session that runs, a recording, a recording that plays as if it were live.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "host/series/source.hpp"
#include "ui/model/feed.hpp"
#include "ui/model/line_maker.hpp"

namespace egpu::ui {

/// A session of this user by its number; "": the only one that runs. EGPU-X060, X061, M01x.
Result<std::unique_ptr<Feed>> open_session_feed(const std::string& session);
/// A recording. EGPU-R01x.
Result<std::unique_ptr<Feed>> open_recording_feed(const std::string& file);
/// A recording that plays at the pace at which it was made, round after round. What stands in its first half minute is
/// there at once. EGPU-R01x.
Result<std::unique_ptr<Feed>> open_replay_feed(const std::string& file);

/// What the three have in common: samples of a source become updates.
class SourceReader {
public:
    explicit SourceReader(std::unique_ptr<host::Source> source) : source_(std::move(source)) {}

    host::Source& source() { return *source_; }
    /// Another source of the same session: the next round. Times go on from `at`.
    void restart(std::unique_ptr<host::Source> source, Time at);
    /// The next sample; false: there is none now.
    bool next(Update& update);
    /// When the next sample is of, without taking it.
    std::optional<Time> peek();
    /// All but lines, at most `per_second` times a second; always where `now`.
    void add_facts(Update& update, bool now);
    void add_messages(Update& update);
    Time time() const { return time_; }

private:
    Time time_of(const host::Sample& sample);
    bool fill();

    std::unique_ptr<host::Source> source_;
    LineMaker lines_;
    std::deque<host::Sample> samples_;
    std::optional<std::uint64_t> base_ns_;  ///< of the samples' clock, that is time 0
    Time offset_ = 0;                       ///< of this round
    Time time_ = 0;
    std::size_t messages_ = 0;
    std::chrono::steady_clock::time_point facts_at_{};
};

}  // namespace egpu::ui
