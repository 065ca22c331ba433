// SPDX-License-Identifier: Apache-2.0
// Whether this process is observed, and by whom: the segment, its claim, the egpu process's life.
#pragma once

#include "segment/access/view.hpp"

namespace egpu::agent {

enum class Mode : int {
    waiting = 0,    ///< no cuInit so far
    observing = 1,  ///< copies are loaded and launched
    originals = 2,  ///< launches are counted, originals run: detached, drained, host gone, device lost
    silent = 3,     ///< no session, another process of the application has it, or a forked child
};

/// One relaxed load: what every wrapper asks first.
Mode mode();
inline bool is_counting(Mode mode) {
    return mode == Mode::observing || mode == Mode::originals;
}
inline bool counting() {
    return is_counting(mode());
}

/// On the first successful cuInit: opens the segment that EGPU_SEGMENT names and claims it. True on the call that made
/// this process the observed one.
bool start_session();

/// The segment; only while counting(). It is never unmapped.
const segment::View& view();
/// Takes in maps that were added to the segment. One thread at a time.
void refresh_view();

/// Stops swapping, for good; launches go on being counted.
void run_originals();

/// True where this is the process that claimed the session, not a forked or vforked child of it.
bool is_own_process();

/// True while the egpu process lives and has not ended the session. `thorough` looks at /proc whatever the heartbeat.
bool host_alive(bool thorough);

/// Records an error of the device or of the agent, once; `text` is cut to fit.
void report_error(std::uint32_t code, const char* text);

/// At the application's end: removes the segment that a dead egpu process left.
void remove_orphaned_segment();

}  // namespace egpu::agent
