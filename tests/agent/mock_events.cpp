// SPDX-License-Identifier: Apache-2.0
// Capture modes, and events of the mock driver on a clock that only launches move. Nobody but the agent makes any, so
// each must be made, recorded and asked in relaxed capture mode, and never recorded in a stream in capture. Environment
// variables:
//   MOCK_EVENTS_PENDING=1  events are done only after the next cuCtxSynchronize
//   MOCK_BUSY=2            they never are
//   MOCK_NO_EVENTS=N       creating one with a time fails after N of them
//   MOCK_HEAVY=1           every second launch of the program takes three times as long
#include "mock_events.hpp"

#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "mock_constants.hpp"

struct CUevent_st {
    CUcontext context = nullptr;
    bool has_time = false;
    unsigned long long at = 0;
    bool recorded = false;
};

namespace {

thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
std::mutex clock_lock;
unsigned long long clock_ns = 0, settled_ns = 0;
int launches = 0, events = 0;
std::string sequence;  // o: original, c: copy, r: cuEventRecord, R: cuEventRecord_ptsz, d: copy on the device

CUresult record(CUevent event, CUstream stream, char form) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuStreamIsCapturing(stream, &status);
    mock_must_be_relaxed();
    const std::lock_guard lock(clock_lock);
    sequence += form;
    if (status != CU_STREAM_CAPTURE_STATUS_NONE || event->context != mock_context_of(stream))
        return CUDA_ERROR_INVALID_HANDLE;
    event->at = clock_ns;
    event->recorded = true;
    return CUDA_SUCCESS;
}

bool is(const char* variable, const char* value) {
    const char* set = std::getenv(variable);
    return set != nullptr && std::string(set) == value;
}

}  // namespace

bool mock_is_relaxed() {
    return capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED;
}

void mock_ran(bool is_copy, unsigned long long nanoseconds) {
    const std::lock_guard lock(clock_lock);
    const bool heavy = is("MOCK_HEAVY", "1") && launches % 2 != 0;
    clock_ns += heavy ? 3 * nanoseconds : nanoseconds;
    ++launches;
    sequence += is_copy ? 'c' : 'o';
}

void mock_copied_on_device() {
    const std::lock_guard lock(clock_lock);
    sequence += 'd';
}

void mock_settled() {
    const std::lock_guard lock(clock_lock);
    settled_ns = clock_ns;
}

#pragma GCC visibility push(default)
extern "C" {

const char* mock_sequence(void) {
    const std::lock_guard lock(clock_lock);
    return sequence.c_str();
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    std::swap(*mode, capture_mode);
    return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned int flags) {
    mock_must_be_relaxed();
    const bool has_time = flags == CU_EVENT_DEFAULT;
    const char* most = std::getenv("MOCK_NO_EVENTS");
    const std::lock_guard lock(clock_lock);
    if (has_time && most != nullptr && events >= std::atoi(most))
        return CUDA_ERROR_OUT_OF_MEMORY;
    events += has_time ? 1 : 0;
    *event = new CUevent_st{mock_context_of(nullptr), has_time, 0, false};
    return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent event) {
    delete event;
    return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
    return record(event, stream, 'r');
}
CUresult cuEventRecord_ptsz(CUevent event, CUstream stream) {
    return record(event, stream, 'R');
}
CUresult cuEventQuery(CUevent event) {
    mock_must_be_relaxed();
    const std::lock_guard lock(clock_lock);
    const bool pending = is("MOCK_BUSY", "2") || (is("MOCK_EVENTS_PENDING", "1") && event->at > settled_ns);
    return pending ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
    const std::lock_guard lock(clock_lock);
    if (mock_context_of(nullptr) != begin->context || begin->context != end->context || !begin->recorded ||
        !end->recorded || !begin->has_time || !end->has_time)
        return CUDA_ERROR_INVALID_HANDLE;
    *milliseconds = static_cast<float>(static_cast<double>(end->at - begin->at) / 1e6);
    return CUDA_SUCCESS;
}

}  // extern "C"
#pragma GCC visibility pop
