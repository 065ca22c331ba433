// SPDX-License-Identifier: Apache-2.0
// Streams, events, host functions.
#include "gpu/simulated/libcudart/entry.hpp"

using namespace egpu::simulated::runtime;

namespace {

cudaError_t create(cudaStream_t* stream, unsigned flags, int priority) {
    return call_driver(
        [&](const DriverCalls& driver) { return driver.cuStreamCreateWithPriority(stream, flags, priority); });
}

cudaError_t synchronize(CUstream stream) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuStreamSynchronize(stream); });
}

cudaError_t query(CUstream stream) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuStreamQuery(stream); });
}

cudaError_t wait_event(CUstream stream, CUevent event, unsigned flags) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuStreamWaitEvent(stream, event, flags); });
}

cudaError_t host_function(CUstream stream, CUhostFn function, void* data) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuLaunchHostFunc(stream, function, data); });
}

cudaError_t record(CUevent event, CUstream stream) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuEventRecord(event, stream); });
}

}  // namespace

ENTRY cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return create(stream, 0, 0);
}
ENTRY cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return create(stream, flags, 0);
}
ENTRY cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    return create(stream, flags, priority);
}
ENTRY cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuStreamDestroy(stream); });
}
ENTRY cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return synchronize(stream);
}
ENTRY cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream) {
    return synchronize(own_default(stream));
}
ENTRY cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return query(stream);
}
ENTRY cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream) {
    return query(own_default(stream));
}
ENTRY cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    return wait_event(stream, event, flags);
}
ENTRY cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    return wait_event(own_default(stream), event, flags);
}
ENTRY cudaError_t cudaLaunchHostFunc(cudaStream_t stream, CUhostFn function, void* data) {
    return host_function(stream, function, data);
}
ENTRY cudaError_t cudaLaunchHostFunc_ptsz(cudaStream_t stream, CUhostFn function, void* data) {
    return host_function(own_default(stream), function, data);
}
/// The two callback types differ in the name of the error only, and these have the same values.
ENTRY cudaError_t cudaStreamAddCallback(cudaStream_t stream, CUstreamCallback function, void* data, unsigned flags) {
    return call_driver(
        [&](const DriverCalls& driver) { return driver.cuStreamAddCallback(stream, function, data, flags); });
}
ENTRY cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuStreamGetFlags(stream, flags); });
}
ENTRY cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuStreamGetPriority(stream, priority); });
}
ENTRY cudaError_t cudaStreamIsCapturing(cudaStream_t stream, CUstreamCaptureStatus* status) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuStreamIsCapturing(stream, status); });
}
ENTRY cudaError_t cudaStreamIsCapturing_ptsz(cudaStream_t stream, CUstreamCaptureStatus* status) {
    return cudaStreamIsCapturing(own_default(stream), status);
}

ENTRY cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuEventCreate(event, flags); });
}
ENTRY cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return cudaEventCreateWithFlags(event, 0);
}
ENTRY cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return record(event, stream);
}
ENTRY cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream) {
    return record(event, own_default(stream));
}
ENTRY cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuEventRecordWithFlags(event, stream, flags); });
}
ENTRY cudaError_t cudaEventQuery(cudaEvent_t event) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuEventQuery(event); });
}
ENTRY cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuEventSynchronize(event); });
}
ENTRY cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuEventDestroy(event); });
}
ENTRY cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
    return call_driver([&](const DriverCalls& driver) { return driver.cuEventElapsedTime(milliseconds, from, to); });
}
