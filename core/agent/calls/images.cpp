// SPDX-License-Identifier: Apache-2.0
// Modules and libraries come and go. The application's own load is done first and untouched.
#include "agent/driver/driver.hpp"
#include "agent/hook/entry.hpp"
#include "agent/kernels/observe.hpp"
#include "agent/session/session.hpp"

using namespace egpu::agent;

namespace {

// The application's call, marked as its own.
template <typename Call>
CUresult forward(const Call& call) {
    const Forwarded forwarded;
    return call();
}

// A load: nobody drains meanwhile, since its copies would wait for the driver's lock.
template <typename Call>
CUresult forward_load(const Call& call) {
    const Loading loading;
    const Forwarded forwarded;
    return call();
}

bool watched() {
    return counting() && !Forwarded::nested();
}

}  // namespace

CUresult cuModuleLoad(CUmodule* module, const char* fname) {
    const auto real = real_driver().cuModuleLoad;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!watched())
        return real(module, fname);
    const CUresult result = forward_load([&] { return real(module, fname); });
    if (result == CUDA_SUCCESS)
        file_loaded(*module, nullptr, fname, {});
    return result;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    const auto real = real_driver().cuModuleLoadData;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!watched())
        return real(module, image);
    const CUresult result = forward_load([&] { return real(module, image); });
    if (result == CUDA_SUCCESS)
        image_loaded(*module, nullptr, image, {});
    return result;
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int numOptions, CUjit_option* options,
                            void** optionValues) {
    const auto real = real_driver().cuModuleLoadDataEx;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!watched())
        return real(module, image, numOptions, options, optionValues);
    const JitOptions jit = jit_options(numOptions, options, optionValues);  // before: the driver writes into them
    const CUresult result = forward_load([&] { return real(module, image, numOptions, options, optionValues); });
    if (result == CUDA_SUCCESS)
        image_loaded(*module, nullptr, image, jit);
    return result;
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* fatCubin) {
    const auto real = real_driver().cuModuleLoadFatBinary;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!watched())
        return real(module, fatCubin);
    const CUresult result = forward_load([&] { return real(module, fatCubin); });
    if (result == CUDA_SUCCESS)
        image_loaded(*module, nullptr, fatCubin, {});
    return result;
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jitOptions, void** jitOptionsValues,
                           unsigned int numJitOptions, CUlibraryOption* libraryOptions, void** libraryOptionValues,
                           unsigned int numLibraryOptions) {
    const auto real = real_driver().cuLibraryLoadData;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const auto call = [&] {
        return real(library, code, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues,
                    numLibraryOptions);
    };
    if (!watched())
        return call();
    const JitOptions jit = jit_options(numJitOptions, jitOptions, jitOptionsValues);
    const CUresult result = forward_load(call);
    if (result == CUDA_SUCCESS)
        image_loaded(nullptr, *library, code, jit);
    return result;
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* fileName, CUjit_option* jitOptions,
                               void** jitOptionsValues, unsigned int numJitOptions, CUlibraryOption* libraryOptions,
                               void** libraryOptionValues, unsigned int numLibraryOptions) {
    const auto real = real_driver().cuLibraryLoadFromFile;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    const auto call = [&] {
        return real(library, fileName, jitOptions, jitOptionsValues, numJitOptions, libraryOptions, libraryOptionValues,
                    numLibraryOptions);
    };
    if (!watched())
        return call();
    const JitOptions jit = jit_options(numJitOptions, jitOptions, jitOptionsValues);
    const CUresult result = forward_load(call);
    if (result == CUDA_SUCCESS)
        file_loaded(nullptr, *library, fileName, jit);
    return result;
}

// Handles are dropped first: the driver may give the same value to the next one.
CUresult cuModuleUnload(CUmodule hmod) {
    const auto real = real_driver().cuModuleUnload;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!watched())
        return real(hmod);
    module_unloading(hmod);
    return forward([&] { return real(hmod); });
}

CUresult cuLibraryUnload(CUlibrary library) {
    const auto real = real_driver().cuLibraryUnload;
    if (real == nullptr)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!watched())
        return real(library);
    library_unloading(library);
    return forward([&] { return real(library); });
}
