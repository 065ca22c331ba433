// SPDX-License-Identifier: Apache-2.0
// Order among operations. Each runs on the calling thread when it is enqueued; what streams promise between threads is
// kept by locks.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>

#include "gpu/simulated/libcuda/driver.hpp"

namespace egpu::simulated {

/// Which default stream handle 0 means: that of plain entry points, or the thread's own of _ptsz and _ptds forms.
enum class DefaultStream { legacy, per_thread };

/// The stream behind a handle in a context; null where it is none of that context.
std::shared_ptr<Stream> find_stream(CUstream handle, DefaultStream zero, Context& context);

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

/// Runs `body` as an operation of a stream of the current context.
template <typename Body>
CUresult on_stream(CUstream handle, DefaultStream zero, const Body& body) noexcept {
    return entry_in_context([&](Driver& state, Context& context) -> CUresult {
        std::shared_ptr<Stream> stream = find_stream(handle, zero, context);
        if (stream == nullptr) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
        Stream& target = *stream;
        const StreamOrder order(std::move(stream));
        if (const CUresult sticky = context.sticky; sticky != CUDA_SUCCESS) {
            return sticky;  // an operation before this one failed meanwhile
        }
        return body(state, context, target);
    });
}

}  // namespace egpu::simulated
