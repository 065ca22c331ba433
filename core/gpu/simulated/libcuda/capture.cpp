// SPDX-License-Identifier: Apache-2.0
// Captures in progress: what joins them, what they forbid, what ends them.
#include "gpu/simulated/libcuda/capture.hpp"

#include <algorithm>

#include "gpu/simulated/libcuda/streams.hpp"

namespace egpu::simulated {

namespace {

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/// Takes a capture off its streams. What it made is the caller's.
void close(Capture& capture, Driver& state) {
    capture.ended = true;
    capture.graph->captured = false;
    for (const auto& entry : capture.streams) {
        entry.first->capture = nullptr;
    }
    std::erase_if(state.in_capture, [&](const auto& one) { return one.get() == &capture; });
    state.captures = static_cast<unsigned>(state.in_capture.size());
}

void abandon(const std::shared_ptr<Capture>& capture, Driver& state) {
    close(*capture, state);
    retire_graph(*capture->graph, state);
}

/// Whether a capture keeps this thread from calls that wait.
bool forbids_waiting(const Capture& capture) {
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) {
        return false;
    }
    const bool own = capture.thread == std::this_thread::get_id() && capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool everywhere =
        thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    return own || everywhere;
}

/// Ends every capture that meets a condition with an error; true where there was one.
template <typename Condition>
bool invalidate_where(Driver& state, const Condition& condition) {
    bool any = false;
    for (const std::shared_ptr<Capture>& capture : state.in_capture) {
        if (condition(*capture)) {
            capture->invalid = true;
            any = true;
        }
    }
    return any;
}

bool has_blocking_stream(const Capture& capture) {
    return std::any_of(capture.streams.begin(), capture.streams.end(),
                       [](const auto& entry) { return entry.first->blocking(); });
}

void add_unique(std::vector<GraphNode*>& nodes, const std::vector<GraphNode*>& more) {
    for (GraphNode* node : more) {
        if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) {
            nodes.push_back(node);
        }
    }
}

/// Adds a node behind what the stream did last.
void append(Stream& stream, Work work, Driver& state) {
    Capture& capture = *stream.capture;
    std::vector<GraphNode*>& last = capture.streams[&stream];
    GraphNode* const node = add_node(*capture.graph, std::move(work), last, state);
    last = {node};
}

}  // namespace

bool is_captured(const Stream& stream) {
    if (!any_capture(driver())) {
        return false;
    }
    const std::lock_guard lock(graphs_mutex());
    return stream.capture != nullptr;
}

CUresult check_waiting(Driver& state) {
    if (!any_capture(state)) {
        return CUDA_SUCCESS;
    }
    const std::lock_guard lock(graphs_mutex());
    return invalidate_where(state, forbids_waiting) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult check_context_wait(Driver& state, const DriverContext& context) {
    if (!any_capture(state)) {
        return CUDA_SUCCESS;
    }
    const std::lock_guard lock(graphs_mutex());
    const auto inside = [&](const Capture& capture) { return capture.context == &context; };
    return invalidate_where(state, inside) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult check_running(Driver& state, Stream& stream) {
    if (!any_capture(state)) {
        return CUDA_SUCCESS;
    }
    const std::lock_guard lock(graphs_mutex());
    if (stream.capture != nullptr) {
        stream.capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    const auto waits_for = [&](const Capture& capture) {
        return capture.context == stream.context && has_blocking_stream(capture);
    };
    return stream.legacy && invalidate_where(state, waits_for) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

bool capture_work(Stream& stream, Work* work, CUresult error, Driver& state, CUresult* result) {
    const std::lock_guard lock(graphs_mutex());
    if (stream.capture == nullptr) {
        return false;
    }
    if (stream.capture->invalid) {
        *result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        return true;
    }
    *result = error;
    if (error != CUDA_SUCCESS) {
        stream.capture->invalid = true;
        return true;
    }
    if (work != nullptr) {
        append(stream, std::move(*work), state);
    }
    return true;
}

bool capture_record(Stream& stream, const std::shared_ptr<Event>& event, unsigned flags, Driver& state,
                    CUresult* result) {
    const std::lock_guard lock(graphs_mutex());
    if (stream.capture == nullptr) {
        event->captured = nullptr;
        return false;
    }
    if (stream.capture->invalid) {
        *result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    } else if (flags == CU_EVENT_RECORD_EXTERNAL) {
        append(stream, RecordEventWork{event}, state);
    } else {
        auto captured = std::make_shared<CapturedEvent>();
        captured->capture = stream.capture;
        captured->nodes = stream.capture->streams[&stream];
        event->captured = std::move(captured);
    }
    return true;
}

namespace {

/// A captured stream waits for something that happens outside of its capture.
CUresult wait_outside(Stream& stream, const std::shared_ptr<Event>& event, unsigned flags, Driver& state) {
    if (stream.capture->invalid) {
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    if (flags == CU_EVENT_WAIT_EXTERNAL) {
        append(stream, WaitEventWork{event}, state);
        return CUDA_SUCCESS;
    }
    if (event->recorded_ns == 0) {
        return CUDA_SUCCESS;  // never recorded: nothing to wait for
    }
    stream.capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
}

}  // namespace

bool capture_wait(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Event>& event, unsigned flags,
                  Driver& state, CUresult* result) {
    const std::lock_guard lock(graphs_mutex());
    const std::shared_ptr<CapturedEvent> captured = event->captured;
    if (captured == nullptr) {
        if (stream->capture != nullptr) {
            *result = wait_outside(*stream, event, flags, state);
        }
        return stream->capture != nullptr;
    }
    const std::shared_ptr<Capture>& capture = captured->capture;
    if (capture->ended || capture->invalid) {
        *result = CUDA_ERROR_INVALID_VALUE;
    } else if (stream->legacy) {
        capture->invalid = true;
        *result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    } else if (stream->capture != nullptr && stream->capture != capture) {
        capture->invalid = true;
        stream->capture->invalid = true;
        *result = CUDA_ERROR_STREAM_CAPTURE_MERGE;
    } else {
        stream->capture = capture;
        add_unique(capture->streams[stream.get()], captured->nodes);
    }
    return true;
}

CUresult check_event(const Event& event, Driver&) {
    const std::lock_guard lock(graphs_mutex());
    if (event.captured == nullptr) {
        return CUDA_SUCCESS;
    }
    Capture& capture = *event.captured->capture;
    if (capture.ended || capture.invalid) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    capture.invalid = true;
    return CUDA_ERROR_CAPTURED_EVENT;
}

void forget_stream(Stream& stream, Driver& state) {
    const std::lock_guard lock(graphs_mutex());
    const std::shared_ptr<Capture> capture = stream.capture;
    if (capture == nullptr) {
        return;
    }
    if (capture->origin == &stream) {
        abandon(capture, state);
        return;
    }
    // What it did and nobody waited for can't be joined any more.
    const auto left = capture->streams.extract(&stream);
    const std::vector<GraphNode*>& origin = capture->streams[capture->origin];
    for (const GraphNode* node : left.mapped()) {
        capture->lost_work = capture->lost_work || !is_before(node, origin);
    }
    stream.capture = nullptr;
}

void forget_context(const DriverContext& context, Driver& state) {
    if (!any_capture(state)) {
        return;
    }
    const std::lock_guard lock(graphs_mutex());
    const std::vector<std::shared_ptr<Capture>> all = state.in_capture;
    for (const std::shared_ptr<Capture>& capture : all) {
        if (capture->context == &context) {
            abandon(capture, state);
        }
    }
}

namespace {

CUresult begin(CUstream handle, CUstreamCaptureMode mode, DefaultStream zero) {
    return with_stream(handle, zero,
                       [&](Driver& state, DriverContext& context, const std::shared_ptr<Stream>& stream) -> CUresult {
                           if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
                               return CUDA_ERROR_INVALID_VALUE;
                           }
                           if (stream->legacy) {
                               return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
                           }
                           const std::lock_guard lock(graphs_mutex());
                           if (stream->capture != nullptr) {
                               return CUDA_ERROR_ILLEGAL_STATE;
                           }
                           auto capture = std::make_shared<Capture>();
                           capture->id = state.next_id++;
                           capture->mode = mode;
                           capture->thread = std::this_thread::get_id();
                           capture->context = &context;
                           capture->origin = stream.get();
                           capture->graph = make_graph(state);
                           capture->graph->captured = true;
                           capture->streams[stream.get()] = {};
                           stream->capture = capture;
                           state.in_capture.push_back(std::move(capture));
                           state.captures = static_cast<unsigned>(state.in_capture.size());
                           return CUDA_SUCCESS;
                       });
}

/// Whether all work of the other streams is before what the first one did last.
bool is_joined(const Capture& capture) {
    const std::vector<GraphNode*>& origin = capture.streams.at(capture.origin);
    for (const auto& entry : capture.streams) {
        for (const GraphNode* node : entry.second) {
            if (!is_before(node, origin)) {
                return false;
            }
        }
    }
    return !capture.lost_work;
}

CUresult end(CUstream handle, CUgraph* graph, DefaultStream zero) {
    return with_stream(
        handle, zero, [&](Driver& state, DriverContext&, const std::shared_ptr<Stream>& stream) -> CUresult {
            const std::lock_guard lock(graphs_mutex());
            const std::shared_ptr<Capture> capture = stream->capture;
            if (capture == nullptr) {
                return CUDA_ERROR_ILLEGAL_STATE;
            }
            if (graph != nullptr) {
                *graph = nullptr;
            }
            if (capture->origin != stream.get()) {
                capture->invalid = true;
                return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
            }
            CUresult result = CUDA_SUCCESS;
            if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id()) {
                result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
            } else if (capture->invalid) {
                result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
            } else if (!is_joined(*capture)) {
                result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
            }
            if (result != CUDA_SUCCESS || graph == nullptr) {
                abandon(capture, state);
            } else {
                close(*capture, state);
                *graph = handle_of(capture->graph.get());
            }
            return result;
        });
}

struct Told {
    cuuint64_t* id = nullptr;
    CUgraph* graph = nullptr;
    const CUgraphNode** dependencies = nullptr;
    const CUgraphEdgeData** edges = nullptr;
    std::size_t* count = nullptr;
};

/// What is asked for of a capture; the arrays stay until the next question about it.
CUresult info(CUstream handle, CUstreamCaptureStatus* status, const Told& told, DefaultStream zero) {
    return with_stream(handle, zero, [&](Driver&, DriverContext&, const std::shared_ptr<Stream>& stream) -> CUresult {
        if (status == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const std::lock_guard lock(graphs_mutex());
        Capture* const capture = stream->capture.get();
        *status = capture == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE
                  : capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                     : CU_STREAM_CAPTURE_STATUS_ACTIVE;
        if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
            return CUDA_SUCCESS;
        }
        const std::vector<GraphNode*>& last = capture->streams[stream.get()];
        capture->told.clear();
        for (const GraphNode* node : last) {
            capture->told.push_back(handle_of(node));
        }
        capture->told_edges.assign(last.size(), CUgraphEdgeData{});
        if (told.id != nullptr) {
            *told.id = capture->id;
        }
        if (told.graph != nullptr) {
            *told.graph = handle_of(capture->graph.get());
        }
        if (told.dependencies != nullptr) {
            *told.dependencies = capture->told.data();
        }
        if (told.edges != nullptr) {
            *told.edges = capture->told_edges.data();
        }
        if (told.count != nullptr) {
            *told.count = last.size();
        }
        return CUDA_SUCCESS;
    });
}

constexpr DefaultStream kLegacy = DefaultStream::legacy;
constexpr DefaultStream kOwn = DefaultStream::per_thread;

}  // namespace

}  // namespace egpu::simulated

using namespace egpu::simulated;

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    return entry([&](Driver&) -> CUresult {
        if (mode == nullptr || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        std::swap(*mode, thread_mode);
        return CUDA_SUCCESS;
    });
}

CUresult cuStreamBeginCapture(CUstream stream) {
    return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, kLegacy);
}
CUresult cuStreamBeginCapture_ptsz(CUstream stream) {
    return begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL, kOwn);
}
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    return begin(stream, mode, kLegacy);
}
CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
    return begin(stream, mode, kOwn);
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    return end(stream, graph, kLegacy);
}
CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph* graph) {
    return end(stream, graph, kOwn);
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    return info(stream, status, {}, kLegacy);
}
CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus* status) {
    return info(stream, status, {}, kOwn);
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** dependencies, size_t* count) {
    return info(stream, status, {id, graph, dependencies, nullptr, count}, kLegacy);
}
CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                        const CUgraphNode** dependencies, size_t* count) {
    return info(stream, status, {id, graph, dependencies, nullptr, count}, kOwn);
}
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** dependencies, const CUgraphEdgeData** edges, size_t* count) {
    return info(stream, status, {id, graph, dependencies, edges, count}, kLegacy);
}
CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                        const CUgraphNode** dependencies, const CUgraphEdgeData** edges,
                                        size_t* count) {
    return info(stream, status, {id, graph, dependencies, edges, count}, kOwn);
}
