// SPDX-License-Identifier: Apache-2.0
// egpu run --live: a table in the last lines of the terminal, below those that the program prints. The program's own
// output is not touched: it goes to the terminal by itself and scrolls in the lines above (the terminal's scroll
// region); the table is drawn in one write between saving and restoring the cursor.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "base/result.hpp"

namespace egpu::cli {

class LiveTable {
public:
    /// EGPU-X081 where stderr is no terminal that can keep lines in place, or one with too few.
    static Status possible();

    /// Makes room: from here on the program's lines scroll above.
    LiveTable();
    /// Gives the lines back.
    ~LiveTable();
    LiveTable(const LiveTable&) = delete;
    LiveTable& operator=(const LiveTable&) = delete;

    /// Begins to draw the session of this segment, on a thread of its own.
    void watch(const std::string& segment_name);

private:
    void run(const std::string& segment_name);
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace egpu::cli
