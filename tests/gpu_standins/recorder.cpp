// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 for a test: between the runtime stand-in and the driver stand-in it writes down the calls, one name a
// line, to the file that EGPU_TEST_CALLS names. EGPU_TEST_DRIVER is the path of the driver.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>

#include "gpu/simulated/libcudart/driver_calls.hpp"

namespace {

void write_down(const std::string& line) {
    static const int file = open(getenv("EGPU_TEST_CALLS"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const std::string text = line + "\n";
    if (write(file, text.data(), text.size()) < 0) {
        std::abort();
    }
}

void* driver_symbol(const char* name) {
    static void* const library = dlopen(getenv("EGPU_TEST_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : dlsym(library, name);
}

const void* last_kernel = nullptr;

/// What stands behind the name of a call: which image is loaded, whether the kernel's own handle is launched.
std::string detail(const char*) {
    return {};
}
template <typename First, typename Second, typename... Rest>
std::string detail(const char* name, First first, Second second, Rest...) {
    if constexpr (std::is_same_v<First, CUlibrary*> && std::is_same_v<Second, const void*>) {
        unsigned magic = 0;
        std::memcpy(&magic, second, sizeof magic);
        return magic == 0x466243B1U ? "(wrapper)" : "(other)";
    }
    if constexpr (std::is_same_v<First, CUfunction>) {
        if (std::strcmp(name, "cuLaunchKernel") == 0) {
            return first == last_kernel ? "(kernel)" : "(function)";
        }
    }
    return {};
}
template <typename First>
std::string detail(const char*, First) {
    return {};
}

template <typename Tag, typename Function>
struct Recorded;
template <typename Tag, typename... Arguments>
struct Recorded<Tag, CUresult (*)(Arguments...)> {
    static inline CUresult (*real)(Arguments...) = nullptr;
    static CUresult call(Arguments... arguments) {
        write_down(Tag::name + detail(Tag::name, arguments...));
        return real(arguments...);
    }
};

struct Function {
    const char* name;
    void* wrapper;
    void** real;
};

/// Remembers the handle that is launched later.
struct GetKernelTag {
    static constexpr const char* name = "cuLibraryGetKernel";
    static CUresult (*real)(CUkernel*, CUlibrary, const char*);
    static CUresult call(CUkernel* kernel, CUlibrary library, const char* wanted) {
        write_down(name);
        const CUresult result = real(kernel, library, wanted);
        last_kernel = *kernel;
        return result;
    }
};
CUresult (*GetKernelTag::real)(CUkernel*, CUlibrary, const char*) = nullptr;

#define EGPU_TAG(function, prototype)                  \
    struct Tag_##function {                            \
        static constexpr const char* name = #function; \
    };
EGPU_RUNTIME_DRIVER_FUNCTIONS(EGPU_TAG)

const Function kFunctions[] = {
    {GetKernelTag::name, reinterpret_cast<void*>(&GetKernelTag::call), reinterpret_cast<void**>(&GetKernelTag::real)},
#define EGPU_ROW(function, prototype)                                                             \
    {#function, reinterpret_cast<void*>(&Recorded<Tag_##function, decltype(&::prototype)>::call), \
     reinterpret_cast<void**>(&Recorded<Tag_##function, decltype(&::prototype)>::real)},
    EGPU_RUNTIME_DRIVER_FUNCTIONS(EGPU_ROW)};

}  // namespace

CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
    const auto real = reinterpret_cast<decltype(&cuGetProcAddress_v2)>(driver_symbol("cuGetProcAddress_v2"));
    if (real == nullptr) {
        return CUDA_ERROR_NOT_FOUND;
    }
    const CUresult result = real(symbol, pfn, version, flags, status);
    for (const Function& one : kFunctions) {
        if (result == CUDA_SUCCESS && std::strcmp(one.name, symbol) == 0) {
            *one.real = *pfn;
            *pfn = one.wrapper;
            break;
        }
    }
    return result;
}
