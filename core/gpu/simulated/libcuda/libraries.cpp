// SPDX-License-Identifier: Apache-2.0
// cuLibrary* and cuKernel*: images that belong to no context and are put into each when first used there.
#include "gpu/simulated/libcuda/capture.hpp"
#include "gpu/simulated/libcuda/functions.hpp"
#include "gpu/simulated/libcuda/image.hpp"

using namespace egpu::simulated;

namespace {

CUresult keep(LoadedImage loaded, Driver& state, CUlibrary* handle) {
    if (loaded.error != CUDA_SUCCESS) {
        return loaded.error;
    }
    auto library = std::make_shared<Library>();
    library->text = std::move(loaded.text);
    library->label = loaded.module->label;
    library->kernel_names = loaded.module->module->kernel_names();
    library->spare = std::move(loaded.module);
    state.libraries.add(library);
    *handle = reinterpret_cast<CUlibrary>(library.get());
    return CUDA_SUCCESS;
}

CUkernel kernel_of(Library& library, const std::string& name, Driver& state) {
    const std::lock_guard lock(library.mutex);
    std::shared_ptr<LibraryKernel>& kernel = library.kernels[name];
    if (kernel == nullptr) {
        kernel = std::make_shared<LibraryKernel>();
        kernel->library = &library;
        kernel->name = name;
        state.kernels.add(kernel);
    }
    return reinterpret_cast<CUkernel>(kernel.get());
}

bool has_kernel(const Library& library, std::string_view name) {
    for (const std::string& known : library.kernel_names) {
        if (known == name) {
            return true;
        }
    }
    return false;
}

CUresult variable_of(CUdeviceptr* address, size_t* bytes, CUlibrary handle, const char* name, bool managed_only) {
    return entry_in_context([&](Driver& state, DriverContext& context) -> CUresult {
        if (name == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const std::shared_ptr<Library> library = state.libraries.find(handle);
        if (library == nullptr) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
        std::shared_ptr<LoadedModule> module;
        if (const CUresult error = module_of(*library, context, &module); error != CUDA_SUCCESS) {
            return error;
        }
        const VariableInfo* const variable = module->module->variable(name);
        if (variable == nullptr || (managed_only && !variable->managed)) {
            return CUDA_ERROR_NOT_FOUND;
        }
        if (address != nullptr) {
            *address = variable->address;
        }
        if (bytes != nullptr) {
            *bytes = variable->bytes;
        }
        return CUDA_SUCCESS;
    });
}

/// A kernel's function in the current context.
std::shared_ptr<Function> function_of_kernel(CUkernel kernel, DriverContext& context, CUresult* error) {
    if (driver().kernels.find(kernel) == nullptr) {
        *error = CUDA_ERROR_INVALID_HANDLE;
        return nullptr;
    }
    return find_function(reinterpret_cast<CUfunction>(kernel), context, error);
}

}  // namespace

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* options, void** values, unsigned count,
                           CUlibraryOption* library_options, void** library_values, unsigned library_count) {
    return entry([&](Driver& state) -> CUresult {
        if (library == nullptr || code == nullptr || (count > 0 && (options == nullptr || values == nullptr)) ||
            (library_count > 0 && library_options == nullptr)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        (void)library_values;  // hints about keeping the image and about host tables: nothing depends on them
        LoadedImage loaded = load_image(code, state, 0);
        write_logs(count, options, values, loaded.log);
        return keep(std::move(loaded), state, library);
    });
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* file_name, CUjit_option* options, void** values,
                               unsigned count, CUlibraryOption* library_options, void**, unsigned library_count) {
    return entry([&](Driver& state) -> CUresult {
        if (library == nullptr || file_name == nullptr || (count > 0 && (options == nullptr || values == nullptr)) ||
            (library_count > 0 && library_options == nullptr)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        LoadedImage loaded = load_file(file_name, state, 0);
        write_logs(count, options, values, loaded.log);
        return keep(std::move(loaded), state, library);
    });
}

CUresult cuLibraryUnload(CUlibrary handle) {
    return entry([&](Driver& state) -> CUresult {
        if (const CUresult error = check_waiting(state); error != CUDA_SUCCESS) {
            return error;
        }
        const std::shared_ptr<Library> library = state.libraries.remove(handle);
        if (library == nullptr) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
        state.functions.remove_if([&](const Function& one) { return one.module->library == library.get(); });
        state.modules.remove_if([&](const LoadedModule& one) { return one.library == library.get(); });
        state.kernels.remove_if([&](const LibraryKernel& one) { return one.library == library.get(); });
        return CUDA_SUCCESS;
    });
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary handle, const char* name) {
    return entry([&](Driver& state) -> CUresult {
        if (kernel == nullptr || name == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const std::shared_ptr<Library> library = state.libraries.find(handle);
        if (library == nullptr) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
        if (!has_kernel(*library, name)) {
            return CUDA_ERROR_NOT_FOUND;
        }
        *kernel = kernel_of(*library, name, state);
        return CUDA_SUCCESS;
    });
}

CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary handle) {
    return entry([&](Driver& state) -> CUresult {
        const std::shared_ptr<Library> library = state.libraries.find(handle);
        if (count == nullptr || library == nullptr) {
            return count == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
        }
        *count = static_cast<unsigned>(library->kernel_names.size());
        return CUDA_SUCCESS;
    });
}

CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary handle) {
    return entry([&](Driver& state) -> CUresult {
        const std::shared_ptr<Library> library = state.libraries.find(handle);
        if (kernels == nullptr || library == nullptr) {
            return kernels == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
        }
        const std::size_t wanted = std::min<std::size_t>(count, library->kernel_names.size());
        for (std::size_t index = 0; index < wanted; ++index) {
            kernels[index] = kernel_of(*library, library->kernel_names[index], state);
        }
        return CUDA_SUCCESS;
    });
}

CUresult cuLibraryGetModule(CUmodule* handle, CUlibrary library_handle) {
    return entry_in_context([&](Driver& state, DriverContext& context) -> CUresult {
        const std::shared_ptr<Library> library = state.libraries.find(library_handle);
        if (handle == nullptr || library == nullptr) {
            return handle == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
        }
        std::shared_ptr<LoadedModule> module;
        const CUresult error = module_of(*library, context, &module);
        if (error == CUDA_SUCCESS) {
            *handle = reinterpret_cast<CUmodule>(module.get());
        }
        return error;
    });
}

CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
    return variable_of(address, bytes, library, name, false);
}

CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
    return variable_of(address, bytes, library, name, true);
}

CUresult cuLibraryGetUnifiedFunction(void** function, CUlibrary handle, const char* name) {
    return entry([&](Driver& state) -> CUresult {
        if (function == nullptr || name == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return state.libraries.find(handle) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_NOT_FOUND;
    });
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    return entry_in_context([&](Driver&, DriverContext& context) -> CUresult {
        if (function == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        CUresult error = CUDA_SUCCESS;
        const std::shared_ptr<Function> found = function_of_kernel(kernel, context, &error);
        *function = reinterpret_cast<CUfunction>(found.get());
        return found == nullptr ? error : CUDA_SUCCESS;
    });
}

CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel handle) {
    return entry([&](Driver& state) -> CUresult {
        const std::shared_ptr<LibraryKernel> kernel = state.kernels.find(handle);
        if (library == nullptr || kernel == nullptr) {
            return library == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
        }
        *library = reinterpret_cast<CUlibrary>(kernel->library);
        return CUDA_SUCCESS;
    });
}

CUresult cuKernelGetName(const char** name, CUkernel handle) {
    return entry([&](Driver& state) -> CUresult {
        const std::shared_ptr<LibraryKernel> kernel = state.kernels.find(handle);
        if (name == nullptr || kernel == nullptr) {
            return name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
        }
        *name = kernel->name.c_str();
        return CUDA_SUCCESS;
    });
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device) {
    return entry_in_context([&](Driver&, DriverContext& context) -> CUresult {
        if (!is_device(device)) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        CUresult error = CUDA_SUCCESS;
        const std::shared_ptr<Function> function = function_of_kernel(kernel, context, &error);
        return function == nullptr ? error : get_attribute(*function, attribute, value);
    });
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device) {
    return entry_in_context([&](Driver&, DriverContext& context) -> CUresult {
        if (!is_device(device)) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        CUresult error = CUDA_SUCCESS;
        const std::shared_ptr<Function> function = function_of_kernel(kernel, context, &error);
        return function == nullptr ? error : set_attribute(*function, attribute, value);
    });
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device) {
    return entry([&](Driver& state) -> CUresult {
        if (!is_device(device)) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return state.kernels.find(kernel) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
    });
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes) {
    return entry_in_context([&](Driver&, DriverContext& context) -> CUresult {
        CUresult error = CUDA_SUCCESS;
        const std::shared_ptr<Function> function = function_of_kernel(kernel, context, &error);
        return function == nullptr ? error : parameter_info(*function, index, offset, bytes);
    });
}
