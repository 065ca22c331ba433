// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 for recordings: between a CUDA runtime (NVIDIA's or the stand-in) and a driver it writes down what the
// runtime asks for and what it calls. EGPU_RECORD_DRIVER is the path of the driver, EGPU_RECORD_LOOKUPS and
// EGPU_RECORD_CALLS are the files. Form of both: tests/data/recordings/README.md. It knows no prototypes but those
// below.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#define EGPU_EXPORT extern "C" __attribute__((visibility("default")))

extern "C" {
extern char recorder_stubs[];  // recorder_stubs.S
__attribute__((visibility("hidden"))) void* record_call(std::uint64_t number, const std::uint64_t* arguments);
}

namespace {

constexpr std::size_t kStubs = 2048;
constexpr std::size_t kStubBytes = 16;

struct Function {
    std::string name;
    int version = 0;
    std::uint64_t flags = 0;
    void* real = nullptr;
};

/// Never destroyed: the runtime calls the driver from exit handlers, too.
struct Tables {
    std::mutex mutex;
    std::array<Function, kStubs> functions;
    std::size_t function_count = 0;
    std::set<std::uint64_t> kernels;
    std::set<std::uint64_t> module_functions;
};
Tables& tables = *new Tables;

void write_line(const char* variable, const std::string& line) {
    const char* const path = getenv(variable);
    if (path == nullptr) {
        return;
    }
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const std::string text = line + "\n";
    if (file < 0 || write(file, text.data(), text.size()) < 0) {
        std::abort();
    }
    close(file);
}

void* driver_symbol(const char* name) {
    static void* const library = dlopen(getenv("EGPU_RECORD_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : dlsym(library, name);
}

std::string kind(std::uint64_t handle) {
    const std::lock_guard lock(tables.mutex);
    if (handle == 0) {
        return "none";
    }
    return tables.kernels.count(handle) != 0            ? "kernel"
           : tables.module_functions.count(handle) != 0 ? "function"
                                                        : "unknown";
}

std::string image_kind(std::uint64_t address) {
    unsigned magic = 0;
    std::memcpy(&magic, reinterpret_cast<const void*>(address), sizeof magic);
    switch (magic) {
        case 0x466243B1U:
            return "wrapper";
        case 0xBA55ED50U:
            return "fatbinary";
        case 0x464C457FU:
            return "cubin";
        default:
            return "text";
    }
}

/// What stands behind a name: the number of an argument, and what it is.
struct Detail {
    const char* function;
    unsigned argument;
    enum Kind { handle, image, number, node } kind;
};
constexpr Detail kDetails[] = {
    {"cuLaunchKernel", 0, Detail::handle},
    {"cuLaunchKernelEx", 1, Detail::handle},
    {"cuLaunchCooperativeKernel", 0, Detail::handle},
    {"cuFuncGetAttribute", 2, Detail::handle},
    {"cuFuncSetAttribute", 0, Detail::handle},
    {"cuKernelGetAttribute", 2, Detail::handle},
    {"cuKernelSetAttribute", 2, Detail::handle},
    {"cuKernelGetFunction", 1, Detail::handle},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", 1, Detail::handle},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 1, Detail::handle},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 4, Detail::number},
    {"cuLibraryLoadData", 1, Detail::image},
    {"cuLibraryLoadData", 4, Detail::number},
    {"cuModuleLoadData", 1, Detail::image},
    {"cuModuleLoadDataEx", 1, Detail::image},
    {"cuModuleLoadFatBinary", 1, Detail::image},
    {"cuStreamCreate", 1, Detail::number},
    {"cuStreamCreateWithPriority", 1, Detail::number},
    {"cuEventCreate", 1, Detail::number},
    {"cuEventRecordWithFlags", 2, Detail::number},
    {"cuStreamWaitEvent", 2, Detail::number},
    {"cuMemHostAlloc", 2, Detail::number},
    {"cuMemHostRegister", 2, Detail::number},
    {"cuMemAllocManaged", 2, Detail::number},
    {"cuStreamBeginCapture", 1, Detail::number},
    {"cuGraphInstantiateWithFlags", 2, Detail::number},
    {"cuGraphAddKernelNode", 4, Detail::node},
    {"cuGraphKernelNodeSetParams", 1, Detail::node},
    {"cuGraphExecKernelNodeSetParams", 2, Detail::node},
};

/// CUDA_KERNEL_NODE_PARAMS_v2: the function at its begin, the kernel at 56.
std::string node_kinds(std::uint64_t address) {
    std::array<std::uint64_t, 8> words{};
    std::memcpy(words.data(), reinterpret_cast<const void*>(address), sizeof words);
    return "func:" + kind(words[0]) + ",kern:" + kind(words[7]);
}

std::string details(const std::string& name, const std::uint64_t* arguments) {
    std::string text;
    for (const Detail& one : kDetails) {
        if (name != one.function) {
            continue;
        }
        const std::uint64_t value = arguments[one.argument];
        text += ' ';
        switch (one.kind) {
            case Detail::handle:
                text += kind(value);
                break;
            case Detail::image:
                text += image_kind(value);
                break;
            case Detail::number:
                text += std::to_string(static_cast<std::uint32_t>(value));
                break;
            case Detail::node:
                text += node_kinds(value);
                break;
        }
    }
    return text;
}

void write_call(const Function& function, const std::uint64_t* arguments) {
    write_line("EGPU_RECORD_CALLS", function.name + " " + std::to_string(function.version) + " " +
                                        std::to_string(function.flags) + details(function.name, arguments));
}

/// Functions whose result has to be remembered, so that later calls can say what kind of handle they were given.
template <int kWhich>
struct Remembering {
    static inline Function& function = *new Function;
    static int call(void** result, void* owner, const void* name) {
        const std::uint64_t arguments[6] = {reinterpret_cast<std::uint64_t>(result),
                                            reinterpret_cast<std::uint64_t>(owner),
                                            reinterpret_cast<std::uint64_t>(name)};
        write_call(function, arguments);
        const int error = reinterpret_cast<int (*)(void**, void*, const void*)>(function.real)(result, owner, name);
        if (error == 0) {
            const std::lock_guard lock(tables.mutex);
            (kWhich == 0 ? tables.kernels : tables.module_functions).insert(reinterpret_cast<std::uint64_t>(*result));
        }
        return error;
    }
};

void* remembering(const Function& function) {
    const auto take = [&](auto wrapper) {
        decltype(wrapper)::function = function;
        return reinterpret_cast<void*>(&decltype(wrapper)::call);
    };
    if (function.name == "cuLibraryGetKernel") {
        return take(Remembering<0>{});
    }
    if (function.name == "cuModuleGetFunction") {
        return take(Remembering<1>{});
    }
    // Its third argument does not exist and is not looked at.
    return function.name == "cuKernelGetFunction" ? take(Remembering<2>{}) : nullptr;
}

void* wrapper_of(const char* name, int version, std::uint64_t flags, void* real) {
    const std::lock_guard lock(tables.mutex);
    const Function function{name, version, flags, real};
    if (void* const wrapper = remembering(function)) {
        return wrapper;
    }
    const std::size_t number = tables.function_count;
    if (number == kStubs) {
        std::abort();
    }
    tables.functions[number] = function;
    ++tables.function_count;
    return recorder_stubs + number * kStubBytes;
}

int look_up(int (*real)(const char*, void**, int, std::uint64_t, int*), const char* symbol, void** found, int version,
            std::uint64_t flags, int* status);

}  // namespace

void* record_call(std::uint64_t number, const std::uint64_t* arguments) {
    const Function& function = tables.functions[number];
    write_call(function, arguments);
    return function.real;
}

EGPU_EXPORT int cuGetProcAddress_v2(const char* symbol, void** found, int version, std::uint64_t flags, int* status) {
    static const auto real =
        reinterpret_cast<int (*)(const char*, void**, int, std::uint64_t, int*)>(driver_symbol("cuGetProcAddress_v2"));
    return look_up(real, symbol, found, version, flags, status);
}

namespace {

int look_up(int (*real)(const char*, void**, int, std::uint64_t, int*), const char* symbol, void** found, int version,
            std::uint64_t flags, int* status) {
    if (real == nullptr) {
        return 500;  // CUDA_ERROR_NOT_FOUND
    }
    const int error = real(symbol, found, version, flags, status);
    const bool there = error == 0 && *found != nullptr;
    write_line("EGPU_RECORD_LOOKUPS", std::string(*symbol == '\0' ? "-" : symbol) + " " + std::to_string(version) +
                                          " " + std::to_string(flags) + (there ? " found" : " missing"));
    if (there) {
        *found = std::strcmp(symbol, "cuGetProcAddress") == 0 && version >= 12000
                     ? reinterpret_cast<void*>(&cuGetProcAddress_v2)
                     : wrapper_of(symbol, version, flags, *found);
    }
    return error;
}

}  // namespace
