// SPDX-License-Identifier: Apache-2.0
#include "gpu/launch/gpu.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "gpu/cuda/driver.hpp"

namespace egpu::launch {
namespace {

using std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(10);
constexpr std::size_t kLogBytes = 8192;

}  // namespace

struct Gpu::State {
    cuda::Driver driver;
    CUdevice device = 0;
    CUcontext context = nullptr;
    std::string name;
    std::uint32_t architecture = 0;
    bool is_busy = false;  ///< with a kernel that hasn't ended in time

    Status check(CUresult result, const char* call) const {
        if (result == CUDA_SUCCESS)
            return ok();
        return error("EGPU-G003", fmt::format("{}: {}", call, driver.name_of(result)));
    }
    Status start();
    Status renew();
    Status wait();
    Status prepare(KernelRun& kernel, CUmodule module, std::vector<CUdeviceptr>& addresses);
    Status execute(KernelRun& kernel, CUmodule module, std::vector<CUdeviceptr>& addresses);
    Result<CUmodule> load(const KernelRun& kernel);
};

Status Gpu::State::start() {
    std::array<char, 256> text{};
    int major = 0, minor = 0;
    CUresult result = driver.device_get(&device, 0);
    if (result == CUDA_SUCCESS)
        result = driver.device_get_name(text.data(), static_cast<int>(text.size()) - 1, device);
    if (result == CUDA_SUCCESS)
        result = driver.device_get_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    if (result == CUDA_SUCCESS)
        result = driver.device_get_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    if (result == CUDA_SUCCESS)
        result = driver.primary_context_retain(&context, device);
    if (result == CUDA_SUCCESS)
        result = driver.context_set_current(context);
    if (result != CUDA_SUCCESS)
        return error("EGPU-G002", fmt::format("the first device does not start: {}", driver.name_of(result)));
    name = text.data();
    architecture = static_cast<std::uint32_t>(major * 10 + minor);
    return ok();
}

/// After an error that stays with the context.
Status Gpu::State::renew() {
    driver.primary_context_release(device);
    driver.primary_context_reset(device);
    if (auto retained = check(driver.primary_context_retain(&context, device), "cuDevicePrimaryCtxRetain"); !retained)
        return retained;
    return check(driver.context_set_current(context), "cuCtxSetCurrent");
}

Result<CUmodule> Gpu::State::load(const KernelRun& kernel) {
    std::string log(kLogBytes, '\0');
    std::array<CUjit_option, 2> options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(std::uintptr_t{kLogBytes})};
    CUmodule module = nullptr;
    const CUresult result = driver.module_load(&module, kernel.ptx.c_str(), static_cast<unsigned>(options.size()),
                                               options.data(), values.data());
    if (result == CUDA_SUCCESS)
        return module;
    return error("EGPU-G003", fmt::format("cuModuleLoadDataEx: {}\n{}", driver.name_of(result), log.c_str()));
}

Status Gpu::State::prepare(KernelRun& kernel, CUmodule module, std::vector<CUdeviceptr>& addresses) {
    for (const auto& buffer : kernel.buffers) {
        CUdeviceptr address = 0;
        if (auto made = check(driver.memory_allocate(&address, std::max<std::size_t>(buffer.size(), 1)), "cuMemAlloc");
            !made)
            return made;
        addresses.push_back(address);
        if (buffer.empty())
            continue;
        if (auto copied = check(driver.copy_to_device(address, buffer.data(), buffer.size()), "cuMemcpyHtoD"); !copied)
            return copied;
    }
    if (kernel.words.empty())
        return ok();
    std::vector<std::uint64_t> words;
    for (const auto& word : kernel.words)
        words.push_back(addresses.at(word.buffer) + word.offset);
    CUdeviceptr table = 0;
    std::size_t bytes = 0;
    if (auto found = check(driver.module_get_global(&table, &bytes, module, kernel.table.c_str()), "cuModuleGetGlobal");
        !found)
        return found;
    if (bytes < words.size() * sizeof words[0])
        return error("EGPU-G003", fmt::format("{} has {} bytes, fewer than are to be written", kernel.table, bytes));
    return check(driver.copy_to_device(table, words.data(), words.size() * sizeof words[0]), "cuMemcpyHtoD");
}

Status Gpu::State::wait() {
    const auto begin = steady_clock::now();
    for (;;) {
        const CUresult result = driver.stream_query(nullptr);
        if (result != CUDA_ERROR_NOT_READY)
            return check(result, "the kernel");
        if (steady_clock::now() - begin > kPatience)
            break;
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    is_busy = true;
    return error("EGPU-G004", "the kernel did not end within 10 s");
}

Status Gpu::State::execute(KernelRun& kernel, CUmodule module, std::vector<CUdeviceptr>& addresses) {
    if (auto prepared = prepare(kernel, module, addresses); !prepared)
        return prepared;
    CUfunction function = nullptr;
    if (auto found = check(driver.module_get_function(&function, module, kernel.entry.c_str()), "cuModuleGetFunction");
        !found)
        return found;
    if (auto launched =
            check(driver.launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), "cuLaunchKernel");
        !launched)
        return launched;
    if (auto ended = wait(); !ended)
        return ended;
    for (std::size_t i = 0; i < kernel.buffers.size(); ++i) {
        auto& buffer = kernel.buffers[i];
        if (auto copied =
                check(buffer.empty() ? CUDA_SUCCESS : driver.copy_to_host(buffer.data(), addresses[i], buffer.size()),
                      "cuMemcpyDtoH");
            !copied)
            return copied;
    }
    return ok();
}

Result<Gpu> Gpu::open(const std::string& library) {
    auto driver = cuda::load_driver(library);
    if (!driver)
        return driver.errors();
    auto state = std::make_unique<State>();
    state->driver = *driver;
    if (auto started = state->start(); !started)
        return started.errors();
    return Gpu(std::move(state));
}

Gpu::Gpu(std::unique_ptr<State> state) : state_(std::move(state)) {}
Gpu::Gpu(Gpu&&) noexcept = default;
Gpu& Gpu::operator=(Gpu&&) noexcept = default;

Gpu::~Gpu() {
    // A busy device would not let go; the driver ends with the process.
    if (state_ != nullptr && !state_->is_busy)
        state_->driver.primary_context_release(state_->device);
}

const std::string& Gpu::name() const {
    return state_->name;
}

std::uint32_t Gpu::architecture() const {
    return state_->architecture;
}

Status Gpu::run(KernelRun& kernel) {
    if (state_->is_busy)
        return error("EGPU-G004", "an earlier kernel still runs");
    const auto module = state_->load(kernel);
    if (!module)
        return module.errors();
    std::vector<CUdeviceptr> addresses;
    auto done = state_->execute(kernel, *module, addresses);
    if (state_->is_busy)
        return done;
    for (const CUdeviceptr address : addresses)
        state_->driver.memory_free(address);
    state_->driver.module_unload(*module);
    if (!done) {
        if (auto renewed = state_->renew(); !renewed)
            return renewed;
    }
    return done;
}

}  // namespace egpu::launch
