// SPDX-License-Identifier: Apache-2.0
// The one state of the process, threads' stacks of contexts, and what goes when a context goes.
#include "gpu/simulated/libcuda/driver.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/diagnostic.hpp"

namespace egpu::simulated {

namespace {

std::atomic<bool> is_initialised{false};
std::atomic<bool> is_child{false};  ///< forked from a process that had called cuInit

/// A thread's contexts, innermost last. On the heap behind a plain pointer: it must outlive thread-local destructors,
/// after which static destructors still call the driver.
struct ThreadState {
    std::array<DriverContext*, 256> stack{};
    std::size_t depth = 0;
    bool in_host_function = false;
};

thread_local ThreadState* thread_state_pointer = nullptr;
pthread_key_t thread_key;

ThreadState& thread_state() {
    if (thread_state_pointer == nullptr) {
        static const bool made = [] {
            return pthread_key_create(&thread_key, [](void* state) {
                       delete static_cast<ThreadState*>(state);
                       thread_state_pointer = nullptr;
                   }) == 0;
        }();
        thread_state_pointer = new ThreadState;
        if (made) {
            pthread_setspecific(thread_key, thread_state_pointer);
        }
    }
    return *thread_state_pointer;
}

}  // namespace

Driver& driver() {
    static Driver* const state = new Driver;
    return *state;
}

bool initialised() {
    return is_initialised.load(std::memory_order_acquire);
}

CUresult initialise() {
    static const bool registered = [] {
        // After a fork the child has our memory but none of our threads and any of our locks.
        pthread_atfork(nullptr, nullptr, [] {
            is_child = is_child || is_initialised;
            is_initialised = false;
        });
        return true;
    }();
    if (!registered || is_child) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    driver();
    is_initialised.store(true, std::memory_order_release);
    return CUDA_SUCCESS;
}

void report(std::string_view text) {
    // Every line that egpu writes to a program's stderr begins with its name.
    std::string lines;
    std::string_view prefix = "egpu: simulated GPU: ";
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        if (end > 0) {
            lines.append(prefix).append(text.substr(0, end)).append("\n");
            prefix = "egpu:   ";
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    std::string_view rest = lines;
    while (!rest.empty()) {
        const ssize_t written = write(STDERR_FILENO, rest.data(), rest.size());
        if (written <= 0) {
            return;
        }
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
}

void report(const Diagnostic& diagnostic) {
    report(std::string_view(to_text(diagnostic)));
}

std::shared_ptr<DriverContext> make_context(unsigned flags, int device) {
    Driver& state = driver();
    auto context = std::make_shared<DriverContext>();
    context->id = state.next_id++;
    context->flags = flags;
    context->device = device;
    context->limits[CU_LIMIT_STACK_SIZE] = 1024;
    context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = std::size_t{1} << 20;
    context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = std::size_t{8} << 20;
    context->limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
    context->limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
    context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
    context->legacy_stream.context = context.get();
    context->legacy_stream.legacy = true;
    context->legacy_stream.id = state.next_id++;
    state.contexts.add(context);
    return context;
}

void clear_context(DriverContext& context) {
    Driver& state = driver();
    const auto belongs = [&context](const auto& object) { return object.context == &context; };
    state.functions.remove_if([&context](const Function& one) { return one.module->context == &context; });
    for (const std::shared_ptr<Library>& library : state.libraries.select([](const Library&) { return true; })) {
        std::shared_ptr<LoadedModule> gone;
        const std::lock_guard lock(library->mutex);
        if (const auto found = library->modules.find(&context); found != library->modules.end()) {
            gone = std::move(found->second);
            library->modules.erase(found);
        }
    }
    state.modules.remove_if(belongs);
    state.streams.remove_if(belongs);
    state.events.remove_if(belongs);
    clear_images(context, state);
    const std::lock_guard lock(state.owned_mutex);
    for (auto one = state.owned.begin(); one != state.owned.end();) {
        if (one->second.context != &context) {
            ++one;
            continue;
        }
        if (one->second.origin == Origin::device) {
            (void)state.memory.release(one->first);
        } else {
            // Host memory itself is left: the application may still look at it.
            (void)state.memory.unmap_host(reinterpret_cast<void*>(one->first));
        }
        one = state.owned.erase(one);
    }
}

bool push_context(DriverContext* context) {
    ThreadState& thread = thread_state();
    if (thread.depth == thread.stack.size()) {
        return false;
    }
    thread.stack[thread.depth++] = context;
    return true;
}

DriverContext* pop_context() {
    ThreadState& thread = thread_state();
    return thread.depth == 0 ? nullptr : thread.stack[--thread.depth];
}

DriverContext* top_context() {
    const ThreadState& thread = thread_state();
    return thread.depth == 0 ? nullptr : thread.stack[thread.depth - 1];
}

void replace_context(DriverContext* context) {
    ThreadState& thread = thread_state();
    if (context == nullptr) {
        thread.depth -= thread.depth > 0 ? 1 : 0;
    } else if (thread.depth == 0) {
        thread.stack[thread.depth++] = context;
    } else {
        thread.stack[thread.depth - 1] = context;
    }
}

CurrentContext current_context() {
    DriverContext* const top = top_context();
    if (top == nullptr) {
        return {nullptr, CUDA_ERROR_INVALID_CONTEXT};
    }
    std::shared_ptr<DriverContext> context = driver().contexts.find(top);
    if (context == nullptr || !context->alive) {
        return {nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED};
    }
    return {std::move(context), CUDA_SUCCESS};
}

CurrentContext context_of(CUcontext handle) {
    if (handle == nullptr) {
        return current_context();
    }
    std::shared_ptr<DriverContext> context = driver().contexts.find(handle);
    if (context == nullptr || !context->alive) {
        return {nullptr, CUDA_ERROR_INVALID_CONTEXT};
    }
    return {std::move(context), CUDA_SUCCESS};
}

bool& in_host_function() {
    return thread_state().in_host_function;
}

}  // namespace egpu::simulated
