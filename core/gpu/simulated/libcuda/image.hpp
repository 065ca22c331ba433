// SPDX-License-Identifier: Apache-2.0
// From what an application hands to the driver to a PTX module on the simulated GPU.
#pragma once

#include <memory>
#include <string>

#include "gpu/simulated/libcuda/driver.hpp"

namespace egpu::simulated {

/// The architecture the simulated GPU has: compute capability 9.0.
inline constexpr std::uint32_t kArchitecture = 90;

struct LoadedImage {
    CUresult error = CUDA_SUCCESS;
    std::string log;  ///< what an application's error log gets; said on stderr as well
    std::shared_ptr<LoadedModule> module;
    std::string text;  ///< the PTX it was made from
};

/// For a device. Takes PTX text, a fatbinary (its wrapper or its container) or a cubin, as cuModuleLoadData does.
LoadedImage load_image(const void* image, Driver& state, int device);
LoadedImage load_file(const char* path, Driver& state, int device);
LoadedImage load_text(std::string text, Driver& state, int device);

/// The function of a kernel, made when first asked for.
CUresult function_of(const std::shared_ptr<LoadedModule>& module, const std::string& name,
                     std::shared_ptr<FunctionAttributes> attributes, CUfunction* function);

/// A library's module in a context.
CUresult module_of(Library& library, DriverContext& context, std::shared_ptr<LoadedModule>* module);

/// What a launch is given: a CUfunction, or a CUkernel used as one.
std::shared_ptr<Function> find_function(CUfunction handle, DriverContext& context, CUresult* error);

/// The text logs and their sizes among the options of a load.
void write_logs(unsigned count, const CUjit_option* options, void** values, const std::string& error_log);

}  // namespace egpu::simulated
