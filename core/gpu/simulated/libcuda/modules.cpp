// SPDX-License-Identifier: Apache-2.0
// cuModule*: images loaded into the current context.
#include "gpu/simulated/libcuda/image.hpp"
#include "gpu/simulated/libcuda/streams.hpp"

using namespace egpu::simulated;

namespace {

CUresult keep(LoadedImage loaded, DriverContext& context, Driver& state, CUmodule* module) {
    if (loaded.error != CUDA_SUCCESS) {
        return loaded.error;
    }
    loaded.module->context = &context;
    state.modules.add(loaded.module);
    *module = reinterpret_cast<CUmodule>(loaded.module.get());
    return CUDA_SUCCESS;
}

CUresult load_data(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
    return entry_in_context([&](Driver& state, DriverContext& context) -> CUresult {
        if (module == nullptr || image == nullptr || (count > 0 && (options == nullptr || values == nullptr))) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const LoadGate::Load load(context.loads);
        LoadedImage loaded = load_image(image, state, context.device);
        write_logs(count, options, values, loaded.log);
        return keep(std::move(loaded), context, state, module);
    });
}

/// Copies up to `count` names' functions of a module.
CUresult enumerate(const std::shared_ptr<LoadedModule>& module, CUfunction* functions, unsigned count) {
    unsigned index = 0;
    for (const std::string& name : module->module->kernel_names()) {
        if (index == count) {
            break;
        }
        const CUresult error = function_of(module, name, std::make_shared<FunctionAttributes>(), &functions[index]);
        if (error != CUDA_SUCCESS) {
            return error;
        }
        ++index;
    }
    return CUDA_SUCCESS;
}

}  // namespace

CUresult cuModuleLoad(CUmodule* module, const char* file_name) {
    return entry_in_context([&](Driver& state, DriverContext& context) -> CUresult {
        if (module == nullptr || file_name == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const LoadGate::Load load(context.loads);
        return keep(load_file(file_name, state, context.device), context, state, module);
    });
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    return load_data(module, image, 0, nullptr, nullptr);
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options, void** values) {
    return load_data(module, image, count, options, values);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
    return load_data(module, image, 0, nullptr, nullptr);
}

CUresult cuModuleUnload(CUmodule handle) {
    return entry_that_waits([&](Driver& state, DriverContext&) -> CUresult {
        const std::shared_ptr<LoadedModule> module = state.modules.find(handle);
        if (module == nullptr || module->library != nullptr) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
        state.modules.remove(handle);
        state.functions.remove_if([&](const Function& one) { return one.module == module; });
        return CUDA_SUCCESS;
    });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
    return entry([&](Driver&) -> CUresult {
        if (mode == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *mode = CU_MODULE_LAZY_LOADING;
        return CUDA_SUCCESS;
    });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
    return entry_in_context([&](Driver& state, DriverContext&) -> CUresult {
        if (function == nullptr || name == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const std::shared_ptr<LoadedModule> module = state.modules.find(handle);
        if (module == nullptr) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
        return function_of(module, name, std::make_shared<FunctionAttributes>(), function);
    });
}

CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule handle) {
    return entry_in_context([&](Driver& state, DriverContext&) -> CUresult {
        const std::shared_ptr<LoadedModule> module = state.modules.find(handle);
        if (count == nullptr || module == nullptr) {
            return count == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
        }
        *count = static_cast<unsigned>(module->module->kernel_names().size());
        return CUDA_SUCCESS;
    });
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule handle) {
    return entry_in_context([&](Driver& state, DriverContext&) -> CUresult {
        const std::shared_ptr<LoadedModule> module = state.modules.find(handle);
        if (functions == nullptr || module == nullptr) {
            return functions == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
        }
        return enumerate(module, functions, count);
    });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule handle, const char* name) {
    return entry_in_context([&](Driver& state, DriverContext&) -> CUresult {
        const std::shared_ptr<LoadedModule> module = state.modules.find(handle);
        if (name == nullptr || module == nullptr) {
            return name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
        }
        const VariableInfo* const variable = module->module->variable(name);
        if (variable == nullptr) {
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
