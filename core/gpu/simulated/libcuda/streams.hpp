// SPDX-License-Identifier: Apache-2.0
// Order among operations. Each runs on the calling thread when it is enqueued; what streams promise between threads is
// kept by locks.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>

#include "gpu/simulated/libcuda/capture.hpp"

namespace egpu::simulated {

/// Which default stream handle 0 means: that of plain entry points, or the thread's own of _ptsz and _ptds forms.
enum class DefaultStream { legacy, per_thread };

/// The stream behind a handle; default streams are those of `context`. Null where there is none. Streams of other
/// contexts than the current one are taken, as on a GPU: what is done in them belongs to their context.
std::shared_ptr<Stream> find_stream(CUstream handle, DefaultStream zero, DriverContext& context);

/// Held while an operation of a stream runs: after all that stood before it, before all that comes later.
class StreamOrder {
public:
    explicit StreamOrder(std::shared_ptr<Stream> stream);
    StreamOrder(const StreamOrder&) = delete;
    StreamOrder& operator=(const StreamOrder&) = delete;

private:
    std::shared_ptr<Stream> stream_;
    std::unique_lock<std::shared_mutex> alone_;
    std::shared_lock<std::shared_mutex> among_blocking_;
    std::unique_lock<std::mutex> own_;
};

/// True where an operation of the stream, or one it has to wait for, runs now.
bool is_busy(Stream& stream);

/// Runs a body with a stream and the stream's context, without waiting for its operations.
template <typename Body>
CUresult with_stream(CUstream handle, DefaultStream zero, const Body& body) noexcept {
    return entry_in_context([&](Driver& state, DriverContext& current) -> CUresult {
        const std::shared_ptr<Stream> stream = find_stream(handle, zero, current);
        if (stream == nullptr) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
        // The context stays while its stream is used here, even if another thread destroys it.
        const std::shared_ptr<DriverContext> context =
            stream->context == &current ? current.shared_from_this() : state.contexts.find(stream->context);
        return context == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(state, *context, stream);
    });
}

/// entry_in_context for calls that may wait for the GPU, which captures forbid.
template <typename Body>
CUresult entry_that_waits(const Body& body) noexcept {
    return entry_in_context([&](Driver& state, DriverContext& context) -> CUresult {
        const CUresult error = check_waiting(state);
        return error != CUDA_SUCCESS ? error : body(state, context);
    });
}

/// Runs `body` after what the stream has to wait for, before what waits for it.
template <typename Body>
CUresult in_order(DriverContext& context, const std::shared_ptr<Stream>& stream, const Body& body) {
    const LoadGate::Work work(context.loads);
    const StreamOrder order(stream);
    if (const CUresult sticky = context.sticky; sticky != CUDA_SUCCESS) {
        return sticky;  // an operation before this one failed meanwhile
    }
    return body();
}

/// Runs `body` as an operation of a stream that can't be captured.
template <typename Body>
CUresult on_stream(CUstream handle, DefaultStream zero, const Body& body) noexcept {
    return with_stream(handle, zero,
                       [&](Driver& state, DriverContext& context, const std::shared_ptr<Stream>& stream) -> CUresult {
                           if (const CUresult error = check_running(state, *stream); error != CUDA_SUCCESS) {
                               return error;
                           }
                           return in_order(context, stream, [&] { return body(state, context, *stream); });
                       });
}

/// Whether a call returns when its operation is enqueued or when it is done.
enum class Returns { at_once, when_done };

/// Runs work as an operation of a stream, or makes it a node of the stream's capture. `prepare` fills the work in.
/// Work that has nothing to do (`empty` returns true) is neither.
template <typename Prepare>
CUresult enqueue_work(CUstream handle, DefaultStream zero, Returns returns, const Prepare& prepare) noexcept {
    return with_stream(
        handle, zero, [&](Driver& state, DriverContext& context, const std::shared_ptr<Stream>& stream) -> CUresult {
            Work work;
            bool something = true;
            const CUresult error = prepare(context, work, something);
            if (any_capture(state)) {
                CUresult result = CUDA_SUCCESS;
                if (returns == Returns::at_once &&
                    capture_work(*stream, something ? &work : nullptr, error, state, &result)) {
                    return result;
                }
                if (result = check_running(state, *stream); result != CUDA_SUCCESS) {
                    return result;
                }
            }
            if (error != CUDA_SUCCESS || !something) {
                return error;
            }
            return in_order(context, stream, [&] {
                return run_work(work, std::holds_alternative<KernelWork>(work) ? ++state.launches : 0, state);
            });
        });
}

}  // namespace egpu::simulated
