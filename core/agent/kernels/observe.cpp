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
#include "agent/maps/contents.hpp"
#include "agent/maps/idle.hpp"
#include "agent/session/held.hpp"
#include "agent/session/session.hpp"
#include "ptx/fatbin/extent/extent.h"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

constinit int loading = 0;
constexpr off_t kLargestFile = off_t{1} << 30;

// The file that holds a pointer, "" where none is known (generated code).
const char* file_of(const void* code) {
    Dl_info info{};
    return dladdr(code, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

// Late answers find their image, if it is still there. Under the load lock.
void settle_late_answers() {
    Answer answer;
    while (next_late_answer(&answer)) {
        const Lock inventory(inventory_lock());
        Image* image = find_image(answer.request);
        if (image != nullptr) {
            add_kernels(image, static_cast<Answer&&>(answer));
            copies_came();
        }
        free_copies_of(&answer.copies);
        answer = Answer();
    }
}

// A library may come before any context: then it is meant for the first device, as far as anybody can know.
void tell_some_device() {
    CUdevice device = 0;
    if (driver().cuCtxGetDevice(&device) == CUDA_SUCCESS || driver().cuDeviceGet(&device, 0) == CUDA_SUCCESS)
        tell_device(device);
}

void exchange(const Image& owner, const LoadedImage& loaded, Place* place) {
    const Loading load;
    const OwnCalls own;
    if (!own.relaxed())
        return;
    const Lock lock(load_lock());
    tell_some_device();
    Answer answer;
    const bool answered = ask_about(loaded, &answer);
    if (answered || mode() == Mode::observing) {
        const Lock inventory(inventory_lock());
        add_image(owner, loaded, static_cast<Answer&&>(answer), answered);
    }
    free_copies_of(&answer.copies);
    settle_late_answers();
    if (place == nullptr)
        copies_came();
    else
        load_waiting_copies(place);
}

void loaded_at(CUmodule module, CUlibrary library, const void* code, const char* path, const JitOptions& options) {
    egpu_image_extent extent{};
    if (mode() != Mode::observing || code == nullptr || egpu_image_extent_of(code, &extent) != 0)
        return;
    Place* place = current_place();
    Image owner;
    owner.module = module;
    owner.library = library;
    owner.place = module != nullptr && place != nullptr ? index_of(*place) : kNoPlace;
    LoadedImage loaded;
    loaded.bytes = {static_cast<const std::byte*>(extent.data), extent.bytes};
    loaded.identity.hash = content_hash(loaded.bytes);
    loaded.identity.bytes = extent.bytes;
    loaded.identity.kind = static_cast<std::uint32_t>(extent.kind);
    loaded.identity.relocatable = extent.relocatable != 0;
    loaded.identity.maxregisters = options.maxregisters;
    loaded.identity.optimisation_level = options.optimisation_level;
    loaded.path = path;
    exchange(owner, loaded, place);
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
    const Held held;
    loaded_at(module, library, code, file_of(code), options);
}

void file_loaded(CUmodule module, CUlibrary library, const char* path, const JitOptions& options) {
    if (mode() != Mode::observing || path == nullptr)
        return;
    const Held held;
    const Buffer content = read_whole(path);
    if (image_fits(content))
        loaded_at(module, library, content.data(), path, options);
}

void module_unloading(CUmodule module) {
    const Held held;
    const Lock lock(load_lock());
    const Lock inventory(inventory_lock());
    Image* image = find_image(module);
    if (image != nullptr && image->library == nullptr) {
        forget_waiting(image);
        drop_image(image);
    }
}

void library_unloading(CUlibrary library) {
    const Held held;
    const Lock lock(load_lock());
    const Lock inventory(inventory_lock());
    if (Image* image = find_image(library); image != nullptr) {
        forget_waiting(image);
        drop_image(image);
    }
}

void function_found(CUfunction function, CUmodule module, const char* name) {
    const Held held;
    const OwnCalls own;
    const Lock lock(inventory_lock());
    Image* image = find_image(module);
    if (image != nullptr && name == nullptr && driver().cuFuncGetName != nullptr)
        driver().cuFuncGetName(&name, function);
    // A library's function may be of any context: which one is asked at the launch.
    if (image != nullptr && name != nullptr)
        remember_handle(image, function, name, image->library != nullptr);
}

void kernel_found(CUkernel handle, CUlibrary library, const char* name) {
    const Held held;
    const OwnCalls own;
    const Lock lock(inventory_lock());
    Image* image = find_image(library);
    if (image != nullptr && name == nullptr && driver().cuKernelGetName != nullptr)
        driver().cuKernelGetName(&name, handle);
    if (image != nullptr && name != nullptr)
        remember_handle(image, handle, name, true);
}

void function_of_kernel(CUfunction function, CUkernel handle) {
    const Held held;
    const Lock lock(inventory_lock());
    const Handle known = handles().find(handle);
    if (known.kernel != nullptr)
        return remember_handle(known.kernel->image, function, known.kernel->name, true);
    for (Image* image = first_image(); image != nullptr; image = image->next)
        for (const UnresolvedHandle* one = image->unresolved; one != nullptr; one = one->next)
            if (one->handle == handle)
                return remember_handle(image, function, reinterpret_cast<const char*>(one->name.data()), true);
}

void module_of_library(CUmodule module, CUlibrary library) {
    const Lock lock(inventory_lock());
    if (Image* image = find_image(library); image != nullptr)
        image->module = module;
}

void context_began(CUcontext context, CUdevice device, bool primary) {
    segment::add_relaxed(view().header().contexts, std::uint32_t{1});
    Place* place = register_place(context, device, primary);
    CUcontext current = nullptr;
    if (place != nullptr && driver().cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context && is_idle(*place))
        quiet_moment(place);
}

bool context_ends(Place* place, bool drain_paused) {
    const Held held;
    const Lock lock(load_lock());
    const Lock inventory(inventory_lock());
    const bool counted = is_equipped(*place);
    if (counted && !(drain_paused && keep_contents(*place)))
        run_originals();
    end_place(place);
    return counted && !any_equipped();
}

void quiet_moment(Place* place) {
    if (place == nullptr || mode() != Mode::observing || !(copies_wait(*place) || messages_wait()))
        return;
    const Held held;
    const Loading load;
    const OwnCalls own;
    if (!own.relaxed())
        return;
    const Lock lock(load_lock());
    settle_late_answers();
    load_waiting_copies(place);
}

void load_if_over(CUstream stream, StreamForm form) {
    const auto query = form == StreamForm::legacy ? driver().cuStreamQuery : driver().cuStreamQuery_ptsz;
    Place* place = copies_wait_anywhere() && !several_places() ? place_of(stream) : nullptr;
    if (place == nullptr || query == nullptr || !copies_wait(*place))
        return;
    Synchronising asking = Synchronising::stream(place, stream, form);
    bool over = false;
    {
        const OwnCalls own;
        over = own.relaxed() && query(stream) == CUDA_SUCCESS;
    }
    if (asking.asked(over))
        quiet_moment(place);
}

bool load_before_launch(Place* place) {
    // Another thread that loads may do so for as long as a launch may wait.
    const std::uint64_t wait = std::uint64_t{segment::load_relaxed(view().header().wait_ms)} * 1'000'000;
    if (!copies_wait(*place) || !is_idle(*place) || mode() != Mode::observing)
        return false;
    const Held held;
    if (!load_lock().lock_within(wait))
        return false;
    const Loading load;
    const OwnCalls own;
    if (own.relaxed())
        load_waiting_copies(place);
    load_lock().unlock();
    return own.relaxed();
}

void take_in_late_answers() {
    if (!messages_wait() || !load_lock().try_lock())
        return;
    settle_late_answers();
    load_lock().unlock();
}

}  // namespace egpu::agent
