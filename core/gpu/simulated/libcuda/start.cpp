// SPDX-License-Identifier: Apache-2.0
// cuInit, versions, error texts, and cuGetProcAddress, which answers by requested version and by default stream.
#include <atomic>
#include <string_view>

#include "gpu/simulated/libcuda/driver.hpp"

using namespace egpu::simulated;

namespace {

struct EntryPoint {
    std::string_view name;
    int since;
    bool per_thread;
    void* function;
};

const EntryPoint kEntryPoints[] = {
#define PLAIN(name, since, function) {#name, since, false, reinterpret_cast<void*>(&function)},
#define PER_THREAD(name, since, function) {#name, since, true, reinterpret_cast<void*>(&function)},
#include "gpu/simulated/libcuda/entry_points.inc"
#undef PLAIN
#undef PER_THREAD
};

struct Lookup {
    void* function = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
};

/// The newest form that is not newer than `version`. A function without a per-thread form has one form for both.
Lookup look_up(std::string_view name, int version, bool per_thread) {
    Lookup found;
    int newest = 0;
    bool newest_per_thread = false;
    for (const EntryPoint& one : kEntryPoints) {
        if (one.name != name) {
            continue;
        }
        if (found.status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND) {
            found.status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        }
        if (one.since > version || (one.per_thread && !per_thread)) {
            continue;
        }
        const bool newer = one.since > newest || (one.since == newest && one.per_thread && !newest_per_thread);
        if (newer || found.function == nullptr) {
            found = {one.function, CU_GET_PROC_ADDRESS_SUCCESS};
            newest = one.since;
            newest_per_thread = one.per_thread;
        }
    }
    return found;
}

CUresult proc_address(const char* name, void** function, int version, cuuint64_t flags,
                      CUdriverProcAddressQueryResult* status) noexcept {
    constexpr cuuint64_t both = CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (name == nullptr || function == nullptr || (flags & ~both) != 0 || (flags & both) == both) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Lookup found = look_up(name, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
    *function = found.function;
    if (status != nullptr) {
        *status = found.status;
    }
    return found.function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

struct ErrorText {
    CUresult error;
    const char* name;
    const char* text;
};

constexpr ErrorText kErrors[] = {
#define ERROR(error, text) {error, #error, text},
#include "gpu/simulated/libcuda/error_texts.inc"
#undef ERROR
};

CUresult error_text(CUresult error, const char** text, const char* ErrorText::*member) noexcept {
    if (text == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (const ErrorText& one : kErrors) {
        if (one.error == error) {
            *text = one.*member;
            return CUDA_SUCCESS;
        }
    }
    *text = nullptr;
    return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult cuInit(unsigned flags) {
    if (flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    try {
        return initialise();
    } catch (...) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
}

CUresult cuDriverGetVersion(int* version) {
    if (version == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *version = EGPU_DRIVER_API_VERSION;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** text) {
    return error_text(error, text, &ErrorText::name);
}
CUresult cuGetErrorString(CUresult error, const char** text) {
    return error_text(error, text, &ErrorText::text);
}

/// The tables are private to NVIDIA's own libraries; there are none here.
CUresult cuGetExportTable(const void** table, const CUuuid* id) {
    if (table == nullptr || id == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) {
        report(std::string_view(
            "NVIDIA's CUDA runtime, or another library of theirs, asks for a private interface of NVIDIA's driver, "
            "which the simulated GPU has not got; a program with the runtime linked in statically runs here after "
            "nvcc -cudart shared"));
    }
    *table = nullptr;
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
    return proc_address(name, function, version, flags, nullptr);
}

CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
    return proc_address(name, function, version, flags, status);
}

// Ranges for profilers: there is none to tell, and that is no error on a GPU either.
CUresult cuProfilerStart() {
    return entry_in_context([](Driver&, DriverContext&) { return CUDA_SUCCESS; });
}
CUresult cuProfilerStop() {
    return entry_in_context([](Driver&, DriverContext&) { return CUDA_SUCCESS; });
}
