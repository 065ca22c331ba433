// SPDX-License-Identifier: Apache-2.0
// Work for a stream, with everything that it needs to run later: what a captured operation becomes a graph's node with.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "gpu/simulated/libcuda/driver.hpp"

namespace egpu::simulated {

struct Graph;

/// A launch with its parameters copied.
struct KernelWork {
    std::shared_ptr<DriverContext> context;
    std::shared_ptr<Function> function;
    CUkernel kernel = nullptr;  ///< the library's kernel that the function belongs to, or null
    Dimensions grid;
    Dimensions block;
    unsigned shared_bytes = 0;
    bool cooperative = false;
    Dimensions cluster{0, 0, 0};        ///< as the launch asked; 0: not
    std::vector<std::byte> parameters;  ///< laid out as Kernel::parameters says
    std::vector<void*> pointers;        ///< into `parameters`, one each: what getters of nodes give
};

/// A copy of rows; of one row where only a width is given.
struct CopyWork {
    CUDA_MEMCPY3D copy{};
};

struct FillWork {
    CUDA_MEMSET_NODE_PARAMS fill{};
};

struct HostWork {
    CUhostFn function = nullptr;
    void* data = nullptr;
};

struct ChildWork {
    std::shared_ptr<Graph> graph;
};

struct EmptyWork {};

struct WaitEventWork {
    std::shared_ptr<Event> event;
};

struct RecordEventWork {
    std::shared_ptr<Event> event;
};

/// In the order of CUgraphNodeType: a variant's index is its node's type.
using Work =
    std::variant<KernelWork, CopyWork, FillWork, HostWork, ChildWork, EmptyWork, WaitEventWork, RecordEventWork>;

inline CUgraphNodeType type_of(const Work& work) {
    return static_cast<CUgraphNodeType>(work.index());
}

/// A launch as the driver's functions describe it.
struct LaunchRequest {
    CUfunction function = nullptr;  ///< or a CUkernel used as one
    CUkernel kernel = nullptr;      ///< instead of `function`
    Dimensions grid;
    Dimensions block;
    unsigned shared_bytes = 0;
    void** parameters = nullptr;
    void** extra = nullptr;
    bool cooperative = false;
    Dimensions cluster{0, 0, 0};  ///< blocks a cluster; 0: as the kernel says
};

/// Checks a launch as the driver checks it and copies its parameters.
CUresult prepare_launch(const LaunchRequest& request, DriverContext& context, KernelWork& work);
/// Fills in where each parameter lies, for getters of nodes.
void point_to_parameters(KernelWork& work);
/// Checks what can be known of a copy or a fill before it runs.
CUresult check_copy(const CUDA_MEMCPY3D& copy);
CUresult check_fill(const CUDA_MEMSET_NODE_PARAMS& fill);

/// Runs work now, in the calling thread; the caller holds the order of its stream. A kernel's fault becomes its
/// context's sticky error. `grid_id` is of kernels.
CUresult run_work(const Work& work, std::uint64_t grid_id, Driver& state);
CUresult run_kernel(const KernelWork& work, std::uint64_t grid_id, Driver& state);
CUresult run_copy(const CUDA_MEMCPY3D& copy, Driver& state);
CUresult run_fill(const CUDA_MEMSET_NODE_PARAMS& fill, Driver& state);
CUresult run_host(const HostWork& work);

/// Marks an event as recorded now.
void record_now(Event& event);

}  // namespace egpu::simulated
