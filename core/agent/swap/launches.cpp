// SPDX-License-Identifier: Apache-2.0
// The launch calls that applications reach: choose, launch, book; once more with the original where the copy could
// not be launched.
#include "agent/driver/driver.hpp"
#include "agent/hook/entry.hpp"
#include "agent/swap/swap.hpp"

using namespace egpu::agent;

namespace {

// These are inlined: the arguments of a launch stay where they came in.
template <typename Launch>
[[gnu::always_inline]] inline CUresult swapped(CUfunction asked, const LaunchShape& shape, const Launch& launch) {
    if (Forwarded::nested())
        return launch(asked);
    TimedLaunch timed;
    const Choice choice = choose(asked, shape, &timed);
    CUresult result;
    {
        const Forwarded forwarded;
        result = launch(choice.function);
    }
    end_time(timed, shape.stream, shape.form, result == CUDA_SUCCESS);
    if (!book(choice, result))
        return result;
    const Forwarded forwarded;
    const CUresult second = launch(asked);
    original_took_over(choice, result, second);
    book({.function = asked, .kernel = choice.kernel, .counted = true, .capture = choice.capture}, second);
    return second;
}

// A launch that never takes a copy.
CUresult counted(CUfunction asked, CUresult result) {
    everything_may_be_busy();
    if (!Forwarded::nested())
        book(original_only(asked), result);
    return result;
}

unsigned int threads(unsigned int x, unsigned int y, unsigned int z) {
    return x * y * z;
}

using LaunchKernel = decltype(&cuLaunchKernel);
using LaunchKernelEx = decltype(&cuLaunchKernelEx);
using LaunchCooperative = decltype(&cuLaunchCooperativeKernel);

using Grid = Dimensions;

BlockShape block_of(Grid block, unsigned int shared) {
    BlockShape shape;
    shape.threads = threads(block.x, block.y, block.z);
    shape.shared_bytes = shared;
    return shape;
}

BlockShape block_of(const CUlaunchConfig& config) {
    BlockShape shape = block_of({config.blockDimX, config.blockDimY, config.blockDimZ}, config.sharedMemBytes);
    shape.config = &config;
    for (unsigned int i = 0; config.attrs != nullptr && i < config.numAttrs; ++i) {
        const CUlaunchAttributeValue& value = config.attrs[i].value;
        switch (config.attrs[i].id) {
            case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
                shape.cooperative = value.cooperative != 0;
                break;
            case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
                shape.cluster[0] = value.clusterDim.x;
                shape.cluster[1] = value.clusterDim.y;
                shape.cluster[2] = value.clusterDim.z;
                break;
            case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
                shape.carveout = value.sharedMemCarveout + 2;  // -1 is the driver's own choice
                break;
            default:
                break;
        }
    }
    return shape;
}

[[gnu::always_inline]] inline CUresult launch_plain(LaunchKernel real, StreamForm form, CUfunction f, Grid grid,
                                                    Grid block, unsigned int shared, CUstream stream, void** parameters,
                                                    void** extra) {
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    return swapped(f, {block_of(block, shared), stream, form, false, grid, block}, [&](CUfunction function) {
        return real(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, parameters, extra);
    });
}

[[gnu::always_inline]] inline CUresult launch_extended(LaunchKernelEx real, StreamForm form,
                                                       const CUlaunchConfig* config, CUfunction f, void** parameters,
                                                       void** extra) {
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (config == nullptr)
        return real(config, f, parameters, extra);
    return swapped(f,
                   {block_of(*config),
                    config->hStream,
                    form,
                    false,
                    {config->gridDimX, config->gridDimY, config->gridDimZ},
                    {config->blockDimX, config->blockDimY, config->blockDimZ}},
                   [&](CUfunction function) { return real(config, function, parameters, extra); });
}

[[gnu::always_inline]] inline CUresult launch_cooperative(LaunchCooperative real, StreamForm form, CUfunction f,
                                                          Grid grid, Grid block, unsigned int shared, CUstream stream,
                                                          void** parameters) {
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    BlockShape shape = block_of(block, shared);
    shape.cooperative = true;
    return swapped(f, {shape, stream, form, false, grid, block}, [&](CUfunction function) {
        return real(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, parameters);
    });
}

}  // namespace

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                        unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                        unsigned int sharedMemBytes, CUstream hStream, void** kernelParams, void** extra) {
    return launch_plain(real_driver().cuLaunchKernel, StreamForm::legacy, f, {gridDimX, gridDimY, gridDimZ},
                        {blockDimX, blockDimY, blockDimZ}, sharedMemBytes, hStream, kernelParams, extra);
}

CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                             unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                             unsigned int sharedMemBytes, CUstream hStream, void** kernelParams, void** extra) {
    return launch_plain(real_driver().cuLaunchKernel_ptsz, StreamForm::per_thread, f, {gridDimX, gridDimY, gridDimZ},
                        {blockDimX, blockDimY, blockDimZ}, sharedMemBytes, hStream, kernelParams, extra);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** kernelParams, void** extra) {
    return launch_extended(real_driver().cuLaunchKernelEx, StreamForm::legacy, config, f, kernelParams, extra);
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction f, void** kernelParams, void** extra) {
    return launch_extended(real_driver().cuLaunchKernelEx_ptsz, StreamForm::per_thread, config, f, kernelParams, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                                   unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                                   unsigned int sharedMemBytes, CUstream hStream, void** kernelParams) {
    return launch_cooperative(real_driver().cuLaunchCooperativeKernel, StreamForm::legacy, f,
                              {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes,
                              hStream, kernelParams);
}

CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                        unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                                        unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                                        void** kernelParams) {
    return launch_cooperative(real_driver().cuLaunchCooperativeKernel_ptsz, StreamForm::per_thread, f,
                              {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes,
                              hStream, kernelParams);
}

CUresult cuLaunch(CUfunction f) {
    const auto real = real_driver().cuLaunch;
    return real == nullptr ? CUDA_ERROR_NOT_SUPPORTED : counted(f, real(f));
}

CUresult cuLaunchGrid(CUfunction f, int grid_width, int grid_height) {
    const auto real = real_driver().cuLaunchGrid;
    return real == nullptr ? CUDA_ERROR_NOT_SUPPORTED : counted(f, real(f, grid_width, grid_height));
}

CUresult cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream) {
    const auto real = real_driver().cuLaunchGridAsync;
    return real == nullptr ? CUDA_ERROR_NOT_SUPPORTED : counted(f, real(f, grid_width, grid_height, hStream));
}

CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS* launchParamsList, unsigned int numDevices,
                                              unsigned int flags) {
    const auto real = real_driver().cuLaunchCooperativeKernelMultiDevice;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(launchParamsList, numDevices, flags);
    for (unsigned int i = 0; launchParamsList != nullptr && result == CUDA_SUCCESS && i < numDevices; ++i)
        counted(launchParamsList[i].function, result);
    return result;
}
