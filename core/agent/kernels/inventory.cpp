// SPDX-License-Identifier: Apache-2.0
#include "agent/kernels/inventory.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

constinit Mutex loading_lock;
constinit Mutex table_lock;
constinit HandleTable table;
constinit Image* images = nullptr;
constinit std::uint64_t kernels_ever = 0;

// Kernels are kept for good: an application that loads and unloads for hours must not fill the memory with them.
constexpr std::uint64_t kMostKernelsEver = 1u << 20;

std::uint32_t count_kernels(const Answer& answer) {
    std::uint32_t count = 0;
    std::size_t position = 0;
    NamedKernel kernel;
    while (count < answer.kernel_count && next_kernel(answer, &position, &kernel))
        ++count;
    return count;
}

void fill_kernels(Image* image, const Answer& answer) {
    std::size_t position = 0;
    NamedKernel named;
    for (std::uint32_t i = 0; i < image->kernel_count && next_kernel(answer, &position, &named); ++i) {
        Kernel* kernel = new (&image->kernels[i]) Kernel;
        kernel->id = named.id;
        kernel->name = named.name;
        kernel->image = image;
        kernel->counters = &view().kernels()[named.id - 1];
    }
    std::sort(image->kernels, image->kernels + image->kernel_count,
              [](const Kernel& a, const Kernel& b) { return a.name < b.name; });
}

}  // namespace

Mutex& load_lock() {
    return loading_lock;
}

Mutex& inventory_lock() {
    return table_lock;
}

const HandleTable& handles() {
    return table;
}

Image* first_image() {
    return images;
}

Image* add_image(const Image& owner, Answer&& answer) {
    const std::uint32_t count = count_kernels(answer);
    if (kernels_ever + count > kMostKernelsEver)
        return nullptr;
    void* place = std::malloc(sizeof(Image));
    void* kernels = std::aligned_alloc(alignof(Kernel), sizeof(Kernel) * (count + std::size_t{1}));
    if (place == nullptr || kernels == nullptr) {
        std::free(place);
        std::free(kernels);
        return nullptr;
    }
    auto* image = new (place) Image;
    image->module = owner.module;
    image->library = owner.library;
    image->context = owner.context;
    image->kernels = static_cast<Kernel*>(kernels);
    image->kernel_count = count;
    image->request = answer.request;
    fill_kernels(image, answer);
    image->names = static_cast<Buffer&&>(answer.kernels);
    image->waiting = answer.copies;
    answer.copies = nullptr;
    image->next = images;
    images = image;
    kernels_ever += count;
    return image;
}

Image* find_image(CUmodule module) {
    Image* image = images;
    while (image != nullptr && image->module != module)
        image = image->next;
    return module == nullptr ? nullptr : image;
}

Image* find_image(CUlibrary library) {
    Image* image = images;
    while (image != nullptr && image->library != library)
        image = image->next;
    return library == nullptr ? nullptr : image;
}

Kernel* find_kernel(const Image& image, std::string_view name) {
    Kernel* end = image.kernels + image.kernel_count;
    Kernel* found = std::lower_bound(image.kernels, end, name,
                                     [](const Kernel& kernel, std::string_view n) { return kernel.name < n; });
    return found != end && found->name == name ? found : nullptr;
}

void drop_image(Image* image) {
    table.remove_if([](void* dropped, const Handle& handle) { return handle.kernel->image == dropped; }, image);
    for (Image** link = &images; *link != nullptr; link = &(*link)->next)
        if (*link == image) {
            *link = image->next;
            break;
        }
}

void drop_functions(bool of_other_contexts) {
    table.remove_if(
        [](void* other, const Handle& handle) {
            return !handle.context_free && handle.other_context == *static_cast<bool*>(other);
        },
        &of_other_contexts);
}

void remember_handle(const void* handle, const Handle& meaning) {
    if (!table.insert(handle, meaning))
        segment::add_relaxed(view().header().handles_dropped, std::uint32_t{1});
}

}  // namespace egpu::agent
