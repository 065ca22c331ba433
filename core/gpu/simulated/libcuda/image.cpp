// SPDX-License-Identifier: Apache-2.0
// Images to modules. The simulated GPU runs PTX: of a fatbinary it takes the newest PTX that its architecture may run,
// even beside machine code that a GPU would prefer.
#include "gpu/simulated/libcuda/image.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/files.hpp"
#include "ptx/fatbin/extent/extent.h"
#include "ptx/fatbin/image.hpp"

namespace egpu::simulated {

namespace {

constexpr const char* kRelocatable =
    "an image is relocatable device code (nvcc -rdc=true), which the simulated GPU does not link: build with "
    "-rdc=false";

LoadedImage refuse(CUresult error, std::string log) {
    report(log);
    return {error, std::move(log), nullptr, {}};
}

/// 90 from "sm_90a, debug"; 0 where that is no architecture.
int architecture_of(std::string_view target, char* suffix) {
    constexpr std::string_view prefix = "sm_";
    if (!target.starts_with(prefix)) {
        return 0;
    }
    int number = 0;
    const char* const end = target.data() + target.size();
    const auto [rest, failed] = std::from_chars(target.data() + prefix.size(), end, number);
    *suffix = rest != end ? *rest : '\0';
    return failed == std::errc() ? number : 0;
}

LoadedImage load_container(std::span<const std::byte> bytes, bool relocatable, Driver& state, int device) {
    Result<ptx::Image> image = ptx::read_image(bytes);
    if (!image) {
        return refuse(CUDA_ERROR_INVALID_IMAGE, to_text(image.error()));
    }
    const ptx::Choice choice = ptx::choose(*image, kArchitecture);
    if (choice.ptx == nullptr) {
        if (!image->ptx.empty()) {
            return refuse(CUDA_ERROR_NO_BINARY_FOR_GPU,
                          "an image holds PTX, but none for compute_90 or lower; the "
                          "simulated GPU has compute capability 9.0");
        }
        const bool linked = std::any_of(image->cubins.begin(), image->cubins.end(),
                                        [](const auto& cubin) { return cubin.linked && !cubin.kernels.empty(); });
        if (linked || relocatable || image->relocatable) {
            return refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, kRelocatable);
        }
        return refuse(CUDA_ERROR_NO_BINARY_FOR_GPU,
                      "an image holds machine code only (SASS), no PTX; the simulated GPU runs PTX: build with PTX, "
                      "as in nvcc -gencode arch=compute_90,code=compute_90");
    }
    if (relocatable || image->relocatable) {
        return refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, kRelocatable);
    }
    return load_text(choice.ptx->text, state, device);
}

CUresult result_of(const Diagnostic& diagnostic) {
    if (diagnostic.code == "EGPU-P201") {
        return CUDA_ERROR_NOT_FOUND;
    }
    return diagnostic.code == "EGPU-P202" ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_PTX;
}

}  // namespace

LoadedImage load_text(std::string text, Driver& state, int device) {
    LoadedImage loaded;
    const std::string label = "module " + std::to_string(state.next_id++);
    Result<std::unique_ptr<Module>> module = Module::load(text, label, state.memory.of(device));
    if (!module) {
        return refuse(CUDA_ERROR_INVALID_PTX, to_text(module.error()));
    }
    char suffix = '\0';
    const int version = architecture_of((*module)->target(), &suffix);
    if (version == 0 || version > static_cast<int>(kArchitecture) ||
        (suffix == 'a' && version != static_cast<int>(kArchitecture)) || suffix == 'f') {
        return refuse(CUDA_ERROR_INVALID_PTX, "PTX has .target " + std::string((*module)->target()) +
                                                  ", which the simulated GPU (compute capability 9.0) can't run");
    }
    loaded.module = std::make_shared<LoadedModule>();
    loaded.module->module = std::move(*module);
    loaded.module->label = label;
    loaded.module->ptx_version = version;
    loaded.module->syncs_grids = text.find("%envreg") != std::string::npos;
    loaded.text = std::move(text);
    return loaded;
}

LoadedImage load_image(const void* image, Driver& state, int device) {
    egpu_image_extent extent{};
    if (egpu_image_extent_of(image, &extent) != 0) {
        return refuse(CUDA_ERROR_INVALID_IMAGE, "an image is neither PTX text nor a fatbinary nor a cubin");
    }
    const std::span bytes(static_cast<const std::byte*>(extent.data), extent.bytes);
    if (extent.kind == EGPU_IMAGE_PTX) {
        return load_text(std::string(static_cast<const char*>(extent.data), extent.bytes), state, device);
    }
    return load_container(bytes, extent.relocatable != 0, state, device);
}

LoadedImage load_file(const char* path, Driver& state, int device) {
    Result<std::vector<std::byte>> bytes = read_file(path);
    if (!bytes) {
        return refuse(CUDA_ERROR_FILE_NOT_FOUND, to_text(bytes.error()));
    }
    // The end is found as in memory, so PTX text in a file needs its closing NUL.
    switch (ptx::image_kind(*bytes)) {
        case ptx::ImageKind::ptx_text: {
            const auto* const text = reinterpret_cast<const char*>(bytes->data());
            return load_text(std::string(text, strnlen(text, bytes->size())), state, device);
        }
        case ptx::ImageKind::fatbinary:
        case ptx::ImageKind::cubin:
            return load_container(*bytes, false, state, device);
        case ptx::ImageKind::unknown:
            break;
    }
    return refuse(CUDA_ERROR_INVALID_IMAGE, std::string(path) + " is neither PTX text nor a fatbinary nor a cubin");
}

CUresult function_of(const std::shared_ptr<LoadedModule>& module, const std::string& name,
                     std::shared_ptr<FunctionAttributes> attributes, CUfunction* function) {
    const std::lock_guard lock(module->mutex);
    if (const auto known = module->functions.find(name); known != module->functions.end()) {
        *function = reinterpret_cast<CUfunction>(known->second);
        return CUDA_SUCCESS;
    }
    Result<std::shared_ptr<const Kernel>> kernel = module->module->kernel(name);
    if (!kernel) {
        const CUresult error = result_of(kernel.error());
        if (error != CUDA_ERROR_NOT_FOUND) {
            report(kernel.error());
        }
        return error;
    }
    auto made = std::make_shared<Function>();
    made->module = module;
    made->kernel = *kernel;
    made->attributes = std::move(attributes);
    driver().functions.add(made);
    module->functions.emplace(name, made.get());
    *function = reinterpret_cast<CUfunction>(made.get());
    return CUDA_SUCCESS;
}

CUresult module_of(Library& library, DriverContext& context, std::shared_ptr<LoadedModule>* module) {
    const std::lock_guard lock(library.mutex);
    if (const auto known = library.modules.find(&context); known != library.modules.end()) {
        *module = known->second;
        return CUDA_SUCCESS;
    }
    const LoadGate::Load load(context.loads);
    std::shared_ptr<LoadedModule> made = context.device == 0 ? std::move(library.spare) : nullptr;
    if (made == nullptr) {
        LoadedImage loaded = load_text(library.text, driver(), context.device);
        if (loaded.error != CUDA_SUCCESS) {
            return loaded.error;
        }
        made = std::move(loaded.module);
    }
    made->context = &context;
    made->library = &library;
    driver().modules.add(made);
    library.modules.emplace(&context, made);
    *module = std::move(made);
    return CUDA_SUCCESS;
}

std::shared_ptr<Function> find_function(CUfunction handle, DriverContext& context, CUresult* error) {
    if (std::shared_ptr<Function> function = driver().functions.find(handle)) {
        return function;
    }
    *error = CUDA_ERROR_INVALID_HANDLE;
    const std::shared_ptr<LibraryKernel> kernel = driver().kernels.find(handle);
    if (kernel == nullptr) {
        return nullptr;
    }
    const std::shared_ptr<Library> library = driver().libraries.find(kernel->library);
    std::shared_ptr<LoadedModule> module;
    if (library == nullptr || (*error = module_of(*library, context, &module)) != CUDA_SUCCESS) {
        return nullptr;
    }
    CUfunction function = nullptr;
    *error = function_of(module, kernel->name, kernel->attributes, &function);
    return *error == CUDA_SUCCESS ? driver().functions.find(function) : nullptr;
}

void write_logs(unsigned count, const CUjit_option* options, void** values, const std::string& error_log) {
    char* error_buffer = nullptr;
    std::size_t error_size = 0;
    for (unsigned index = 0; index < count; ++index) {
        if (options[index] == CU_JIT_ERROR_LOG_BUFFER) {
            error_buffer = static_cast<char*>(values[index]);
        } else if (options[index] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
            // Sizes are passed in the pointer itself, as 32-bit numbers.
            error_size = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(values[index]));
        }
    }
    std::size_t written = 0;
    if (error_buffer != nullptr && error_size > 0) {
        written = std::min(error_log.size(), error_size - 1);
        std::memcpy(error_buffer, error_log.data(), written);
        error_buffer[written] = '\0';
    }
    for (unsigned index = 0; index < count; ++index) {
        if (options[index] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
            values[index] = reinterpret_cast<void*>(written);
        } else if (options[index] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES) {
            values[index] = nullptr;
        } else if (options[index] == CU_JIT_WALL_TIME) {
            values[index] = nullptr;  // the bits of 0.0f
        }
    }
}

}  // namespace egpu::simulated
