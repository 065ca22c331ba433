// SPDX-License-Identifier: Apache-2.0
// Which function a launch runs. One lookup by handle, plus cuCtxGetCurrent for a kernel of a library and
// cuStreamIsCapturing before a copy is used; no lock, no allocation.
#pragma once

#include "agent/kernels/handle_table.hpp"
#include "gpu/device/driver.h"

namespace egpu::agent {

enum class StreamForm { legacy, per_thread };  ///< what stream 0 means: cuLaunchKernel, cuLaunchKernel_ptsz

/// A launch as far as the choice depends on it.
struct LaunchShape {
    unsigned int block_threads = 0;
    CUstream stream = nullptr;
    StreamForm form = StreamForm::legacy;
};

/// What to launch, and how to book it afterwards.
struct Choice {
    CUfunction function = nullptr;
    Kernel* kernel = nullptr;  ///< null: not one of ours
    bool is_copy = false;
    bool captured = false;
};

Choice choose(CUfunction asked, const LaunchShape& shape);

/// After the launch: counts it. True where the copy could not be launched and the original is to be launched instead
/// (an error of this kind leaves the context as it was).
bool book(const Choice& choice, CUresult result);

/// After that: retires a copy that failed where its original did not.
void original_took_over(const Choice& choice, CUresult copy_result, CUresult original_result);

}  // namespace egpu::agent
