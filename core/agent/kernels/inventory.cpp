// SPDX-License-Identifier: Apache-2.0
#include "agent/kernels/inventory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

constinit Mutex loading_lock;
constinit Mutex table_lock;
constinit HandleTable table;
constinit Image* images = nullptr;
constinit Image* dropped_images = nullptr;  // unloaded: their records are used again by the same image
constinit Copy* copies_at[kMostPlaces] = {};
constinit Copy* free_copies = nullptr;
constinit std::uint64_t kernels_ever = 0;
constinit std::uint32_t highest_id = 0;  // atomic

// Kernel records are kept for good. An image that is loaded again has its old ones, so what grows is bounded by the
// segment's kernel ids times the instances that are loaded at once, and by this.
constexpr std::uint64_t kMostKernelsEver = 1u << 20;

template <typename T>
T* make() {
    void* place = std::malloc(sizeof(T));
    return place != nullptr ? new (place) T : nullptr;
}

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
        segment::raise(highest_id, named.id);
    }
    std::sort(image->kernels, image->kernels + image->kernel_count,
              [](const Kernel& a, const Kernel& b) { return a.name < b.name; });
}

// What an answer brings is what its kernels are to run. `all`: the others run their originals; of an image that was
// here before, what they ran then may be the copy of a probe that was removed since.
void settle_wanted(Image* image, bool all) {
    for (std::uint32_t i = 0; i < image->kernel_count; ++i) {
        Kernel& kernel = image->kernels[i];
        std::uint32_t wanted = 0;
        for (const ReceivedCopy* copy = image->waiting; copy != nullptr; copy = copy->next)
            if (copy->head.kernel_id == kernel.id)
                wanted = copy->head.copy_id;
        if ((wanted == kernel.wanted && wanted != 0) || (wanted == 0 && !all))
            continue;
        kernel.wanted = wanted;
        for (unsigned int place = 0; place < kMostPlaces; ++place)
            replace_copy(&kernel, place, nullptr);
    }
}

void attach_copies(Image* image, Answer* answer) {
    ReceivedCopy** end = &image->waiting;
    while (*end != nullptr)
        end = &(*end)->next;
    *end = answer->copies;
    answer->copies = nullptr;
    settle_wanted(image, false);
    std::uint32_t count = 0;
    for (const ReceivedCopy* copy = image->waiting; copy != nullptr; copy = copy->next)
        ++count;
    if (count != 0)
        __atomic_store_n(&image->copy_count, count, __ATOMIC_RELEASE);
}

// Whether an answer names the kernels that the record has.
bool same_kernels(const Image& image, const Answer& answer) {
    if (count_kernels(answer) != image.kernel_count)
        return false;
    std::size_t position = 0;
    NamedKernel named;
    for (std::uint32_t i = 0; i < image.kernel_count && next_kernel(answer, &position, &named); ++i) {
        const Kernel* kernel = find_kernel(image, named.name);
        if (kernel == nullptr || kernel->id != named.id)
            return false;
    }
    return true;
}

// Of several the one whose copies lie in this place already.
Image* take_dropped(const Image& owner, const LoadedImage& loaded, const Answer& answer, bool answered) {
    Image** best = nullptr;
    int best_score = 0;
    for (Image** link = &dropped_images; *link != nullptr; link = &(*link)->next) {
        const Image& image = **link;
        const bool empty = image.kernel_count == 0 && answer.kernel_count == 0;
        const bool same = image.identity.hash == loaded.identity.hash &&
                          (image.library != nullptr) == (owner.library != nullptr) &&
                          (!answered || same_kernels(image, answer));
        const int score = same ? 2 + (image.place == owner.place ? 1 : 0) : empty ? 1 : 0;
        if (score > best_score) {
            best = link;
            best_score = score;
        }
    }
    if (best == nullptr)
        return nullptr;
    Image* image = *best;
    *best = image->next;
    return image;
}

bool make_kernels(Image* image, Answer* answer) {
    const std::uint32_t count = count_kernels(*answer);
    if (count == 0)
        return true;
    if (kernels_ever + count > kMostKernelsEver)
        return false;
    void* kernels = std::aligned_alloc(alignof(Kernel), sizeof(Kernel) * count);
    if (kernels == nullptr)
        return false;
    image->kernels = static_cast<Kernel*>(kernels);
    image->kernel_count = count;
    fill_kernels(image, *answer);
    image->names = static_cast<Buffer&&>(answer->kernels);
    kernels_ever += count;
    return true;
}

void settle_home(Image* image) {
    for (std::uint32_t i = 0; i < image->kernel_count; ++i)
        image->kernels[i].home = image->place;
}

void free_unresolved(Image* image) {
    while (image->unresolved != nullptr) {
        UnresolvedHandle* handle = image->unresolved;
        image->unresolved = handle->next;
        handle->~UnresolvedHandle();
        std::free(handle);
    }
}

void insert_handle(const void* handle, const Handle& meaning) {
    if (!table.insert(handle, meaning))
        segment::add_relaxed(view().header().handles_dropped, std::uint32_t{1});
}

template <typename Matches>
Image* first_that(const Matches& matches) {
    Image* image = images;
    while (image != nullptr && !matches(*image))
        image = image->next;
    return image;
}

void forget_copies(const Image* list, unsigned int place) {
    for (const Image* image = list; image != nullptr; image = image->next)
        for (std::uint32_t i = 0; i < image->kernel_count; ++i)
            replace_copy(&image->kernels[i], place, nullptr);
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

std::uint32_t highest_kernel_id() {
    return segment::load_relaxed(highest_id);
}

Image* first_image() {
    return images;
}

Image* add_image(const Image& owner, const LoadedImage& loaded, Answer&& answer, bool answered) {
    Image* image = take_dropped(owner, loaded, answer, answered);
    if (image == nullptr) {
        image = make<Image>();
        if (image == nullptr)
            return nullptr;
        if (!make_kernels(image, &answer)) {
            std::free(image);
            return nullptr;
        }
    }
    image->module = owner.module;
    image->library = owner.library;
    image->place = owner.place;
    image->identity = loaded.identity;
    image->answered = answered || image->kernel_count != 0;  // as it was when it was here before
    image->request = answer.request;
    __atomic_store_n(&image->late, answer.complete ? 0u : 1u, __ATOMIC_RELAXED);
    __atomic_store_n(&image->copy_count, 0u, __ATOMIC_RELAXED);
    __atomic_store_n(&image->loaded_places, 0u, __ATOMIC_RELAXED);
    settle_home(image);
    attach_copies(image, &answer);
    settle_wanted(image, true);
    image->next = images;
    images = image;
    return image;
}

void add_kernels(Image* image, Answer&& answer) {
    if (!image->answered && answer.kernels.size() != 0 && make_kernels(image, &answer)) {
        image->answered = true;
        settle_home(image);
        for (const UnresolvedHandle* one = image->unresolved; one != nullptr; one = one->next)
            if (Kernel* kernel = find_kernel(*image, reinterpret_cast<const char*>(one->name.data())))
                insert_handle(one->handle, {kernel, one->context_free});
        free_unresolved(image);
    }
    if (answer.copies == nullptr)
        return;
    attach_copies(image, &answer);
    __atomic_store_n(&image->late, 0u, __ATOMIC_RELAXED);
    __atomic_store_n(&image->loaded_places, 0u, __ATOMIC_RELEASE);
}

Image* find_image(CUmodule module) {
    return module == nullptr ? nullptr : first_that([&](const Image& image) { return image.module == module; });
}

Image* find_image(CUlibrary library) {
    return library == nullptr ? nullptr : first_that([&](const Image& image) { return image.library == library; });
}

Image* find_image(std::uint32_t request) {
    return first_that([&](const Image& image) { return image.request == request; });
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
    for (std::uint32_t i = 0; i < image->kernel_count; ++i)
        for (unsigned int place = 0; place < kMostPlaces; ++place)
            replace_copy(&image->kernels[i], place, nullptr);
    free_copies_of(&image->waiting);
    free_unresolved(image);
    image->request = 0;  // what still comes for it is nobody's
    image->next = dropped_images;
    dropped_images = image;
}

void drop_place(const Place& place) {
    const unsigned int index = index_of(place);
    for (Image* image = images; image != nullptr;) {
        Image* next = image->next;
        if (image->library == nullptr && image->place == index)
            drop_image(image);
        else
            __atomic_fetch_and(&image->loaded_places, ~(1u << index), __ATOMIC_ACQ_REL);
        image = next;
    }
    forget_copies(images, index);
    while (copies_at[index] != nullptr) {
        Copy* copy = copies_at[index];
        copies_at[index] = copy->next;
        copy->next = free_copies;
        free_copies = copy;
    }
}

void remember_handle(Image* image, const void* handle, std::string_view name, bool context_free) {
    if (Kernel* kernel = find_kernel(*image, name); kernel != nullptr)
        return insert_handle(handle, {kernel, context_free});
    if (image->answered)
        return;
    for (const UnresolvedHandle* one = image->unresolved; one != nullptr; one = one->next)
        if (one->handle == handle)
            return;
    auto* unresolved = make<UnresolvedHandle>();
    if (unresolved == nullptr)
        return;
    unresolved->name = Buffer(name.size() + 1);
    if (unresolved->name.size() == 0) {
        std::free(unresolved);
        return;
    }
    std::memcpy(unresolved->name.data(), name.data(), name.size());
    unresolved->name.data()[name.size()] = std::byte{0};
    unresolved->handle = handle;
    unresolved->context_free = context_free;
    unresolved->next = image->unresolved;
    image->unresolved = unresolved;
}

Copy*& copies_of(const Place& place) {
    return copies_at[index_of(place)];
}

Copy* new_copy() {
    Copy* copy = free_copies;
    if (copy == nullptr)
        return make<Copy>();
    free_copies = copy->next;
    std::free(copy->bank.refreshes);
    return new (copy) Copy;
}

}  // namespace egpu::agent
