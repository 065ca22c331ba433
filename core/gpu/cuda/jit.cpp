// SPDX-License-Identifier: Apache-2.0
// cuLinkCreate, cuLinkAddData, cuLinkComplete: unlike a module load these touch no context's lock and put nothing on
// the device. With a target given, no context is needed either; where a driver wants one all the same, it gets the
// primary context of the first device.
#include "gpu/cuda/jit.hpp"

#include <array>
#include <cstdint>

namespace egpu::cuda {
namespace {

constexpr std::size_t kLogBytes = std::size_t{1} << 20;

/// Options and their values, which the driver takes as two arrays. Numbers stand in the pointers themselves.
class Options {
public:
    void add(CUjit_option option, std::uintptr_t value) {
        options_.push_back(option);
        values_.push_back(reinterpret_cast<void*>(value));
    }
    void add(CUjit_option option, char* buffer) { add(option, reinterpret_cast<std::uintptr_t>(buffer)); }
    unsigned count() const { return static_cast<unsigned>(options_.size()); }
    CUjit_option* options() { return options_.data(); }
    void** values() { return values_.data(); }

private:
    std::vector<CUjit_option> options_;
    std::vector<void*> values_;
};

std::uintptr_t target_of(const JitRequest& request) {
    std::uintptr_t base = 0;
    if (request.suffix == 'a')
        base = CU_COMPUTE_ACCELERATED_TARGET_BASE;
    else if (request.suffix == 'f')
        base = CU_COMPUTE_FAMILY_TARGET_BASE;
    return base + request.architecture;
}

struct Logs {
    std::string info = std::string(kLogBytes, '\0'), errors = std::string(kLogBytes, '\0');
};

Options options_of(const JitRequest& request, Logs& logs) {
    Options options;
    options.add(CU_JIT_INFO_LOG_BUFFER, logs.info.data());
    options.add(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, kLogBytes);
    options.add(CU_JIT_ERROR_LOG_BUFFER, logs.errors.data());
    options.add(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, kLogBytes);
    options.add(CU_JIT_LOG_VERBOSE, 1);
    options.add(CU_JIT_TARGET, target_of(request));
    if (request.max_registers)
        options.add(CU_JIT_MAX_REGISTERS, *request.max_registers);
    if (request.optimisation_level)
        options.add(CU_JIT_OPTIMIZATION_LEVEL, *request.optimisation_level);
    if (request.load_cache)
        options.add(CU_JIT_CACHE_MODE, static_cast<std::uintptr_t>(*request.load_cache));
    if (request.line_info)
        options.add(CU_JIT_GENERATE_LINE_INFO, 1);
    return options;
}

CUresult make_current(const Driver& driver) {
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUresult result = driver.device_get(&device, 0);
    if (result == CUDA_SUCCESS)
        result = driver.primary_context_retain(&context, device);
    return result == CUDA_SUCCESS ? driver.context_set_current(context) : result;
}

}  // namespace

JitResult compile(const Driver& driver, const JitRequest& request) {
    JitResult done;
    Logs logs;
    Options options = options_of(request, logs);
    CUlinkState link = nullptr;
    const auto failed = [&](CUresult result, const char* call) {
        done.result = result;
        done.call = call;
        return result != CUDA_SUCCESS;
    };
    CUresult created = driver.link_create(options.count(), options.options(), options.values(), &link);
    if (created == CUDA_ERROR_INVALID_CONTEXT) {
        if (failed(make_current(driver), "cuDevicePrimaryCtxRetain"))
            return done;
        created = driver.link_create(options.count(), options.options(), options.values(), &link);
    }
    void* cubin = nullptr;
    std::size_t bytes = 0;
    std::string text = request.ptx;  // the driver takes it as writable, with its NUL
    if (!failed(created, "cuLinkCreate") &&
        !failed(
            driver.link_add_data(link, CU_JIT_INPUT_PTX, text.data(), text.size() + 1, "copy.ptx", 0, nullptr, nullptr),
            "cuLinkAddData") &&
        !failed(driver.link_complete(link, &cubin, &bytes), "cuLinkComplete")) {
        const auto* from = static_cast<const std::byte*>(cubin);
        done.cubin.assign(from, from + bytes);
    }
    if (link != nullptr)
        driver.link_destroy(link);
    done.info = logs.info.c_str();
    done.errors = logs.errors.c_str();
    return done;
}

}  // namespace egpu::cuda
