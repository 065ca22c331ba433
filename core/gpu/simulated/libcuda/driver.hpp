// SPDX-License-Identifier: Apache-2.0
// The state behind the driver interface: devices, their contexts and all handles; and the frame that every entry point
// runs in.
#pragma once

#include <mutex>
#include <new>
#include <string>
#include <string_view>

#include "gpu/device/driver.h"
#include "gpu/simulated/executor/device.hpp"
#include "gpu/simulated/libcuda/arrays.hpp"
#include "gpu/simulated/libcuda/device_memories.hpp"
#include "gpu/simulated/libcuda/handles.hpp"
#include "gpu/simulated/libcuda/objects.hpp"

namespace egpu::simulated {

/// How an allocation was made, hence how it may be freed.
enum class Origin { device, managed, pinned, registered };

struct OwnedMemory {
    DriverContext* context = nullptr;
    Origin origin = Origin::device;
    unsigned flags = 0;
    std::uint64_t bytes = 0;
};

struct Graph;
struct GraphNode;
struct GraphInstance;

/// The context of a device that libraries share.
struct PrimaryContext {
    std::shared_ptr<DriverContext> context;
    unsigned references = 0;
};

/// Everything is kept until the process ends: applications launch from static destructors.
struct Driver {
    DeviceMemories memory{device_count()};
    Handles<DriverContext> contexts;
    Handles<LoadedModule> modules;
    Handles<Function> functions;
    Handles<Library> libraries;
    Handles<LibraryKernel> kernels;
    Handles<Stream> streams;
    Handles<Event> events;
    Handles<Graph> graphs;
    Handles<GraphNode> nodes;
    Handles<GraphInstance> instances;
    Handles<CudaArray> arrays;

    std::atomic<unsigned> captures{0};                 ///< in progress
    std::vector<std::shared_ptr<Capture>> in_capture;  ///< those; under graphs_mutex()

    std::mutex primary_mutex;
    std::vector<PrimaryContext> primaries{static_cast<std::size_t>(device_count())};  ///< by device

    std::mutex owned_mutex;
    std::map<std::uint64_t, OwnedMemory> owned;  ///< by address

    std::mutex images_mutex;
    std::map<std::uint64_t, OwnedImage> images;  ///< texture and surface objects, by handle

    std::atomic<std::uint64_t> next_id{1};
    std::atomic<std::uint64_t> launches{0};  ///< %gridid counts them
};

Driver& driver();

/// cuInit was called in this process. In a forked child it never succeeds, as on a GPU.
bool initialised();
CUresult initialise();

/// One line on stderr: "egpu: simulated GPU: ...".
void report(std::string_view text);
void report(const Diagnostic& diagnostic);

std::shared_ptr<DriverContext> make_context(unsigned flags, int device);
/// Frees what a context owns; the object stays while someone holds it.
void clear_context(DriverContext& context);

/// The calling thread's stack of contexts.
bool push_context(DriverContext* context);
DriverContext* pop_context();
DriverContext* top_context();
void replace_context(DriverContext* context);

/// The current context, or why there is none.
struct CurrentContext {
    std::shared_ptr<DriverContext> context;
    CUresult error = CUDA_SUCCESS;
};
CurrentContext current_context();

/// The context behind an argument where null means the current one.
CurrentContext context_of(CUcontext handle);

/// True while the calling thread runs a host function of a stream, which may not call the driver.
bool& in_host_function();

/// Runs the body of an entry point: no exception leaves it, and nothing works before cuInit.
template <typename Body>
CUresult entry(const Body& body) noexcept {
    if (!initialised()) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (in_host_function()) {
        return CUDA_ERROR_NOT_PERMITTED;
    }
    try {
        return body(driver());
    } catch (const std::bad_alloc&) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (...) {
        return CUDA_ERROR_UNKNOWN;
    }
}

/// The same for what needs a current context without a sticky error.
template <typename Body>
CUresult entry_in_context(const Body& body) noexcept {
    return entry([&](Driver& state) -> CUresult {
        const CurrentContext current = current_context();
        if (current.error != CUDA_SUCCESS) {
            return current.error;
        }
        if (const CUresult sticky = current.context->sticky; sticky != CUDA_SUCCESS) {
            return sticky;
        }
        return body(state, *current.context);
    });
}

}  // namespace egpu::simulated
