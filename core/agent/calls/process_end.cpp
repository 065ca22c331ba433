// SPDX-License-Identifier: Apache-2.0
// _exit, _Exit, quick_exit and the exec family. In forked and vforked children, and before the first cuInit, all of
// them only pass on. Between fork and exec a child may call nothing that locks, and a lookup does: the next functions
// are found when the library is loaded, which is all that happens then.
#include "agent/calls/process_end.hpp"

#include <alloca.h>
#include <unistd.h>

#include <cstdarg>

#include "agent/drain/drain.hpp"
#include "agent/hook/elf_symbol.hpp"
#include "agent/hook/entry.hpp"
#include "agent/session/session.hpp"

using namespace egpu::agent;

namespace egpu::agent {

void end_of_process(egpu_end_reason reason) {
    if (!counting() || !is_own_process())
        return;
    const bool complete = final_copies(nullptr);
    run_originals();
    if (complete)
        mark_drained(reason);
    remove_orphaned_segment();
}

}  // namespace egpu::agent

namespace {

using ExitNow = void (*)(int);
using ExecPath = int (*)(const char*, char* const*);
using ExecFile = int (*)(int, char* const*, char* const*);
using ExecAt = int (*)(int, const char*, char* const*, char* const*, int);
using ExecPathEnvironment = int (*)(const char*, char* const*, char* const*);

constinit ExitNow next_exit_now = nullptr;
constinit ExitNow next_quick_exit = nullptr;
constinit ExecPath next_execv = nullptr;
constinit ExecPath next_execvp = nullptr;
constinit ExecPathEnvironment next_execve = nullptr;
constinit ExecPathEnvironment next_execvpe = nullptr;
constinit ExecFile next_fexecve = nullptr;
constinit ExecAt next_execveat = nullptr;

// The next function of that name, found once; the C library's own where lookups fail.
template <typename Function>
Function next(Function* cache, const char* name) {
    Function found = __atomic_load_n(cache, __ATOMIC_ACQUIRE);
    if (found == nullptr) {
        void* symbol = next_function(name);
        found = reinterpret_cast<Function>(symbol != nullptr ? symbol : c_library_function(name));
        __atomic_store_n(cache, found, __ATOMIC_RELEASE);
    }
    return found;
}

__attribute__((constructor)) void find_next_functions() {
    next(&next_exit_now, "_exit");
    next(&next_quick_exit, "quick_exit");
    next(&next_execv, "execv");
    next(&next_execvp, "execvp");
    next(&next_execve, "execve");
    next(&next_execvpe, "execvpe");
    next(&next_fexecve, "fexecve");
    next(&next_execveat, "execveat");
}

// exec replaces the program, or fails and the application goes on: observed as before, the state says DRAINED.
void before_exec() {
    if (mode() == Mode::observing && is_own_process() && final_copies(nullptr))
        mark_drained(EGPU_END_EXEC);
}

std::size_t count_arguments(std::va_list list) {
    std::size_t count = 1;                        // the first one is named
    while (va_arg(list, const char*) != nullptr)  // NOLINT(clang-analyzer-valist.Uninitialized): the caller's va_copy
        ++count;
    return count;
}

}  // namespace

#define EGPU_EXPORT extern "C" __attribute__((visibility("default")))

EGPU_EXPORT void _exit(int status) {
    end_of_process(EGPU_END_UNDERSCORE_EXIT);
    next(&next_exit_now, "_exit")(status);
    __builtin_unreachable();
}

EGPU_EXPORT void _Exit(int status) noexcept {
    _exit(status);
}

EGPU_EXPORT void quick_exit(int status) noexcept {
    end_of_process(EGPU_END_UNDERSCORE_EXIT);
    next(&next_quick_exit, "quick_exit")(status);
    __builtin_unreachable();
}

EGPU_EXPORT int execve(const char* path, char* const* argv, char* const* environment) noexcept {
    before_exec();
    return next(&next_execve, "execve")(path, argv, environment);
}

EGPU_EXPORT int execv(const char* path, char* const* argv) noexcept {
    before_exec();
    return next(&next_execv, "execv")(path, argv);
}

EGPU_EXPORT int execvp(const char* file, char* const* argv) noexcept {
    before_exec();
    return next(&next_execvp, "execvp")(file, argv);
}

EGPU_EXPORT int execvpe(const char* file, char* const* argv, char* const* environment) noexcept {
    before_exec();
    return next(&next_execvpe, "execvpe")(file, argv, environment);
}

EGPU_EXPORT int fexecve(int file, char* const* argv, char* const* environment) noexcept {
    before_exec();
    return next(&next_fexecve, "fexecve")(file, argv, environment);
}

EGPU_EXPORT int execveat(int folder, const char* path, char* const* argv, char* const* environment,
                         int flags) noexcept {
    before_exec();
    return next(&next_execveat, "execveat")(folder, path, argv, environment, flags);
}

// The list forms become vectors on the stack, as the C library does it.
#define EGPU_COLLECT(first, argv, list)                                     \
    std::va_list list, counted;                                             \
    va_start(list, first);                                                  \
    va_copy(counted, list);                                                 \
    const std::size_t count = count_arguments(counted);                     \
    va_end(counted);                                                        \
    auto** argv = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
    argv[0] = const_cast<char*>(first);                                     \
    for (std::size_t i = 1; i < count; ++i)                                 \
        argv[i] = va_arg(list, char*);                                      \
    argv[count] = nullptr

EGPU_EXPORT int execl(const char* path, const char* first, ...) noexcept {
    EGPU_COLLECT(first, argv, list);
    va_end(list);
    return execv(path, argv);
}

EGPU_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
    EGPU_COLLECT(first, argv, list);
    va_end(list);
    return execvp(file, argv);
}

EGPU_EXPORT int execle(const char* path, const char* first, ...) noexcept {
    EGPU_COLLECT(first, argv, list);
    (void)va_arg(list, char*);  // the null that ends the arguments
    char* const* environment = va_arg(list, char* const*);
    va_end(list);
    return execve(path, argv, environment);
}
