// SPDX-License-Identifier: Apache-2.0
// cuStream*, cuEvent* and host functions.
#include "gpu/simulated/libcuda/streams.hpp"

#include <time.h>

namespace egpu::simulated {

namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

std::int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * kNanosecondsPerSecond + now.tv_nsec;
}

}  // namespace

std::shared_ptr<Stream> find_stream(CUstream handle, DefaultStream zero, DriverContext& context) {
    const bool own = handle == CU_STREAM_PER_THREAD || (handle == nullptr && zero == DefaultStream::per_thread);
    if (own) {
        const std::lock_guard lock(context.thread_streams_mutex);
        std::shared_ptr<Stream>& stream = context.thread_streams[std::this_thread::get_id()];
        if (stream == nullptr) {
            stream = std::make_shared<Stream>();
            stream->context = &context;
            stream->id = driver().next_id++;
        }
        return stream;
    }
    if (handle == nullptr || handle == CU_STREAM_LEGACY) {
        return {context.shared_from_this(), &context.legacy_stream};
    }
    return driver().streams.find(handle);
}

StreamOrder::StreamOrder(std::shared_ptr<Stream> stream) : stream_(std::move(stream)) {
    if (stream_->legacy) {
        alone_ = std::unique_lock(stream_->context->legacy_order);
    } else if (stream_->blocking()) {
        among_blocking_ = std::shared_lock(stream_->context->legacy_order);
    }
    own_ = std::unique_lock(stream_->order);
}

/// Runs a function of the application in which no call of the driver is allowed.
template <typename Call>
static void call_host(const Call& call) {
    in_host_function() = true;
    call();
    in_host_function() = false;
}

CUresult run_host(const HostWork& work) {
    call_host([&] { work.function(work.data); });
    return CUDA_SUCCESS;
}

void record_now(Event& event) {
    event.recorded_ns = now_ns();
}

bool is_busy(Stream& stream) {
    if (stream.legacy) {
        const std::unique_lock lock(stream.context->legacy_order, std::try_to_lock);
        return !lock.owns_lock();
    }
    const std::unique_lock lock(stream.order, std::try_to_lock);
    return !lock.owns_lock();
}

namespace {

CUresult create(CUstream* handle, unsigned flags, int priority) {
    return entry_in_context([&](Driver& state, DriverContext& context) -> CUresult {
        if (handle == nullptr || flags > CU_STREAM_NON_BLOCKING) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        auto stream = std::make_shared<Stream>();
        stream->context = &context;
        stream->flags = flags;
        stream->priority = std::min(0, std::max(priority, -5));
        stream->id = state.next_id++;
        state.streams.add(stream);
        *handle = reinterpret_cast<CUstream>(stream.get());
        return CUDA_SUCCESS;
    });
}

CUresult destroy(CUstream handle) {
    return entry_in_context([&](Driver& state, DriverContext&) -> CUresult {
        const std::shared_ptr<Stream> stream = state.streams.remove(handle);
        if (stream == nullptr) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
        forget_stream(*stream, state);
        return CUDA_SUCCESS;
    });
}

CUresult priority_of(CUstream handle, int* priority, DefaultStream zero) {
    return with_stream(handle, zero, [&](Driver&, DriverContext&, const std::shared_ptr<Stream>& stream) -> CUresult {
        if (priority == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *priority = stream->priority;
        return CUDA_SUCCESS;
    });
}

CUresult flags_of(CUstream handle, unsigned* flags, DefaultStream zero) {
    return with_stream(handle, zero, [&](Driver&, DriverContext&, const std::shared_ptr<Stream>& stream) -> CUresult {
        if (flags == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *flags = stream->flags;
        return CUDA_SUCCESS;
    });
}

CUresult id_of(CUstream handle, unsigned long long* id, DefaultStream zero) {
    return with_stream(handle, zero, [&](Driver&, DriverContext&, const std::shared_ptr<Stream>& stream) -> CUresult {
        if (id == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *id = stream->id;
        return CUDA_SUCCESS;
    });
}

CUresult context_handle_of(CUstream handle, CUcontext* context_handle, DefaultStream zero) {
    return with_stream(handle, zero, [&](Driver&, DriverContext& context, const std::shared_ptr<Stream>&) -> CUresult {
        if (context_handle == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *context_handle = reinterpret_cast<CUcontext>(&context);
        return CUDA_SUCCESS;
    });
}

CUresult wait_event(CUstream handle, CUevent event_handle, unsigned flags, DefaultStream zero) {
    return with_stream(handle, zero,
                       [&](Driver& state, DriverContext& context, const std::shared_ptr<Stream>& stream) -> CUresult {
                           const std::shared_ptr<Event> event = state.events.find(event_handle);
                           if (event == nullptr || flags > CU_EVENT_WAIT_EXTERNAL) {
                               return event == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
                           }
                           CUresult result = CUDA_SUCCESS;
                           if (capture_wait(stream, event, flags, state, &result)) {
                               return result;
                           }
                           // An event is recorded when its record call returns: there is nothing left to wait for.
                           return in_order(context, stream, [] { return CUDA_SUCCESS; });
                       });
}

CUresult attach_memory(CUstream handle, CUdeviceptr address, DefaultStream zero) {
    return on_stream(handle, zero, [&](Driver& state, DriverContext&, Stream&) -> CUresult {
        return state.memory.find(address).has_value() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

/// Before a call that asks for, or waits for, what is in a stream.
CUresult check_asking(Driver& state, Stream& stream) {
    const CUresult error = check_running(state, stream);
    return error != CUDA_SUCCESS ? error : check_waiting(state);
}

CUresult query(CUstream handle, DefaultStream zero) {
    return with_stream(handle, zero,
                       [](Driver& state, DriverContext&, const std::shared_ptr<Stream>& stream) -> CUresult {
                           if (const CUresult error = check_asking(state, *stream); error != CUDA_SUCCESS) {
                               return error;
                           }
                           return is_busy(*stream) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
                       });
}

CUresult synchronize(CUstream handle, DefaultStream zero) {
    return with_stream(handle, zero,
                       [](Driver& state, DriverContext& context, const std::shared_ptr<Stream>& stream) -> CUresult {
                           if (const CUresult error = check_asking(state, *stream); error != CUDA_SUCCESS) {
                               return error;
                           }
                           return in_order(context, stream, [] { return CUDA_SUCCESS; });
                       });
}

CUresult host_function(CUstream handle, CUhostFn function, void* data, DefaultStream zero) {
    return enqueue_work(handle, zero, Returns::at_once, [&](DriverContext&, Work& work, bool&) {
        work = HostWork{function, data};
        return function == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    });
}

CUresult callback(CUstream handle, CUstreamCallback function, void* data, unsigned flags, DefaultStream zero) {
    return on_stream(handle, zero, [&](Driver&, DriverContext&, Stream&) -> CUresult {
        if (function == nullptr || flags != 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        call_host([&] { function(handle, CUDA_SUCCESS, data); });
        return CUDA_SUCCESS;
    });
}

CUresult record(CUevent handle, CUstream stream_handle, unsigned flags, DefaultStream zero) {
    return with_stream(stream_handle, zero,
                       [&](Driver& state, DriverContext& context, const std::shared_ptr<Stream>& stream) -> CUresult {
                           const std::shared_ptr<Event> event = state.events.find(handle);
                           if (event == nullptr || event->context != &context) {
                               return CUDA_ERROR_INVALID_HANDLE;
                           }
                           if (flags > CU_EVENT_RECORD_EXTERNAL) {
                               return CUDA_ERROR_INVALID_VALUE;
                           }
                           CUresult result = CUDA_SUCCESS;
                           if (capture_record(*stream, event, flags, state, &result)) {
                               return result;
                           }
                           if (result = check_running(state, *stream); result != CUDA_SUCCESS) {
                               return result;
                           }
                           return in_order(context, stream, [&] {
                               record_now(*event);
                               return CUDA_SUCCESS;
                           });
                       });
}

CUresult elapsed(float* milliseconds, CUevent from, CUevent to) {
    return entry_in_context([&](Driver& state, DriverContext&) -> CUresult {
        const std::shared_ptr<Event> begin = state.events.find(from);
        const std::shared_ptr<Event> end = state.events.find(to);
        if (milliseconds == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        for (const auto& event : {begin, end}) {
            if (event == nullptr) {
                return CUDA_ERROR_INVALID_HANDLE;
            }
            if (const CUresult error = check_event(*event, state); error != CUDA_SUCCESS) {
                return error;
            }
        }
        if (((begin->flags | end->flags) & CU_EVENT_DISABLE_TIMING) != 0 || begin->recorded_ns == 0 ||
            end->recorded_ns == 0) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
        *milliseconds = static_cast<float>(static_cast<double>(end->recorded_ns - begin->recorded_ns) * 1e-6);
        return CUDA_SUCCESS;
    });
}

CUresult destroy_event(CUevent handle) {
    return entry([&](Driver& state) -> CUresult {
        return state.events.remove(handle) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
    });
}

/// An event that was recorded is complete here; asking and waiting are the same.
CUresult known_event(CUevent handle) {
    return entry_in_context([&](Driver& state, DriverContext&) -> CUresult {
        const std::shared_ptr<Event> event = state.events.find(handle);
        if (event == nullptr) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
        const CUresult error = check_event(*event, state);
        return error != CUDA_SUCCESS ? error : check_waiting(state);
    });
}

constexpr DefaultStream kLegacy = DefaultStream::legacy;
constexpr DefaultStream kOwn = DefaultStream::per_thread;

}  // namespace

}  // namespace egpu::simulated

using namespace egpu::simulated;

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
    return create(stream, flags, 0);
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
    return create(stream, flags, priority);
}
CUresult cuStreamDestroy(CUstream stream) {
    return destroy(stream);
}
CUresult cuStreamDestroy_v2(CUstream stream) {
    return destroy(stream);
}
CUresult cuStreamGetPriority(CUstream stream, int* priority) {
    return priority_of(stream, priority, kLegacy);
}
CUresult cuStreamGetPriority_ptsz(CUstream stream, int* priority) {
    return priority_of(stream, priority, kOwn);
}
CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
    return flags_of(stream, flags, kLegacy);
}
CUresult cuStreamGetFlags_ptsz(CUstream stream, unsigned* flags) {
    return flags_of(stream, flags, kOwn);
}
CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
    return id_of(stream, id, kLegacy);
}
CUresult cuStreamGetId_ptsz(CUstream stream, unsigned long long* id) {
    return id_of(stream, id, kOwn);
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
    return context_handle_of(stream, context, kLegacy);
}
CUresult cuStreamGetCtx_ptsz(CUstream stream, CUcontext* context) {
    return context_handle_of(stream, context, kOwn);
}
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    return wait_event(stream, event, flags, kLegacy);
}
CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned flags) {
    return wait_event(stream, event, flags, kOwn);
}
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback function, void* data, unsigned flags) {
    return callback(stream, function, data, flags, kLegacy);
}
CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback function, void* data, unsigned flags) {
    return callback(stream, function, data, flags, kOwn);
}
CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t, unsigned) {
    return attach_memory(stream, address, kLegacy);
}
CUresult cuStreamAttachMemAsync_ptsz(CUstream stream, CUdeviceptr address, size_t, unsigned) {
    return attach_memory(stream, address, kOwn);
}
CUresult cuStreamQuery(CUstream stream) {
    return query(stream, kLegacy);
}
CUresult cuStreamQuery_ptsz(CUstream stream) {
    return query(stream, kOwn);
}
CUresult cuStreamSynchronize(CUstream stream) {
    return synchronize(stream, kLegacy);
}
CUresult cuStreamSynchronize_ptsz(CUstream stream) {
    return synchronize(stream, kOwn);
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
    return host_function(stream, function, data, kLegacy);
}
CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void* data) {
    return host_function(stream, function, data, kOwn);
}

CUresult cuEventCreate(CUevent* handle, unsigned flags) {
    return entry_in_context([&](Driver& state, DriverContext& context) -> CUresult {
        constexpr unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
        if (handle == nullptr || (flags & ~(known | CU_EVENT_INTERPROCESS)) != 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if ((flags & CU_EVENT_INTERPROCESS) != 0) {
            return CUDA_ERROR_NOT_SUPPORTED;
        }
        auto event = std::make_shared<Event>();
        event->context = &context;
        event->flags = flags;
        state.events.add(event);
        *handle = reinterpret_cast<CUevent>(event.get());
        return CUDA_SUCCESS;
    });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    return record(event, stream, 0, kLegacy);
}
CUresult cuEventRecord_ptsz(CUevent event, CUstream stream) {
    return record(event, stream, 0, kOwn);
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
    return record(event, stream, flags, kLegacy);
}
CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned flags) {
    return record(event, stream, flags, kOwn);
}
CUresult cuEventQuery(CUevent event) {
    return known_event(event);
}
CUresult cuEventSynchronize(CUevent event) {
    return known_event(event);
}
CUresult cuEventDestroy(CUevent event) {
    return destroy_event(event);
}
CUresult cuEventDestroy_v2(CUevent event) {
    return destroy_event(event);
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
    return elapsed(milliseconds, from, to);
}
CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent from, CUevent to) {
    return elapsed(milliseconds, from, to);
}
