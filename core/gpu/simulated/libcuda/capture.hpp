// SPDX-License-Identifier: Apache-2.0
// Stream capture: operations of a stream become nodes of a graph. Which calls a capture forbids, to whom, and what it
// answers to them follows what was measured on a GPU (core/gpu/README.md).
#pragma once

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "gpu/simulated/libcuda/graph.hpp"

namespace egpu::simulated {

struct Capture {
    unsigned long long id = 0;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::thread::id thread;
    DriverContext* context = nullptr;
    Stream* origin = nullptr;
    std::shared_ptr<Graph> graph;
    bool invalid = false;
    bool ended = false;
    bool lost_work = false;  ///< a stream in it was destroyed before anyone waited for its work
    /// The streams in it, each with the nodes that its next one depends on.
    std::map<Stream*, std::vector<GraphNode*>> streams;
    std::vector<CUgraphNode> told;  ///< the dependencies that were last asked for
    std::vector<CUgraphEdgeData> told_edges;
};

/// An event that was recorded in a capture stands for nodes, not for a moment.
struct CapturedEvent {
    std::shared_ptr<Capture> capture;
    std::vector<GraphNode*> nodes;
};

/// True while any stream of the process is captured: the one question on the way of every operation.
inline bool any_capture(const Driver& state) {
    return state.captures.load(std::memory_order_acquire) != 0;
}

bool is_captured(const Stream& stream);

/// Before a call that may wait for the GPU: an error where a capture forbids it to this thread, and the end of those
/// captures.
CUresult check_waiting(Driver& state);
/// Before a call that waits for all of a context; no capture mode allows it.
CUresult check_context_wait(Driver& state, const DriverContext& context);
/// Before an operation of a stream that runs now: an error where the stream is captured, or is the default stream that
/// captured streams would wait for.
CUresult check_running(Driver& state, Stream& stream);

/// Makes work a node of the stream's capture; work that is nothing (null) makes none. `error` is what preparing it
/// gave. Returns false where the stream is not captured.
bool capture_work(Stream& stream, Work* work, CUresult error, Driver& state, CUresult* result);

/// cuEventRecord and cuStreamWaitEvent as far as captures are concerned; false where they have to happen now.
bool capture_record(Stream& stream, const std::shared_ptr<Event>& event, unsigned flags, Driver& state,
                    CUresult* result);
bool capture_wait(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Event>& event, unsigned flags,
                  Driver& state, CUresult* result);
/// Before an event is waited for or asked: an error where it was recorded in a capture.
CUresult check_event(const Event& event, Driver& state);

/// A stream, or all of a context, goes.
void forget_stream(Stream& stream, Driver& state);
void forget_context(const DriverContext& context, Driver& state);

}  // namespace egpu::simulated
