// SPDX-License-Identifier: Apache-2.0
// What the handles of the driver interface stand for on the simulated GPU.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "gpu/device/driver.h"
#include "gpu/simulated/executor/module.hpp"
#include "gpu/simulated/libcuda/load_gate.hpp"

namespace egpu::simulated {

struct Capture;
struct CapturedEvent;

struct Stream {
    struct DriverContext* context = nullptr;
    unsigned flags = 0;
    int priority = 0;
    unsigned long long id = 0;
    bool legacy = false;
    std::mutex order;                  ///< held while an operation of the stream runs
    std::shared_ptr<Capture> capture;  ///< that it is in, or null; under graphs_mutex()

    bool blocking() const { return (flags & CU_STREAM_NON_BLOCKING) == 0; }
};

struct Event {
    struct DriverContext* context = nullptr;
    unsigned flags = 0;
    std::atomic<std::int64_t> recorded_ns{0};  ///< 0: never recorded
    std::shared_ptr<CapturedEvent> captured;   ///< where it was last recorded in a capture; under graphs_mutex()
};

/// Contexts of a device share its memory; each owns modules, streams, events and allocations.
struct DriverContext : std::enable_shared_from_this<DriverContext> {
    unsigned long long id = 0;
    unsigned flags = 0;
    int device = 0;
    bool primary = false;
    std::atomic<bool> alive{true};
    std::atomic<CUresult> sticky{CUDA_SUCCESS};  ///< a fault in a kernel: every later call answers with it
    CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
    std::array<std::atomic<std::size_t>, 7> limits{};
    Stream legacy_stream;
    LoadGate loads;
    /// The default stream waits for all blocking streams and they for it: it holds this alone, they share it.
    std::shared_mutex legacy_order;
    std::mutex thread_streams_mutex;
    std::map<std::thread::id, std::shared_ptr<Stream>> thread_streams;  ///< per-thread default streams
};

/// What an application can set of a function; a library's kernel and its functions share it.
struct FunctionAttributes {
    std::atomic<int> max_dynamic_shared{-1};  ///< -1: the default
    std::atomic<int> carveout{-1};
    std::atomic<int> cluster_policy{0};
    std::atomic<int> non_portable_cluster{0};
};

struct LoadedModule;

struct Function {
    std::shared_ptr<LoadedModule> module;
    std::shared_ptr<const Kernel> kernel;
    std::shared_ptr<FunctionAttributes> attributes;
};

/// A PTX module in a context.
struct LoadedModule {
    DriverContext* context = nullptr;
    std::unique_ptr<Module> module;
    std::string label;              ///< for messages
    int ptx_version = 0;            ///< 70 for .target sm_70
    bool syncs_grids = false;       ///< reads %envreg: grid-wide barriers, whose workspace a driver provides
    const void* library = nullptr;  ///< the Library it belongs to, or null
    std::mutex mutex;
    std::unordered_map<std::string, Function*> functions;  ///< those asked for so far
};

struct LibraryKernel {
    struct Library* library = nullptr;
    std::string name;
    std::shared_ptr<FunctionAttributes> attributes = std::make_shared<FunctionAttributes>();
};

/// A library: an image that becomes a module in each context that needs it.
struct Library {
    std::string text;  ///< PTX
    std::string label;
    std::vector<std::string> kernel_names;
    std::mutex mutex;
    std::shared_ptr<LoadedModule> spare;  ///< loaded when the library was, for device 0; taken by its first context
    std::unordered_map<const DriverContext*, std::shared_ptr<LoadedModule>> modules;
    std::unordered_map<std::string, std::shared_ptr<LibraryKernel>> kernels;
};

}  // namespace egpu::simulated
