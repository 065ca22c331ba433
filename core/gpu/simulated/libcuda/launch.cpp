// SPDX-License-Identifier: Apache-2.0
// Launches: arguments checked as the driver checks them, the grid run to its end, a fault made the context's error.
#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "gpu/simulated/executor/device.hpp"
#include "gpu/simulated/libcuda/functions.hpp"
#include "gpu/simulated/libcuda/image.hpp"
#include "gpu/simulated/libcuda/streams.hpp"

using namespace egpu::simulated;

namespace {

using Request = LaunchRequest;

/// Grids with fewer threads run on the calling thread: starting workers would take longer than they save.
constexpr std::uint64_t kThreadsWorthWorkers = 32768;
constexpr unsigned kMostWorkers = 8;

/// Blocks of a cooperative launch wait for each other, so each gets a thread; others share a few.
unsigned workers_for(const KernelWork& work) {
    if (work.cooperative) {
        return static_cast<unsigned>(work.grid.count());
    }
    if (work.grid.count() * work.block.count() < kThreadsWorthWorkers) {
        return 1;
    }
    return std::clamp(std::thread::hardware_concurrency(), 1U, kMostWorkers);
}

CUresult check_cluster(const Request& request, const Function& function) {
    const std::string problem = problem_of_cluster(*function.kernel, request.grid, request.cluster);
    if (!problem.empty()) {
        report("kernel '" + function.kernel->name + "' can't be launched: " + problem);
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
    const bool portable = cluster_of(*function.kernel, request.cluster).count() <= kPortableCluster;
    return portable || function.attributes->non_portable_cluster != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

CUresult check_shape(const Request& request, const Function& function) {
    const Dimensions& grid = request.grid;
    const Dimensions& block = request.block;
    if (grid.count() == 0 || block.count() == 0 || grid.x > 0x7FFFFFFFU || grid.y > 65535 || grid.z > 65535) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (block.x > 1024 || block.y > 1024 || block.z > 64 || block.count() > kThreadsPerBlock ||
        request.shared_bytes > static_cast<unsigned>(max_dynamic_shared(function))) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Dimensions& required = function.kernel->required_threads;
    if (required.count() > 0 && required != block) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (block.count() > static_cast<std::uint64_t>(max_threads(function))) {
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    }
    if (const CUresult error = check_cluster(request, function); error != CUDA_SUCCESS) {
        return error;
    }
    if (request.cooperative && function.module->syncs_grids) {
        report("a cooperative launch of '" + function.kernel->name +
               "': barriers over a grid (cooperative groups) need a workspace that the simulated GPU has not got");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (request.cooperative) {
        const int resident = resident_blocks(function, static_cast<int>(block.count()), request.shared_bytes);
        if (grid.count() > static_cast<std::uint64_t>(resident) * kSmCount) {
            return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
        }
    }
    return CUDA_SUCCESS;
}

/// The one buffer that `extra` describes: pairs of a name and a value, ended by CU_LAUNCH_PARAM_END.
CUresult parameters_from_extra(void** extra, std::vector<std::byte>& bytes) {
    const void* buffer = nullptr;
    const std::size_t* size = nullptr;
    for (std::size_t index = 0; extra[index] != CU_LAUNCH_PARAM_END; index += 2) {
        if (extra[index] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
            buffer = extra[index + 1];
        } else if (extra[index] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
            size = static_cast<const std::size_t*>(extra[index + 1]);
        } else {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    if (bytes.empty()) {
        return CUDA_SUCCESS;
    }
    if (buffer == nullptr || size == nullptr || *size < bytes.size()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    std::memcpy(bytes.data(), buffer, bytes.size());
    return CUDA_SUCCESS;
}

CUresult gather_parameters(const Request& request, const Kernel& kernel, std::vector<std::byte>& bytes) {
    bytes.resize(kernel.parameter_bytes);
    if (request.extra != nullptr) {
        return request.parameters != nullptr ? CUDA_ERROR_INVALID_VALUE : parameters_from_extra(request.extra, bytes);
    }
    if (request.parameters == nullptr) {
        return kernel.parameters.empty() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    for (std::size_t index = 0; index < kernel.parameters.size(); ++index) {
        const ParameterInfo& parameter = kernel.parameters[index];
        if (request.parameters[index] == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        std::memcpy(bytes.data() + parameter.offset, request.parameters[index], parameter.bytes);
    }
    return CUDA_SUCCESS;
}

/// What a context answers for ever after a kernel of it failed so; success where the launch itself was refused.
CUresult sticky_error(FaultKind kind) {
    switch (kind) {
        case FaultKind::illegal_address:
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        case FaultKind::misaligned_address:
            return CUDA_ERROR_MISALIGNED_ADDRESS;
        case FaultKind::assertion:
            return CUDA_ERROR_ASSERT;
        case FaultKind::step_budget:
            return CUDA_ERROR_LAUNCH_TIMEOUT;
        case FaultKind::call_depth:
            return CUDA_ERROR_HARDWARE_STACK_ERROR;
        case FaultKind::illegal_instruction:
            return CUDA_ERROR_ILLEGAL_INSTRUCTION;
        case FaultKind::divergent_barrier:
        case FaultKind::deadlock:
        case FaultKind::trap:
            return CUDA_ERROR_LAUNCH_FAILED;
        case FaultKind::bad_launch:
            return CUDA_SUCCESS;
    }
    return CUDA_ERROR_LAUNCH_FAILED;
}

/// The library's kernel that a function belongs to, which getters of graph nodes tell.
CUkernel kernel_handle_of(const Function& function, Driver& state) {
    const std::shared_ptr<Library> library = state.libraries.find(function.module->library);
    if (library == nullptr) {
        return nullptr;
    }
    const std::lock_guard lock(library->mutex);
    const auto found = library->kernels.find(function.kernel->name);
    return found == library->kernels.end() ? nullptr : reinterpret_cast<CUkernel>(found->second.get());
}

CUresult enqueue(const Request& request, CUstream stream, DefaultStream zero) {
    return enqueue_work(stream, zero, Returns::at_once, [&](DriverContext& context, Work& work, bool&) {
        return prepare_launch(request, context, work.emplace<KernelWork>());
    });
}

/// Attributes that change nothing here are taken; what would change the meaning of the launch is refused.
CUresult read_attributes(const CUlaunchConfig& config, Request& request) {
    if (config.numAttrs > 0 && config.attrs == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned index = 0; index < config.numAttrs; ++index) {
        const CUlaunchAttribute& attribute = config.attrs[index];
        switch (attribute.id) {
            case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
                request.cooperative = attribute.value.cooperative != 0;
                break;
            case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
                request.cluster = {attribute.value.clusterDim.x, attribute.value.clusterDim.y,
                                   attribute.value.clusterDim.z};
                if (request.cluster.count() == 0) {
                    return CUDA_ERROR_INVALID_VALUE;
                }
                break;
            case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
            case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
            case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
                report("a launch has attribute " + std::to_string(static_cast<int>(attribute.id)) +
                       " (programmatic events, updatable nodes), which the simulated GPU has not got");
                return CUDA_ERROR_NOT_SUPPORTED;
            default:
                break;  // hints about caches, priorities and scheduling
        }
    }
    return CUDA_SUCCESS;
}

CUresult launch_with_config(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra,
                            DefaultStream zero) {
    if (config == nullptr) {
        return initialised() ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_INITIALIZED;
    }
    Request request{function,
                    nullptr,
                    {config->gridDimX, config->gridDimY, config->gridDimZ},
                    {config->blockDimX, config->blockDimY, config->blockDimZ},
                    config->sharedMemBytes,
                    parameters,
                    extra,
                    false};
    const CUresult error = read_attributes(*config, request);
    return error != CUDA_SUCCESS ? error : enqueue(request, config->hStream, zero);
}

}  // namespace

namespace egpu::simulated {

CUresult prepare_launch(const LaunchRequest& request, DriverContext& context, KernelWork& work) {
    Driver& state = driver();
    CUresult error = CUDA_SUCCESS;
    const CUfunction handle =
        request.kernel != nullptr ? reinterpret_cast<CUfunction>(request.kernel) : request.function;
    work.function = find_function(handle, context, &error);
    if (work.function == nullptr) {
        return error;
    }
    if (work.function->module->context != &context) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (error = check_shape(request, *work.function); error != CUDA_SUCCESS) {
        return error;
    }
    work.context = context.shared_from_this();
    work.grid = request.grid;
    work.block = request.block;
    work.shared_bytes = request.shared_bytes;
    work.cooperative = request.cooperative;
    work.cluster = request.cluster;
    const Kernel& kernel = *work.function->kernel;
    error = gather_parameters(request, kernel, work.parameters);
    if (error == CUDA_SUCCESS && work.function->module->library != nullptr) {
        work.kernel = kernel_handle_of(*work.function, state);
    }
    return error;
}

void point_to_parameters(KernelWork& work) {
    for (const ParameterInfo& parameter : work.function->kernel->parameters) {
        work.pointers.push_back(work.parameters.data() + parameter.offset);
    }
}

CUresult run_kernel(const KernelWork& work, std::uint64_t grid_id, Driver& state) {
    DriverContext& context = *work.context;
    if (!context.alive) {
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    LaunchEnvironment environment;
    environment.memory = &state.memory.of(context.device);
    environment.device_ordinal = static_cast<std::uint32_t>(context.device);
    environment.grid_id = grid_id;
    environment.cluster = work.cluster;
    environment.sm_count = kSmCount;
    environment.workers = workers_for(work);
    environment.shared_limit = kSharedPerBlockOptIn;
    environment.heap_limit = context.limits[CU_LIMIT_MALLOC_HEAP_SIZE];
    const LaunchResult result =
        launch(*work.function->kernel, work.grid, work.block, work.shared_bytes, work.parameters, environment);
    if (!result.fault.has_value()) {
        return CUDA_SUCCESS;
    }
    report(result.fault->text);
    const CUresult sticky = sticky_error(result.fault->kind);
    if (sticky == CUDA_SUCCESS) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    // As on a GPU the launch itself succeeded: the error shows at the next call.
    CUresult none = CUDA_SUCCESS;
    context.sticky.compare_exchange_strong(none, sticky);
    return CUDA_SUCCESS;
}

CUresult run_work(const Work& work, std::uint64_t grid_id, Driver& state) {
    switch (type_of(work)) {
        case CU_GRAPH_NODE_TYPE_KERNEL:
            return run_kernel(std::get<KernelWork>(work), grid_id, state);
        case CU_GRAPH_NODE_TYPE_MEMCPY:
            return run_copy(std::get<CopyWork>(work).copy, state);
        case CU_GRAPH_NODE_TYPE_MEMSET:
            return run_fill(std::get<FillWork>(work).fill, state);
        case CU_GRAPH_NODE_TYPE_HOST:
            return run_host(std::get<HostWork>(work));
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
            record_now(*std::get<RecordEventWork>(work).event);
            return CUDA_SUCCESS;
        default:
            return CUDA_SUCCESS;  // joints, and child graphs, whose nodes stand for themselves
    }
}

}  // namespace egpu::simulated

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** parameters,
                        void** extra) {
    return enqueue({function,
                    nullptr,
                    {grid_x, grid_y, grid_z},
                    {block_x, block_y, block_z},
                    shared_bytes,
                    parameters,
                    extra,
                    false},
                   stream, DefaultStream::legacy);
}

CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                             unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
                             void** parameters, void** extra) {
    return enqueue({function,
                    nullptr,
                    {grid_x, grid_y, grid_z},
                    {block_x, block_y, block_z},
                    shared_bytes,
                    parameters,
                    extra,
                    false},
                   stream, DefaultStream::per_thread);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
    return launch_with_config(config, function, parameters, extra, DefaultStream::legacy);
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
    return launch_with_config(config, function, parameters, extra, DefaultStream::per_thread);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                   CUstream stream, void** parameters) {
    return enqueue({function,
                    nullptr,
                    {grid_x, grid_y, grid_z},
                    {block_x, block_y, block_z},
                    shared_bytes,
                    parameters,
                    nullptr,
                    true},
                   stream, DefaultStream::legacy);
}

CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                        CUstream stream, void** parameters) {
    return enqueue({function,
                    nullptr,
                    {grid_x, grid_y, grid_z},
                    {block_x, block_y, block_z},
                    shared_bytes,
                    parameters,
                    nullptr,
                    true},
                   stream, DefaultStream::per_thread);
}
