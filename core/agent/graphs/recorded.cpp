// SPDX-License-Identifier: Apache-2.0
#include "agent/graphs/recorded.hpp"

#include <cstdlib>
#include <cstring>
#include <new>

#include "agent/driver/driver.hpp"
#include "agent/session/buffer.hpp"
#include "agent/session/lock.hpp"

namespace egpu::agent {

namespace {

constexpr std::size_t kBuckets = 1024;

constinit Recorded* buckets[kBuckets] = {};
constinit Mutex changing;

Recorded*& bucket_of(CUfunction function) {
    const auto key = reinterpret_cast<std::uintptr_t>(function);
    return buckets[(key * 0x9e3779b97f4a7c15u >> 32) % kBuckets];
}

Recorded* find(CUfunction function) {
    Recorded* entry = __atomic_load_n(&bucket_of(function), __ATOMIC_ACQUIRE);
    while (entry != nullptr && __atomic_load_n(&entry->copy, __ATOMIC_ACQUIRE) != function)
        entry = entry->next;
    return entry;
}

// Both handles of a library's kernel. The name needs an end, which its place in the list of names doesn't have.
bool find_originals(Recorded* entry, const Copy& copy, CUfunction asked) {
    const Image& image = *copy.kernel->image;
    entry->original = asked;
    if (image.library == nullptr)
        return true;
    const std::string_view name = copy.kernel->name;
    const Buffer ended(name.size() + 1);
    entry->original = copy.functions.original;
    if (ended.size() == 0 || entry->original == nullptr || driver().cuLibraryGetKernel == nullptr)
        return false;
    std::memcpy(ended.data(), name.data(), name.size());
    ended.data()[name.size()] = std::byte{0};
    return driver().cuLibraryGetKernel(&entry->original_kernel, image.library,
                                       reinterpret_cast<const char*>(ended.data())) == CUDA_SUCCESS;
}

// Whether an entry still holds: the image may have been loaded again, with other handles.
bool is_current(const Recorded* entry, const Copy& copy, CUfunction asked) {
    const bool of_library = copy.kernel->image->library != nullptr;
    return entry != nullptr && entry->kernel == copy.kernel &&
           __atomic_load_n(&entry->original, __ATOMIC_ACQUIRE) == (of_library ? copy.functions.original : asked);
}

}  // namespace

const Recorded* recorded(CUfunction function) {
    return function != nullptr ? find(function) : nullptr;
}

bool record_copy(const Copy& copy, CUfunction asked, CUcontext context) {
    const CUfunction function = copy.functions.copy;
    if (is_current(find(function), copy, asked))
        return true;
    Recorded made;
    made.copy = function;
    made.kernel = copy.kernel;
    made.context = context;
    made.counters = copy.counters;
    if (!find_originals(&made, copy, asked))
        return false;
    const Lock lock(changing);
    if (Recorded* known = find(function); known != nullptr) {
        known->kernel = made.kernel;
        known->counters = made.counters;
        __atomic_store_n(&known->original_kernel, made.original_kernel, __ATOMIC_RELEASE);
        __atomic_store_n(&known->original, made.original, __ATOMIC_RELEASE);
        return true;
    }
    void* place = std::malloc(sizeof(Recorded));
    if (place == nullptr)
        return false;
    auto* entry = new (place) Recorded(made);
    entry->next = bucket_of(function);
    __atomic_store_n(&bucket_of(function), entry, __ATOMIC_RELEASE);
    return true;
}

void forget_recorded(CUcontext context) {
    const Lock lock(changing);
    for (Recorded* first : buckets)
        for (Recorded* entry = first; entry != nullptr; entry = entry->next)
            if (entry->context == context)
                __atomic_store_n(&entry->copy, static_cast<CUfunction>(nullptr), __ATOMIC_RELEASE);
}

}  // namespace egpu::agent
