// SPDX-License-Identifier: Apache-2.0
// Writes a session into one file while it runs (README.md: the schema). On a thread of its own, out of the session's
// segment: it can slow or stop neither application nor session.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "host/series/source.hpp"

namespace egpu::host {

struct RecordOptions {
    std::string file;
    std::chrono::milliseconds interval{50};  ///< between two samples
    /// Called once, on the recorder's thread, where the file can't be written any more (a full disk): the recording
    /// ends there, what it holds stays readable.
    std::function<void(const Diagnostic&)> on_problem;
};

class Recorder {
public:
    /// Takes over `source`, a live one. An egpu recording of that name is replaced; EGPU-R001: can't be written,
    /// EGPU-R002: another file has that name.
    static Result<std::unique_ptr<Recorder>> start(RecordOptions options, std::unique_ptr<Source> source);
    /// Ends without a summary, as if egpu had been killed.
    ~Recorder();

    /// After the session's end: writes what is left, the session's last state and its summary (JSON; "" where there is
    /// none), and closes the file. The first problem there was.
    Status finish(const SessionView& last, const std::string& summary);
    /// After finish(): whether on_problem was called.
    bool had_problem() const;

private:
    struct State;
    explicit Recorder(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// What would keep a recording from being written to `file`, before the run starts: EGPU-R001, EGPU-R002.
Status recording_can_be_written(const std::string& file);

}  // namespace egpu::host
