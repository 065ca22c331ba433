// SPDX-License-Identifier: Apache-2.0
// cuCtx* and the primary context.
#include "gpu/simulated/libcuda/driver.hpp"
#include "gpu/simulated/libcuda/streams.hpp"

using namespace egpu::simulated;

namespace {

CUcontext handle_of(DriverContext* context) {
    return reinterpret_cast<CUcontext>(context);
}

/// The primary context is one object for the life of the process: handles of it stay the same over resets.
PrimaryContext& primary_context(Driver& state, CUdevice device) {
    PrimaryContext& primary = state.primaries[static_cast<std::size_t>(device)];
    if (primary.context == nullptr) {
        primary.context = make_context(0, device);
        primary.context->primary = true;
        primary.context->alive = false;
    }
    return primary;
}

template <typename Body>
CUresult with_primary(CUdevice device, const Body& body) {
    return entry([&](Driver& state) -> CUresult {
        if (!is_device(device)) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        const std::lock_guard lock(state.primary_mutex);
        PrimaryContext& primary = primary_context(state, device);
        return body(primary, *primary.context);
    });
}

/// Nothing of a context survives this; it can be used anew.
void reset(DriverContext& context) {
    { const StreamOrder order(find_stream(nullptr, DefaultStream::legacy, context)); }
    forget_context(context, driver());
    clear_context(context);
    context.sticky = CUDA_SUCCESS;
}

CUresult release_primary(CUdevice device) {
    return with_primary(device, [](PrimaryContext& primary, DriverContext& context) -> CUresult {
        if (primary.references == 0) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        if (--primary.references == 0) {
            reset(context);
            context.alive = false;
        }
        return CUDA_SUCCESS;
    });
}

CUresult reset_primary(CUdevice device) {
    return with_primary(device, [](PrimaryContext&, DriverContext& context) -> CUresult {
        reset(context);
        return CUDA_SUCCESS;
    });
}

CUresult set_primary_flags(CUdevice device, unsigned flags) {
    return with_primary(device, [&](PrimaryContext&, DriverContext& context) -> CUresult {
        if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        context.flags = flags;
        return CUDA_SUCCESS;
    });
}

CUresult create(CUcontext* handle, unsigned flags, CUdevice device) {
    return entry([&](Driver&) -> CUresult {
        if (handle == nullptr || (flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        if (!is_device(device)) {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        const std::shared_ptr<DriverContext> context = make_context(flags, device);
        if (!push_context(context.get())) {
            driver().contexts.remove(context.get());
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        *handle = handle_of(context.get());
        return CUDA_SUCCESS;
    });
}

CUresult destroy(CUcontext handle) {
    return entry([&](Driver& state) -> CUresult {
        const std::shared_ptr<DriverContext> context = state.contexts.find(handle);
        if (context == nullptr || context->primary) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        reset(*context);
        context->alive = false;
        state.contexts.remove(handle);
        if (top_context() == context.get()) {
            pop_context();
        }
        return CUDA_SUCCESS;
    });
}

CUresult push(CUcontext handle) {
    return entry([&](Driver& state) -> CUresult {
        const std::shared_ptr<DriverContext> context = state.contexts.find(handle);
        if (context == nullptr) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        return push_context(context.get()) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
}

CUresult pop(CUcontext* handle) {
    return entry([&](Driver&) -> CUresult {
        DriverContext* const context = pop_context();
        if (context == nullptr) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        if (handle != nullptr) {
            *handle = handle_of(context);
        }
        return CUDA_SUCCESS;
    });
}

/// Waits for every operation of a context; its sticky error, if any.
CUresult synchronize(CUcontext handle) {
    return entry([&](Driver& state) -> CUresult {
        const CurrentContext found = context_of(handle);
        if (found.error != CUDA_SUCCESS) {
            return found.error;
        }
        DriverContext& context = *found.context;
        if (const CUresult error = check_context_wait(state, context); error != CUDA_SUCCESS) {
            return error;
        }
        { const StreamOrder order(find_stream(nullptr, DefaultStream::legacy, context)); }
        const auto beside = [&](const Stream& one) { return one.context == &context && !one.blocking(); };
        for (const std::shared_ptr<Stream>& stream : state.streams.select(beside)) {
            const StreamOrder order(stream);
        }
        return context.sticky;
    });
}

bool known(CUlimit limit) {
    return limit >= CU_LIMIT_STACK_SIZE && limit <= CU_LIMIT_MAX_L2_FETCH_GRANULARITY;
}

}  // namespace

CUresult cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice device) {
    return with_primary(device, [&](PrimaryContext& primary, DriverContext& context) -> CUresult {
        if (handle == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        ++primary.references;
        context.alive = true;
        *handle = handle_of(&context);
        return CUDA_SUCCESS;
    });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    return release_primary(device);
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    return release_primary(device);
}
CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    return reset_primary(device);
}
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    return reset_primary(device);
}
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
    return set_primary_flags(device, flags);
}
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
    return set_primary_flags(device, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
    return with_primary(device, [&](PrimaryContext&, DriverContext& context) -> CUresult {
        if (flags == nullptr || active == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *flags = context.flags;
        *active = context.alive ? 1 : 0;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxCreate_v2(CUcontext* handle, unsigned flags, CUdevice device) {
    return create(handle, flags, device);
}

CUresult cuCtxCreate_v3(CUcontext* handle, CUexecAffinityParam*, int count, unsigned flags, CUdevice device) {
    return count != 0 ? CUDA_ERROR_NOT_SUPPORTED : create(handle, flags, device);
}

CUresult cuCtxCreate_v4(CUcontext* handle, CUctxCreateParams* parameters, unsigned flags, CUdevice device) {
    const bool plain =
        parameters == nullptr || (parameters->numExecAffinityParams == 0 && parameters->cigParams == nullptr);
    return plain ? create(handle, flags, device) : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuCtxDestroy(CUcontext handle) {
    return destroy(handle);
}
CUresult cuCtxDestroy_v2(CUcontext handle) {
    return destroy(handle);
}
CUresult cuCtxPushCurrent(CUcontext handle) {
    return push(handle);
}
CUresult cuCtxPushCurrent_v2(CUcontext handle) {
    return push(handle);
}
CUresult cuCtxPopCurrent(CUcontext* handle) {
    return pop(handle);
}
CUresult cuCtxPopCurrent_v2(CUcontext* handle) {
    return pop(handle);
}

CUresult cuCtxSetCurrent(CUcontext handle) {
    return entry([&](Driver& state) -> CUresult {
        const std::shared_ptr<DriverContext> context = handle == nullptr ? nullptr : state.contexts.find(handle);
        if (handle != nullptr && context == nullptr) {
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        replace_context(context.get());
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetCurrent(CUcontext* handle) {
    return entry([&](Driver&) -> CUresult {
        if (handle == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *handle = handle_of(top_context());
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetDevice(CUdevice* device) {
    return cuCtxGetDevice_v2(device, nullptr);
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext handle) {
    return entry([&](Driver&) -> CUresult {
        if (device == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const CurrentContext found = context_of(handle);
        if (found.error == CUDA_SUCCESS) {
            *device = found.context->device;
        }
        return found.error;
    });
}

CUresult cuCtxGetFlags(unsigned* flags) {
    return entry_in_context([&](Driver&, DriverContext& context) -> CUresult {
        if (flags == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *flags = context.flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSetFlags(unsigned flags) {
    return entry_in_context([&](Driver&, DriverContext& context) -> CUresult {
        if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        context.flags = flags;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
    return entry([&](Driver&) -> CUresult {
        if (id == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const CurrentContext found = context_of(handle);
        if (found.error == CUDA_SUCCESS) {
            *id = found.context->id;
        }
        return found.error;
    });
}

CUresult cuCtxSynchronize() {
    return synchronize(nullptr);
}
CUresult cuCtxSynchronize_v2(CUcontext handle) {
    return synchronize(handle);
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned* version) {
    return entry([&](Driver&) -> CUresult {
        if (version == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        const CurrentContext found = context_of(handle);
        if (found.error == CUDA_SUCCESS) {
            *version = 3020;  // of contexts made by cuCtxCreate_v2 and later
        }
        return found.error;
    });
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
    return entry_in_context([&](Driver&, DriverContext& context) -> CUresult {
        if (value == nullptr || !known(limit)) {
            return value == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_UNSUPPORTED_LIMIT;
        }
        *value = context.limits[limit];
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
    return entry_that_waits([&](Driver&, DriverContext& context) -> CUresult {
        if (!known(limit)) {
            return CUDA_ERROR_UNSUPPORTED_LIMIT;
        }
        context.limits[limit] = value;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
    return entry_in_context([&](Driver&, DriverContext& context) -> CUresult {
        if (config == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        *config = context.cache;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
    return entry_in_context([&](Driver&, DriverContext& context) -> CUresult {
        if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        context.cache = config;
        return CUDA_SUCCESS;
    });
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    return entry_in_context([&](Driver&, DriverContext&) -> CUresult {
        if (least != nullptr) {
            *least = 0;
        }
        if (greatest != nullptr) {
            *greatest = -5;
        }
        return CUDA_SUCCESS;
    });
}
