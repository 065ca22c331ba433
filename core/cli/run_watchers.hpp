// SPDX-License-Identifier: Apache-2.0
// What watches a session while egpu run waits for its end: --record and --live. Neither can stop the run.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "cli/live_table.hpp"
#include "host/export/summary.hpp"
#include "host/record/recorder.hpp"
#include "host/session/session.hpp"

namespace egpu::cli {

/// What is asked for.
struct Watching {
    bool live = false;    ///< --live
    bool strict = false;  ///< a recording that fails is an error
    std::string record;   ///< --record FILE, with its placeholders; "" for none
    std::string record_interval;
    int standard_output = -1;  ///< descriptor of the application's
    std::string set;           ///< what %n stands for
};

class RunWatchers {
public:
    /// Before the program starts: errors of the user that no run should begin with.
    static Status check(const Watching& watching);

    /// Makes room for the table before the program prints.
    explicit RunWatchers(const Watching& watching);
    /// Problems are said, and kept for finish().
    void watch(const host::Session& session);
    /// Clears the table off the terminal: what egpu says from then on stands behind the program's last line.
    void stop_table() { table_.reset(); }
    /// After the session's end. False where the recording is not whole.
    bool finish(const host::SessionView& view, const host::RunFacts& facts);
    /// "run.egpu" where it was written.
    const std::string& recorded() const { return file_; }

private:
    void record(const host::Session& session);

    const Watching watching_;
    std::string file_;
    std::unique_ptr<host::Recorder> recorder_;
    std::unique_ptr<LiveTable> table_;
    bool good_ = true;
};

}  // namespace egpu::cli
