// SPDX-License-Identifier: Apache-2.0
#include "agent/kernels/copies.hpp"

#include <cstdlib>
#include <cstring>

#include "agent/driver/driver.hpp"
#include "agent/maps/device_maps.hpp"
#include "agent/session/session.hpp"
#include "segment/access/shared.hpp"

namespace egpu::agent {

namespace {

constexpr const char* kTableSymbol = "egpu_table";
constexpr int kWarp = 32;
constexpr int kMostWarps = 32;                 // of a block: 1,024 threads
constexpr std::size_t kLongestName = 1 << 16;  // bytes of a mangled kernel or variable name

constinit int waiting_images = 0;
constinit std::uint32_t copies_loaded = 0;

// What load_one found out.
struct Loaded {
    egpu_message_copy_result result{};
    CUmodule module = nullptr;
    CUfunction copy = nullptr;
    CUfunction original = nullptr;
    std::uint32_t resident_warps = ~0u;
};

bool failed(Loaded* loaded, egpu_copy_reason reason, CUresult result) {
    loaded->result.reason = reason;
    loaded->result.result = static_cast<std::int32_t>(result);
    return false;
}

// A NUL-ended copy of a name, freed with the buffer.
Buffer ended(std::string_view text) {
    if (text.size() > kLongestName)
        return {};
    Buffer buffer(text.size() + 1);
    if (buffer.size() != 0) {
        std::memcpy(buffer.data(), text.data(), text.size());
        buffer.data()[text.size()] = std::byte{0};
    }
    return buffer;
}

const char* text_of(const Buffer& buffer) {
    return reinterpret_cast<const char*>(buffer.data());
}

// The application's own function of that kernel in the current context; null where the driver doesn't say.
CUfunction original_function(const Image& image, const char* name) {
    const Driver& real = driver();
    CUfunction function = nullptr;
    if (image.library == nullptr)
        return real.cuModuleGetFunction(&function, image.module, name) == CUDA_SUCCESS ? function : nullptr;
    CUkernel kernel = nullptr;
    if (real.cuLibraryGetKernel(&kernel, image.library, name) != CUDA_SUCCESS ||
        real.cuKernelGetFunction(&function, kernel) != CUDA_SUCCESS)
        return nullptr;
    return function;
}

int attribute(CUfunction function, CUfunction_attribute which) {
    int value = 0;
    const Driver& real = driver();
    if (function == nullptr || real.cuFuncGetAttribute == nullptr ||
        real.cuFuncGetAttribute(&value, which, function) != CUDA_SUCCESS || value < 0)
        return 0;
    return value;
}

// Address of a variable of the application, by its PTX name, on the application's own handle.
CUdeviceptr global_of(const Image& image, const char* name) {
    const Driver& real = driver();
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    if (image.library == nullptr)
        return real.cuModuleGetGlobal_v2(&address, &bytes, image.module, name) == CUDA_SUCCESS ? address : 0;
    if (real.cuLibraryGetGlobal(&address, &bytes, image.library, name) == CUDA_SUCCESS)
        return address;
    const bool managed = real.cuLibraryGetManaged != nullptr &&
                         real.cuLibraryGetManaged(&address, &bytes, image.library, name) == CUDA_SUCCESS;
    return managed ? address : 0;
}

bool fill_entry(const Image& image, const ReceivedCopy& copy, const egpu_table_entry& entry, std::uint64_t* word,
                Loaded* loaded) {
    if (entry.kind == 1) {
        if (entry.map >= view().map_count() || entry.offset >= view().geometry(entry.map).device_bytes())
            return failed(loaded, EGPU_COPY_NO_SYMBOL, CUDA_ERROR_INVALID_VALUE);
        const CUdeviceptr base = map_memory(entry.map);
        if (base == 0)
            return failed(loaded, EGPU_COPY_NO_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
        *word = base + entry.offset;
        return true;
    }
    const std::string_view symbols = copy.symbols();
    if (entry.kind != 2 || entry.offset >= symbols.size() ||
        symbols.find('\0', static_cast<std::size_t>(entry.offset)) == std::string_view::npos)
        return failed(loaded, EGPU_COPY_NO_SYMBOL, CUDA_ERROR_INVALID_VALUE);
    *word = global_of(image, symbols.data() + entry.offset);
    return *word != 0 || failed(loaded, EGPU_COPY_NO_SYMBOL, CUDA_ERROR_NOT_FOUND);
}

bool fill_table(const Image& image, const ReceivedCopy& copy, Loaded* loaded) {
    const std::size_t bytes = copy.head.entries * sizeof(std::uint64_t);
    if (bytes == 0)
        return true;
    const Driver& real = driver();
    CUdeviceptr address = 0;
    std::size_t size = 0;
    const CUresult found = real.cuModuleGetGlobal_v2(&address, &size, loaded->module, kTableSymbol);
    if (found != CUDA_SUCCESS || size < bytes)
        return failed(loaded, EGPU_COPY_NO_SYMBOL, found != CUDA_SUCCESS ? found : CUDA_ERROR_INVALID_VALUE);
    Buffer words(bytes);
    if (words.size() == 0)
        return failed(loaded, EGPU_COPY_NO_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
    auto* word = reinterpret_cast<std::uint64_t*>(words.data());
    for (std::uint32_t i = 0; i < copy.head.entries; ++i) {
        egpu_table_entry entry{};
        std::memcpy(&entry, copy.entries().data() + i * sizeof(entry), sizeof(entry));
        if (!fill_entry(image, copy, entry, &word[i], loaded))
            return false;
    }
    CUresult sent = real.cuMemcpyHtoDAsync_v2(address, words.data(), bytes, own_stream());
    if (sent == CUDA_SUCCESS)
        sent = real.cuStreamSynchronize(own_stream());
    return sent == CUDA_SUCCESS || failed(loaded, EGPU_COPY_LOAD_FAILED, sent);
}

// Local memory over what the context has reserved would make the driver stall the launch and keep gigabytes.
bool local_memory_fits(Loaded* loaded) {
    const int copy = attribute(loaded->copy, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    const int original = attribute(loaded->original, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    loaded->result.local_bytes = static_cast<std::uint32_t>(copy);
    loaded->result.original_local_bytes = static_cast<std::uint32_t>(original);
    std::size_t limit = 0;
    if (driver().cuCtxGetLimit == nullptr || driver().cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE) != CUDA_SUCCESS)
        limit = 0;
    return copy <= original || static_cast<std::size_t>(copy) <= limit ||
           failed(loaded, EGPU_COPY_LOCAL_MEMORY, CUDA_SUCCESS);
}

int resident_blocks(CUfunction function, int threads) {
    int blocks = -1;
    const Driver& real = driver();
    if (real.cuOccupancyMaxActiveBlocksPerMultiprocessor == nullptr ||
        real.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, 0) != CUDA_SUCCESS)
        return -1;
    return blocks;
}

// For which block sizes the copy keeps the original's blocks per SM. Compared without dynamic shared memory: static
// shared memory is the same for both, so what a launch adds takes the same away from both.
bool residency_holds(Loaded* loaded) {
    loaded->result.registers = static_cast<std::uint32_t>(attribute(loaded->copy, CU_FUNC_ATTRIBUTE_NUM_REGS));
    loaded->result.original_registers =
        static_cast<std::uint32_t>(attribute(loaded->original, CU_FUNC_ATTRIBUTE_NUM_REGS));
    if (attribute(loaded->copy, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) >
        attribute(loaded->original, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES))
        return failed(loaded, EGPU_COPY_FEWER_BLOCKS, CUDA_SUCCESS);
    if (loaded->original == nullptr || loaded->result.registers <= loaded->result.original_registers)
        return true;
    const int most = attribute(loaded->original, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    std::uint32_t kept = 0;
    for (int warps = 1; warps <= kMostWarps; ++warps) {
        const int original = resident_blocks(loaded->original, warps * kWarp);
        const int copy = resident_blocks(loaded->copy, warps * kWarp);
        if (original < 0 || copy < 0 || copy >= original)
            kept |= 1u << (warps - 1);
    }
    loaded->resident_warps = kept;
    const int reachable = most > 0 && most < kMostWarps * kWarp ? (most + kWarp - 1) / kWarp : kMostWarps;
    const std::uint32_t possible = reachable >= kMostWarps ? ~0u : (1u << reachable) - 1;
    return (kept & possible) != 0 || failed(loaded, EGPU_COPY_FEWER_BLOCKS, CUDA_SUCCESS);
}

// What the application has set on its function by now.
void mirror_attributes(const Loaded& loaded) {
    constexpr CUfunction_attribute kMirrored[] = {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                                                  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED};
    const Driver& real = driver();
    for (const CUfunction_attribute which : kMirrored) {
        int wanted = 0, present = 0;
        if (loaded.original != nullptr && real.cuFuncGetAttribute != nullptr && real.cuFuncSetAttribute != nullptr &&
            real.cuFuncGetAttribute(&wanted, which, loaded.original) == CUDA_SUCCESS &&
            real.cuFuncGetAttribute(&present, which, loaded.copy) == CUDA_SUCCESS && wanted != present)
            real.cuFuncSetAttribute(loaded.copy, which, wanted);
    }
}

bool load_one(const Image& image, const ReceivedCopy& copy, Loaded* loaded) {
    const Driver& real = driver();
    const Buffer name = ended(copy.name());
    if (!adopt_current_context() || (image.context != nullptr && image.context != home_context()))
        return failed(loaded, EGPU_COPY_OTHER_CONTEXT, CUDA_SUCCESS);
    if (name.size() == 0 || copy.image() == nullptr || copies_loaded >= EGPU_SEGMENT_MAX_KERNELS)
        return failed(loaded, EGPU_COPY_NO_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
    CUresult result = real.cuModuleLoadData(&loaded->module, copy.image());
    if (result == CUDA_SUCCESS)
        result = real.cuModuleGetFunction(&loaded->copy, loaded->module, text_of(name));
    if (result != CUDA_SUCCESS)
        return failed(loaded, EGPU_COPY_LOAD_FAILED, result);
    loaded->original = original_function(image, text_of(name));
    if (!local_memory_fits(loaded) || !residency_holds(loaded) || !fill_table(image, copy, loaded))
        return false;
    mirror_attributes(*loaded);
    return true;
}

void record(egpu_kernel_counters* counters, const egpu_message_copy_result& result) {
    const bool loaded = result.reason == EGPU_COPY_LOADED;
    segment::store_relaxed(counters->copy_result, result.result);
    segment::store_relaxed(counters->copy_reason, result.reason);
    segment::store_release(counters->copy_state, std::uint32_t{loaded ? 1u : 2u});
}

// Of a kernel that has a copy already (the same image in another context), only the reason.
void record_load(egpu_kernel_counters* counters, const egpu_message_copy_result& result) {
    if (result.reason != EGPU_COPY_LOADED && segment::load_relaxed(counters->copy_state) == 1)
        segment::store_relaxed(counters->copy_reason, result.reason);
    else
        record(counters, result);
}

void load_and_tell(Image* image, const ReceivedCopy& copy) {
    Kernel* kernel = find_kernel(*image, copy.name());
    Loaded loaded;
    loaded.result.kernel_id = copy.head.kernel_id;
    bool ready = false;
    if (kernel == nullptr || kernel->id != copy.head.kernel_id)
        failed(&loaded, EGPU_COPY_NO_SYMBOL, CUDA_ERROR_NOT_FOUND);
    else
        ready = load_one(*image, copy, &loaded);
    if (kernel != nullptr)
        record_load(kernel->counters, loaded.result);
    if (ready) {
        segment::store_relaxed(view().header().copies_loaded, ++copies_loaded);
        kernel->resident_warps = loaded.resident_warps;
        __atomic_store_n(&kernel->copy, loaded.copy, __ATOMIC_RELEASE);
    }
    tell_result(image->request, loaded.result);
}

void free_copies(Image* image) {
    while (image->waiting != nullptr) {
        ReceivedCopy* copy = image->waiting;
        image->waiting = copy->next;
        copy->~ReceivedCopy();
        std::free(copy);
    }
}

}  // namespace

bool copies_wait() {
    return __atomic_load_n(&waiting_images, __ATOMIC_RELAXED) != 0;
}

void load_copies(Image* image) {
    if (image->waiting == nullptr)
        return;
    CUcontext current = nullptr;
    if (driver().cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == nullptr) {
        __atomic_store_n(&waiting_images, 1, __ATOMIC_RELAXED);
        return;
    }
    CUdevice device = 0;
    if (home_context() == nullptr && driver().cuCtxGetDevice(&device) == CUDA_SUCCESS)
        tell_device(device);
    for (const ReceivedCopy* copy = image->waiting; copy != nullptr && mode() == Mode::observing; copy = copy->next)
        load_and_tell(image, *copy);
    free_copies(image);
}

void load_waiting_copies() {
    __atomic_store_n(&waiting_images, 0, __ATOMIC_RELAXED);
    for (Image* image = first_image(); image != nullptr; image = image->next)
        load_copies(image);
}

void retire_copy(Kernel* kernel, egpu_copy_reason reason, CUresult result) {
    __atomic_store_n(&kernel->copy, static_cast<CUfunction>(nullptr), __ATOMIC_RELEASE);
    egpu_message_copy_result record_of{};
    record_of.reason = reason;
    record_of.result = static_cast<std::int32_t>(result);
    record(kernel->counters, record_of);
}

void retire_all_copies() {
    for (Image* image = first_image(); image != nullptr; image = image->next)
        for (std::uint32_t i = 0; i < image->kernel_count; ++i)
            __atomic_store_n(&image->kernels[i].copy, static_cast<CUfunction>(nullptr), __ATOMIC_RELEASE);
}

}  // namespace egpu::agent
