// SPDX-License-Identifier: Apache-2.0
// Which function a launch runs. One lookup by handle, plus cuCtxGetCurrent for a kernel of a library (cuStreamGetCtx
// where several contexts live and a stream is given) and, while any capture is under way, cuStreamIsCapturing; no lock,
// no allocation, no clock. Where a context has no copies yet and is idle, they are loaded first.
#pragma once

#include "agent/kernels/inventory.hpp"
#include "agent/maps/idle.hpp"
#include "agent/timing/timers.hpp"
#include "gpu/device/driver.h"
#include "segment/layout/layout.h"

namespace egpu::agent {

/// Whether what is launched on a stream is recorded. Unknown: the legacy stream beside a capture (which a launch there
/// would end), or the driver doesn't say.
enum class Capture { none, active, unknown };

struct Dimensions {
    unsigned int x = 1, y = 1, z = 1;
};

/// A launch as far as the choice depends on it.
struct LaunchShape {
    BlockShape block;
    CUstream stream = nullptr;
    StreamForm form = StreamForm::legacy;
    bool recorded = false;               ///< not a launch: it goes into a node of a graph
    Dimensions grid = {}, threads = {};  ///< of a launch
};

/// What to launch, and how to book it afterwards.
struct Choice {
    CUfunction function = nullptr;
    Kernel* kernel = nullptr;  ///< null: not one of ours
    bool counted = false;      ///< there is a session to count it in
    bool is_copy = false;
    /// Not none: it goes, or may go, into a graph, and runs and counts when that is launched.
    Capture capture = Capture::none;
    unsigned int place = kNoPlace;           ///< of the copy
    egpu_copy_counters* counters = nullptr;  ///< of the copy
    bool left_out = false;                   ///< its copy was not to run: another launch's turn
    bool banked = false;                     ///< the copy's form with constants of its own (kernels/constants.hpp)
};

/// `timed` is changed where the launch is timed: its time has begun, end_time() belongs after it. Null only for what is
/// recorded.
Choice choose(CUfunction asked, const LaunchShape& shape, TimedLaunch* timed = nullptr);

/// Before a capture is begun somewhere: from now on launches may be recorded.
void capture_begins();
/// After one was ended, or could not be begun.
void capture_ended();
/// One relaxed load where no capture is under way; else the driver is asked.
Capture capture_of(CUstream stream, StreamForm form);
/// Before a graph is launched on the stream: its context has work.
void graph_queued(CUstream stream, StreamForm form);
/// Before that: whether nothing that the application launched is still running there, as far as that is known.
bool context_idle(CUstream stream);

/// A launch of a kind that runs the original whatever there is.
Choice original_only(CUfunction asked);

/// After the launch: counts it, unless it was recorded. True where the copy could not be launched and the original is
/// to be launched instead (an error of this kind leaves the context as it was).
bool book(const Choice& choice, CUresult result);

/// After that: retires a copy that failed where its original did not.
void original_took_over(const Choice& choice, CUresult copy_result, CUresult original_result);

}  // namespace egpu::agent
