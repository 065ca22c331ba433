// SPDX-License-Identifier: Apache-2.0
// A driver that loads, launches and copies just enough to show what the agent does: "device" memory is host memory, a
// kernel is a name in a text. Lines of the text say how it behaves:
//   mock-add            a launch adds 1 to the word at egpu_table[0], and to that at egpu_table[1] where there is one
//   mock-sends          a launch sends to the ring buffer at egpu_table[0] (mock_rings.cpp)
//   mock-registers N, mock-local N, mock-launch-error N, mock-time N (ns of a launch, for each block in x)
//   mock-bank           a launch reads app_table from this module, which must have been refreshed (mock_constants.cpp)
// Two devices, any number of contexts. A module's function launches in its context only, and what a context allocated
// goes with it: a copy that still writes there is counted (mock_counts), as is what was loaded outside relaxed capture
// mode. MOCK_COPY_ERROR=N: copies from the device fail with N after the first. MOCK_DEVICE=NAME names the devices.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "gpu/device/driver.h"
#include "mock_constants.hpp"
#include "mock_events.hpp"
#include "mock_graphs.hpp"
#include "mock_rings.hpp"

struct CUctx_st {
    CUdevice device = 0;
    std::vector<std::pair<char*, std::size_t>> memory;
};
struct CUstream_st {
    CUcontext context = nullptr;
};

namespace {

struct Module;

// Stands for CUfunction and CUkernel.
struct Function {
    Module* module;
    std::string name;
    std::map<CUfunction_attribute, int> attributes = {};
    std::map<CUcontext, Function*> in_context = {};  // of a library's kernel
};

struct Module {
    std::string text;
    std::map<std::string, Function> functions;
    std::map<std::string, std::vector<std::uint64_t>> globals;
    CUcontext context = nullptr;  // null: a library
    bool has(const char* word) const { return text.find(word) != std::string::npos; }
    int number(const char* word, int otherwise) const {
        const std::size_t at = text.find(word);
        return at == std::string::npos ? otherwise : std::atoi(text.c_str() + at + std::strlen(word));
    }
};

std::mutex everything;
CUctx_st primary[2] = {{0, {}}, {1, {}}};
std::vector<std::pair<char*, std::size_t>> lost_memory;
thread_local CUcontext current = nullptr;
thread_local std::vector<CUcontext> stack;
int primary_references[2] = {}, stray_writes = 0, occupancy_calls = 0;
int launches_of_originals = 0, launches_of_copies = 0, copies_from_device = 0, outside_relaxed = 0;

template <typename Handle>
Function* function_of(Handle handle) {
    return reinterpret_cast<Function*>(handle);
}

Module* load(const void* image) {
    auto* module = new Module{static_cast<const char*>(image), {}, {}};
    for (std::size_t at = 0; (at = module->text.find(".entry ", at)) != std::string::npos;) {
        at += 7;
        const std::string name = module->text.substr(at, module->text.find('(', at) - at);
        module->functions[name] = {module, name, {}, {}};
    }
    return module;
}

bool is_text(const void* image) {
    return image != nullptr && std::strncmp(static_cast<const char*>(image), ".version", 8) == 0;
}

// The agent's own calls on threads of the application have to be made in relaxed mode.
void check_relaxed(const Module& module) {
    if (module.has("egpu_table") && !mock_is_relaxed())
        ++outside_relaxed;
}

CUcontext context_of(CUstream stream) {
    return reinterpret_cast<std::uintptr_t>(stream) > 2 ? stream->context : current;
}

bool is_lost(std::uint64_t address) {
    return std::any_of(lost_memory.begin(), lost_memory.end(), [address](const auto& lost) {
        return address - reinterpret_cast<std::uint64_t>(lost.first) < lost.second;
    });
}

// With the context all that it allocated goes. It is kept here, so that whoever writes to it can be told.
void lose(CUcontext context) {
    const std::lock_guard lock(everything);
    lost_memory.insert(lost_memory.end(), context->memory.begin(), context->memory.end());
    context->memory.clear();
}

CUresult run(Function* function, CUstream stream, unsigned int blocks) {
    if (mock_record(stream, reinterpret_cast<CUfunction>(function)))
        return CUDA_SUCCESS;
    const std::lock_guard lock(everything);
    Module& module = *function->module;
    const CUcontext context = context_of(stream);
    if (context == nullptr || (module.context != nullptr && module.context != context))
        return CUDA_ERROR_INVALID_HANDLE;
    if (const int error = module.number("mock-launch-error", 0); error != 0)
        return static_cast<CUresult>(error);
    const bool is_copy = module.has("egpu_table");
    ++(is_copy ? launches_of_copies : launches_of_originals);
    mock_ran(is_copy, static_cast<unsigned long long>(module.number("mock-time", 0)) * blocks);
    if (module.has("mock-bank"))
        mock_reads_bank(stream, module.globals["app_table"]);
    if (is_copy && module.has("mock-sends"))
        mock_sends(module.globals["egpu_table"][0]);
    if (!is_copy || !module.has("mock-add"))
        return CUDA_SUCCESS;
    for (const std::uint64_t address : module.globals["egpu_table"]) {
        if (is_lost(address))
            ++stray_writes;
        else if (address != 0)
            ++*reinterpret_cast<std::uint64_t*>(address);
    }
    return CUDA_SUCCESS;
}

CUresult find_function(void** to, Module* module, const char* name) {
    const auto found = module->functions.find(name);
    if (found == module->functions.end())
        return CUDA_ERROR_NOT_FOUND;
    *to = &found->second;
    return CUDA_SUCCESS;
}

CUresult find_global(CUdeviceptr* address, std::size_t* bytes, Module* module, const char* name) {
    if (!module->has(name))
        return CUDA_ERROR_NOT_FOUND;
    auto& words = module->globals[name];
    words.resize(2);
    if (std::strcmp(name, "app_table") == 0 && !module->has("egpu_table"))
        mock_note_table(&words);
    *address = reinterpret_cast<CUdeviceptr>(words.data());
    *bytes = words.size() * sizeof(words[0]);
    return CUDA_SUCCESS;
}

CUresult attribute_of(int* value, CUfunction_attribute which, const Function* function) {
    const Module& module = *function->module;
    *value = which == CU_FUNC_ATTRIBUTE_NUM_REGS                ? module.number("mock-registers", 32)
             : which == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES      ? module.number("mock-local", 0)
             : which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
                                                                : 0;
    if (const auto set = function->attributes.find(which); set != function->attributes.end())
        *value = set->second;
    return CUDA_SUCCESS;
}

}  // namespace

void mock_must_be_relaxed() {
    const std::lock_guard lock(everything);
    outside_relaxed += mock_is_relaxed() ? 0 : 1;
}
CUcontext mock_context_of(CUstream stream) {
    return context_of(stream);
}

#pragma GCC visibility push(default)
extern "C" {

void mock_counts(int* originals, int* copies, int* not_relaxed) {
    const std::lock_guard lock(everything);
    *originals = launches_of_originals;
    *copies = launches_of_copies;
    *not_relaxed = outside_relaxed + stray_writes;
}

int mock_occupancy_calls(void) {
    const std::lock_guard lock(everything);
    return occupancy_calls;
}

int mock_is_copy(CUfunction function) {
    return function_of(function)->module->has("egpu_table") ? 1 : 0;
}

CUresult cuInit(unsigned int) {
    return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
    *version = 13000;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    *device = ordinal;
    return ordinal < 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
    const char* given = std::getenv("MOCK_DEVICE");
    std::snprintf(name, static_cast<std::size_t>(length), "%s", given != nullptr ? given : "mock device");
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
    *value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9
             : which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT   ? 4
                                                                   : 0;
    return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** name) {
    *name = error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OTHER";
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    ++primary_references[device];
    *context = &primary[device];
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    if (--primary_references[device] == 0)
        lose(&primary[device]);
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    primary_references[device] = 0;
    lose(&primary[device]);
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
    *flags = 0;
    *active = primary_references[device] > 0 ? 1 : 0;
    return CUDA_SUCCESS;
}
CUresult cuCtxCreate_v2(CUcontext* context, unsigned int, CUdevice device) {
    *context = current = new CUctx_st{device, {}};
    return CUDA_SUCCESS;
}
CUresult cuCtxDestroy_v2(CUcontext context) {
    lose(context);
    if (current == context)
        current = nullptr;
    return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
    *context = current;
    return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
    current = context;
    return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
    stack.push_back(current);
    current = context;
    return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
    *context = current;
    current = stack.back();
    stack.pop_back();
    return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
    if (current == nullptr)
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = current->device;
    return CUDA_SUCCESS;
}
CUresult cuCtxGetLimit(size_t* value, CUlimit) {
    *value = 1024;
    return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize(void) {
    mock_settled();
    return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) {
    return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream* stream, unsigned int) {
    *stream = new CUstream_st{current};
    return CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
    *context = context_of(stream);
    return CUDA_SUCCESS;
}
static CUresult load_text(CUmodule* module, const void* image, CUcontext context) {
    if (!is_text(image))
        return CUDA_ERROR_INVALID_IMAGE;
    Module* loaded = load(image);
    loaded->context = context;
    check_relaxed(*loaded);
    *module = reinterpret_cast<CUmodule>(loaded);
    return CUDA_SUCCESS;
}
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    return current != nullptr ? load_text(module, image, current) : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int, CUjit_option*, void**) {
    return cuModuleLoadData(module, image);
}
static CUresult unload(Module* module) {
    const std::lock_guard lock(everything);
    for (auto& [name, words] : module->globals) {
        auto* kept = new std::vector<std::uint64_t>(std::move(words));
        lost_memory.emplace_back(reinterpret_cast<char*>(kept->data()), kept->size() * sizeof(std::uint64_t));
    }
    delete module;
    return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
    return unload(reinterpret_cast<Module*>(module));
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    return find_function(reinterpret_cast<void**>(function), reinterpret_cast<Module*>(module), name);
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
    return find_global(address, bytes, reinterpret_cast<Module*>(module), name);
}
CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned int, CUlibraryOption*,
                           void**, unsigned int) {
    return load_text(reinterpret_cast<CUmodule*>(library), code, nullptr);
}
CUresult cuLibraryUnload(CUlibrary library) {
    return unload(reinterpret_cast<Module*>(library));
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    const CUresult result = find_function(reinterpret_cast<void**>(kernel), reinterpret_cast<Module*>(library), name);
    if (result == CUDA_SUCCESS)
        mock_note_kernel(*kernel);
    return result;
}
CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
    return find_global(address, bytes, reinterpret_cast<Module*>(library), name);
}
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    const std::lock_guard lock(everything);
    Function*& here = function_of(kernel)->in_context[current];
    if (here == nullptr)
        here = new Function(*function_of(kernel));
    *function = reinterpret_cast<CUfunction>(here);
    mock_note_function(*function, kernel);
    return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction function) {
    return attribute_of(value, which, function_of(function));
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value) {
    const std::lock_guard lock(everything);
    function_of(function)->attributes[which] = value;
    return CUDA_SUCCESS;
}
CUresult cuKernelSetAttribute(CUfunction_attribute which, int value, CUkernel kernel, CUdevice) {
    return cuFuncSetAttribute(reinterpret_cast<CUfunction>(kernel), which, value);
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads, size_t shared) {
    const std::lock_guard lock(everything);
    ++occupancy_calls;
    int registers = 0;
    attribute_of(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function_of(function));
    *blocks = std::min(2048 / threads, 65536 / (registers * threads));
    if (shared != 0)
        *blocks = std::min(*blocks, static_cast<int>((227u << 10) / shared));
    return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config) {
    const unsigned int threads = config->blockDimX * config->blockDimY * config->blockDimZ;
    const CUresult result = cuOccupancyMaxActiveBlocksPerMultiprocessor(clusters, function, static_cast<int>(threads),
                                                                        config->sharedMemBytes);
    *clusters *= 66;
    return result;
}

// More than 48 KiB of dynamic shared memory has to be asked for.
static bool shared_fits(CUfunction function, unsigned int shared) {
    const std::lock_guard lock(everything);
    int most = 0;
    attribute_of(&most, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function_of(function));
    return shared <= 48u << 10 || shared <= static_cast<unsigned int>(most);
}
static CUresult launch(CUfunction f, unsigned int blocks, unsigned int shared, CUstream stream) {
    return shared_fits(f, shared) ? run(function_of(f), stream, blocks) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuLaunchKernel(CUfunction f, unsigned int blocks, unsigned int, unsigned int, unsigned int, unsigned int,
                        unsigned int, unsigned int shared, CUstream stream, void**, void**) {
    return launch(f, blocks, shared, stream);
}
CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned int blocks, unsigned int, unsigned int, unsigned int, unsigned int,
                             unsigned int, unsigned int shared, CUstream stream, void**, void**) {
    return launch(f, blocks, shared, stream);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void**, void**) {
    return launch(f, config->gridDimX, config->sharedMemBytes, config->hStream);
}
CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int blocks, unsigned int, unsigned int, unsigned int,
                                   unsigned int, unsigned int, unsigned int shared, CUstream stream, void**) {
    return launch(f, blocks, shared, stream);
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
    const std::lock_guard lock(everything);
    auto* memory = static_cast<char*>(std::malloc(bytes));
    current->memory.emplace_back(memory, bytes);
    *address = reinterpret_cast<CUdeviceptr>(memory);
    return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned int) {
    *memory = std::malloc(bytes);
    return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t bytes, CUstream) {
    std::memset(reinterpret_cast<void*>(address), value, bytes);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream) {
    const std::lock_guard lock(everything);
    const char* error = std::getenv("MOCK_COPY_ERROR");
    if (error != nullptr && ++copies_from_device > 1)
        return static_cast<CUresult>(std::atoi(error));
    std::memcpy(to, reinterpret_cast<void*>(from), bytes);
    return CUDA_SUCCESS;
}

// As the real one: by name, version and flags, always one of the exports.
static void* export_for(const char* name, int version, cuuint64_t flags);

CUresult cuGetProcAddress_v2(const char* symbol, void** answer, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
    *answer = export_for(symbol, version, flags);
    if (status != nullptr)
        *status = *answer != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *answer != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuGetProcAddress(const char* symbol, void** answer, int version, cuuint64_t flags) {
    return cuGetProcAddress_v2(symbol, answer, version, flags, nullptr);
}

static void* export_for(const char* name, int version, cuuint64_t flags) {
    struct Export {
        const char* name;
        int since;
        void* function;
        void* per_thread;
    };
#define PLAIN(name) \
    { #name, 0, reinterpret_cast < void*>(name), nullptr }
#define VERSION(name, since, function) \
    { #name, since, reinterpret_cast < void*>(function), nullptr }
    static const Export exports[] = {
        VERSION(cuGetProcAddress, 12000, cuGetProcAddress_v2),
        VERSION(cuGetProcAddress, 11030, cuGetProcAddress),
        {"cuLaunchKernel", 0, reinterpret_cast<void*>(cuLaunchKernel), reinterpret_cast<void*>(cuLaunchKernel_ptsz)},
        PLAIN(cuLaunchKernelEx),
        PLAIN(cuLaunchCooperativeKernel),
        PLAIN(cuFuncSetAttribute),
        PLAIN(cuKernelSetAttribute),
        PLAIN(cuInit),
        PLAIN(cuDeviceGet),
        PLAIN(cuDevicePrimaryCtxRetain),
        VERSION(cuDevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2),
        VERSION(cuDevicePrimaryCtxReset, 11000, cuDevicePrimaryCtxReset_v2),
        VERSION(cuCtxCreate, 3020, cuCtxCreate_v2),
        VERSION(cuCtxDestroy, 4000, cuCtxDestroy_v2),
        PLAIN(cuCtxSetCurrent),
        PLAIN(cuCtxSynchronize),
        PLAIN(cuCtxGetCurrent),
        PLAIN(cuFuncGetAttribute),
        PLAIN(cuModuleLoadData),
        PLAIN(cuModuleLoadDataEx),
        PLAIN(cuModuleUnload),
        PLAIN(cuModuleGetFunction),
        VERSION(cuModuleGetGlobal, 3020, cuModuleGetGlobal_v2),
        VERSION(cuMemcpyHtoDAsync, 3020, cuMemcpyHtoDAsync_v2),
        PLAIN(cuLibraryLoadData),
        PLAIN(cuLibraryUnload),
        PLAIN(cuLibraryGetKernel),
        PLAIN(cuKernelGetFunction),
        PLAIN(cuStreamCreate),
        PLAIN(cuStreamSynchronize),
    };
    for (const Export& known : exports)
        if (version >= known.since && std::strcmp(name, known.name) == 0)
            return flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM && known.per_thread != nullptr
                       ? known.per_thread
                       : known.function;
    return mock_graph_export(name, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
}

}  // extern "C"
#pragma GCC visibility pop
