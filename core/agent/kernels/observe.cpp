// SPDX-License-Identifier: Apache-2.0
#include "agent/kernels/observe.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/driver/driver.hpp"
#include "agent/kernels/copies.hpp"
#include "agent/kernels/inventory.hpp"
#include "agent/maps/device_maps.hpp"
#include "agent/session/session.hpp"
#include "ptx/fatbin/extent/extent.h"

namespace egpu::agent {

namespace {

constinit int loading = 0;
constexpr off_t kLargestFile = off_t{1} << 30;

// The file that holds a pointer, "" where none is known (generated code).
const char* file_of(const void* code) {
    Dl_info info{};
    return dladdr(code, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

void exchange(const Image& owner, const LoadedImage& loaded) {
    const Loading load;
    const OwnCalls own;
    const Lock lock(load_lock());
    // A library may come before any context: then it is meant for the first device, as far as anybody can know.
    CUdevice device = home_device();
    if (home_context() != nullptr || driver().cuCtxGetDevice(&device) == CUDA_SUCCESS ||
        driver().cuDeviceGet(&device, 0) == CUDA_SUCCESS)
        tell_device(device);
    Answer answer;
    if (!ask_about(loaded, &answer))
        return;
    Image* image = nullptr;
    {
        const Lock inventory(inventory_lock());
        image = add_image(owner, static_cast<Answer&&>(answer));
    }
    if (image == nullptr)
        return;
    load_copies(image);
    if (copies_wait())
        load_waiting_copies();
}

void loaded_at(CUmodule module, CUlibrary library, const void* code, const char* path, const JitOptions& options) {
    egpu_image_extent extent{};
    if (mode() != Mode::observing || code == nullptr || egpu_image_extent_of(code, &extent) != 0)
        return;
    Image owner;
    owner.module = module;
    owner.library = library;
    if (module != nullptr)
        driver().cuCtxGetCurrent(&owner.context);
    LoadedImage loaded;
    loaded.bytes = {static_cast<const std::byte*>(extent.data), extent.bytes};
    loaded.kind = static_cast<std::uint32_t>(extent.kind);
    loaded.relocatable = extent.relocatable != 0;
    loaded.maxregisters = options.maxregisters;
    loaded.optimisation_level = options.optimisation_level;
    loaded.path = path;
    exchange(owner, loaded);
}

// A file with a NUL behind it (PTX). Empty where it can't be read.
Buffer read_whole(const char* path) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (file < 0)
        return {};
    Buffer content;
    if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 && status.st_size <= kLargestFile)
        content = Buffer(static_cast<std::size_t>(status.st_size) + 1);
    std::size_t got = 0;
    while (got + 1 < content.size()) {
        const ssize_t n = ::read(file, content.data() + got, content.size() - 1 - got);
        if (n <= 0)
            break;
        got += static_cast<std::size_t>(n);
    }
    ::close(file);
    if (got + 1 != content.size())
        return {};
    content.data()[got] = std::byte{0};
    return content;
}

// Whether an image claims no more bytes than the file has: in memory the driver vouches for it, here nobody does.
bool image_fits(const Buffer& content) {
    egpu_image_extent extent{};
    if (content.size() < 64 || egpu_image_extent_of(content.data(), &extent) != 0)
        return false;
    const auto* begin = static_cast<const std::byte*>(extent.data);
    return begin >= content.data() && begin < content.data() + content.size() &&
           extent.bytes <= static_cast<std::size_t>(content.data() + content.size() - begin);
}

bool in_home_context() {
    CUcontext current = nullptr;
    return driver().cuCtxGetCurrent(&current) == CUDA_SUCCESS && current != nullptr && current == home_context();
}

}  // namespace

Loading::Loading() {
    __atomic_add_fetch(&loading, 1, __ATOMIC_ACQ_REL);
}

Loading::~Loading() {
    __atomic_sub_fetch(&loading, 1, __ATOMIC_ACQ_REL);
}

bool load_in_progress() {
    return __atomic_load_n(&loading, __ATOMIC_ACQUIRE) != 0;
}

JitOptions jit_options(unsigned int count, const CUjit_option* options, void* const* values) {
    JitOptions found;
    for (unsigned int i = 0; options != nullptr && values != nullptr && i < count; ++i) {
        // The driver reads numbers out of the pointers themselves.
        const auto value = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(values[i]));
        if (options[i] == CU_JIT_MAX_REGISTERS)
            found.maxregisters = value;
        else if (options[i] == CU_JIT_OPTIMIZATION_LEVEL)
            found.optimisation_level = value;
    }
    return found;
}

void image_loaded(CUmodule module, CUlibrary library, const void* code, const JitOptions& options) {
    loaded_at(module, library, code, file_of(code), options);
}

void file_loaded(CUmodule module, CUlibrary library, const char* path, const JitOptions& options) {
    if (mode() != Mode::observing || path == nullptr)
        return;
    const Buffer content = read_whole(path);
    if (image_fits(content))
        loaded_at(module, library, content.data(), path, options);
}

void module_unloading(CUmodule module) {
    const Lock lock(load_lock());
    const Lock inventory(inventory_lock());
    Image* image = find_image(module);
    if (image != nullptr && image->library == nullptr)
        drop_image(image);
}

void library_unloading(CUlibrary library) {
    const Lock lock(load_lock());
    const Lock inventory(inventory_lock());
    if (Image* image = find_image(library); image != nullptr)
        drop_image(image);
}

void function_found(CUfunction function, CUmodule module, const char* name) {
    const OwnCalls own;
    const Lock lock(inventory_lock());
    Image* image = find_image(module);
    if (name == nullptr && driver().cuFuncGetName != nullptr)
        driver().cuFuncGetName(&name, function);
    Kernel* kernel = image != nullptr && name != nullptr ? find_kernel(*image, name) : nullptr;
    if (kernel == nullptr)
        return;
    // A library's function may be of any context: which one is asked at the launch.
    const bool of_library = image->library != nullptr;
    const bool other = !of_library && home_context() != nullptr && image->context != home_context();
    remember_handle(function, {kernel, of_library, other});
}

void kernel_found(CUkernel handle, CUlibrary library, const char* name) {
    const OwnCalls own;
    const Lock lock(inventory_lock());
    Image* image = find_image(library);
    if (name == nullptr && driver().cuKernelGetName != nullptr)
        driver().cuKernelGetName(&name, handle);
    Kernel* kernel = image != nullptr && name != nullptr ? find_kernel(*image, name) : nullptr;
    if (kernel != nullptr)
        remember_handle(handle, {kernel, true, false});
}

void function_of_kernel(CUfunction function, CUkernel handle) {
    const OwnCalls own;
    const Lock lock(inventory_lock());
    const Handle known = handles().find(handle);
    if (known.kernel != nullptr)
        remember_handle(function, {known.kernel, true, home_context() != nullptr && !in_home_context()});
}

void module_of_library(CUmodule module, CUlibrary library) {
    const Lock lock(inventory_lock());
    if (Image* image = find_image(library); image != nullptr)
        image->module = module;
}

void quiet_moment() {
    if (!copies_wait() || mode() != Mode::observing)
        return;
    const Loading load;
    const OwnCalls own;
    const Lock lock(load_lock());
    load_waiting_copies();
}

}  // namespace egpu::agent
