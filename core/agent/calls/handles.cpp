// SPDX-License-Identifier: Apache-2.0
// The application gets handles of its kernels: its own ones, which the table learns. Attributes it sets on them are
// set on the copies as well.
#include "agent/driver/driver.hpp"
#include "agent/hook/entry.hpp"
#include "agent/kernels/copies.hpp"
#include "agent/kernels/observe.hpp"
#include "agent/session/session.hpp"

using namespace egpu::agent;

namespace {

bool watched() {
    return counting() && !Forwarded::nested();
}

// How many handles an enumeration wrote: as many as there are, at most as many as fit.
template <typename Function, typename Owner>
unsigned int written(CUresult result, const Function* functions, unsigned int room,
                     CUresult (*count_of)(unsigned int*, Owner), Owner owner) {
    unsigned int count = 0;
    if (result != CUDA_SUCCESS || functions == nullptr || !watched() || count_of == nullptr ||
        count_of(&count, owner) != CUDA_SUCCESS)
        return 0;
    return count < room ? count : room;
}

// Does the same to the copies that was done to the original, in places of `device` (-1: wherever the handle is).
template <typename Function, typename Call>
void mirror(Function asked, CUdevice device, const Call& call) {
    if (watched())
        mirror_on_copies(
            reinterpret_cast<const void*>(asked), device,
            [](CUfunction copy, const void* what) { return (*static_cast<const Call*>(what))(copy); }, &call);
}

}  // namespace

CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
    const auto real = real_driver().cuModuleGetFunction;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(hfunc, hmod, name);
    if (result == CUDA_SUCCESS && watched())
        function_found(*hfunc, hmod, name);
    return result;
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int numFunctions, CUmodule mod) {
    const auto real = real_driver().cuModuleEnumerateFunctions;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(functions, numFunctions, mod);
    const unsigned int count = written(result, functions, numFunctions, driver().cuModuleGetFunctionCount, mod);
    for (unsigned int i = 0; i < count; ++i)
        function_found(functions[i], mod, nullptr);
    return result;
}

CUresult cuLibraryGetKernel(CUkernel* pKernel, CUlibrary library, const char* name) {
    const auto real = real_driver().cuLibraryGetKernel;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(pKernel, library, name);
    if (result == CUDA_SUCCESS && watched())
        kernel_found(*pKernel, library, name);
    return result;
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int numKernels, CUlibrary lib) {
    const auto real = real_driver().cuLibraryEnumerateKernels;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(kernels, numKernels, lib);
    const unsigned int count = written(result, kernels, numKernels, driver().cuLibraryGetKernelCount, lib);
    for (unsigned int i = 0; i < count; ++i)
        kernel_found(kernels[i], lib, nullptr);
    return result;
}

CUresult cuLibraryGetModule(CUmodule* pMod, CUlibrary library) {
    const auto real = real_driver().cuLibraryGetModule;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(pMod, library);
    if (result == CUDA_SUCCESS && watched())
        module_of_library(*pMod, library);
    return result;
}

CUresult cuKernelGetFunction(CUfunction* pFunc, CUkernel kernel) {
    const auto real = real_driver().cuKernelGetFunction;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(pFunc, kernel);
    if (result == CUDA_SUCCESS && watched())
        function_of_kernel(*pFunc, kernel);
    return result;
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
    const auto real = real_driver().cuFuncSetAttribute;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(hfunc, attrib, value);
    if (result == CUDA_SUCCESS)
        mirror(hfunc, -1, [&](CUfunction copy) { return real(copy, attrib, value); });
    return result;
}

CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config) {
    const auto real = real_driver().cuFuncSetCacheConfig;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(hfunc, config);
    if (result == CUDA_SUCCESS)
        mirror(hfunc, -1, [&](CUfunction copy) { return real(copy, config); });
    return result;
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev) {
    const auto real = real_driver().cuKernelSetAttribute;
    const auto of_function = real_driver().cuFuncSetAttribute;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(attrib, val, kernel, dev);
    if (result == CUDA_SUCCESS && of_function != nullptr)
        mirror(kernel, dev, [&](CUfunction copy) { return of_function(copy, attrib, val); });
    return result;
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev) {
    const auto real = real_driver().cuKernelSetCacheConfig;
    const auto of_function = real_driver().cuFuncSetCacheConfig;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const CUresult result = real(kernel, config, dev);
    if (result == CUDA_SUCCESS && of_function != nullptr)
        mirror(kernel, dev, [&](CUfunction copy) { return of_function(copy, config); });
    return result;
}
