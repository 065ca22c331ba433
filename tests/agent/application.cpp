// SPDX-License-Identifier: Apache-2.0
// The application of the agent's tests: a CUDA program on the driver API, in the ways such programs get at it.
//   application WAY [LAUNCHES]
// Prints "originals N copies M" (what the mock driver ran) and, before it ends, "ok".
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "gpu/device/driver.h"

namespace {

const char kText[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n// mock-registers 36\n"
    ".visible .global .align 8 .u64 app_counter;\n"
    ".visible .entry work() { ret; }\n.visible .entry other() { ret; }\n";

using Resolve = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
using Resolve11 = CUresult (*)(const char*, void**, int, cuuint64_t);

void* library = nullptr;
Resolve resolve = nullptr;
Resolve11 resolve11 = nullptr;
cuuint64_t flags = CU_GET_PROC_ADDRESS_DEFAULT;

[[noreturn]] void fail(const char* what) {
    std::printf("failed: %s\n", what);
    std::fflush(stdout);
    std::_Exit(3);
}

void* address(const char* name, int version) {
    void* found = nullptr;
    const CUresult result =
        resolve != nullptr ? resolve(name, &found, version, flags, nullptr) : resolve11(name, &found, version, flags);
    if (result != CUDA_SUCCESS || found == nullptr)
        fail(name);
    return found;
}

#define CALL(name, version) (reinterpret_cast<decltype(&::name)>(address(#name, version)))
#define CALL_AS(name, export, version) (reinterpret_cast<decltype(&::export)>(address(#name, version)))

void check(CUresult result, const char* what) {
    if (result != CUDA_SUCCESS)
        fail(what);
}

void open_driver() {
    library = dlopen("libcuda.so.1", RTLD_LAZY);
    if (library == nullptr)
        fail(dlerror());
    resolve = reinterpret_cast<Resolve>(dlsym(library, "cuGetProcAddress_v2"));
    if (resolve == nullptr)
        fail("cuGetProcAddress_v2");
}

// A caller of CUDA 11: the 4-argument form has no status to write to; a fifth argument would be what the register
// holds.
void open_driver_of_cuda_11() {
    library = dlopen("libcuda.so.1", RTLD_LAZY);
    resolve11 = reinterpret_cast<Resolve11>(dlsym(library, "cuGetProcAddress"));
    void* through = nullptr;
    check(resolve11("cuGetProcAddress", &through, 11030, 0), "cuGetProcAddress of 11.3");
    if (through != reinterpret_cast<void*>(resolve11))
        fail("two forms of cuGetProcAddress 11.3");
    resolve11 = reinterpret_cast<Resolve11>(through);
}

CUcontext retain_and_set() {
    check(CALL(cuInit, 2000)(0), "cuInit");
    CUcontext context = nullptr;
    check(CALL(cuDevicePrimaryCtxRetain, 7000)(&context, 0), "retain");
    check(CALL(cuCtxSetCurrent, 4000)(context), "set current");
    return context;
}

CUfunction load_work() {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    check(CALL(cuModuleLoadData, 2000)(&module, kText), "load");
    check(CALL(cuModuleGetFunction, 2000)(&function, module, "work"), "function");
    return function;
}

CUfunction load_work_as_library() {
    CUlibrary loaded = nullptr;
    CUkernel kernel = nullptr;
    check(CALL(cuLibraryLoadData, 12000)(&loaded, kText, nullptr, nullptr, 0, nullptr, nullptr, 0), "library");
    check(CALL(cuLibraryGetKernel, 12000)(&kernel, loaded, "work"), "kernel");
    return reinterpret_cast<CUfunction>(kernel);
}

void launch(CUfunction function, int times, unsigned int threads = 128, CUstream stream = nullptr) {
    for (int i = 0; i < times; ++i)
        check(CALL(cuLaunchKernel, 7000)(function, 1, 1, 1, threads, 1, 1, 0, stream, nullptr, nullptr), "launch");
}

void synchronise() {
    check(CALL(cuCtxSynchronize, 2000)(), "synchronise");
}

void print_counts() {
    int originals = 0, copies = 0, not_relaxed = 0;
    const auto counts = reinterpret_cast<void (*)(int*, int*, int*)>(dlsym(library, "mock_counts"));
    if (counts != nullptr) {
        counts(&originals, &copies, &not_relaxed);
        std::printf("originals %d copies %d\n", originals, copies);
        if (not_relaxed != 0)
            fail("loads outside relaxed capture mode");
    }
}

int finish() {
    print_counts();
    std::puts("ok");
    std::fflush(stdout);
    return 0;
}

// A global object whose destructor still launches: it runs after the agent's last drain.
struct LastWish {
    CUfunction function = nullptr;
    ~LastWish() {
        if (function != nullptr)
            launch(function, 2);
    }
} last_wish;

void run_captured(CUfunction work, int times) {
    CUstream stream = nullptr;
    CUgraph graph = nullptr;
    check(CALL(cuStreamCreate, 2000)(&stream, 0), "stream");
    check(CALL_AS(cuStreamBeginCapture, cuStreamBeginCapture_v2, 11000)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
          "capture");
    launch(work, times, 128, stream);
    check(CALL(cuStreamEndCapture, 11000)(stream, &graph), "end capture");
}

// A child that neither may nor does use CUDA, and then goes on to exec or to _exit.
void run_fork(bool with_vfork) {
    const pid_t child = with_vfork ? vfork() : fork();
    if (child == 0) {
        if (with_vfork)
            execl("/bin/true", "true", static_cast<char*>(nullptr));
        _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail("child");
}

// Every way after the launches; false where the way is unknown.
bool end_in(const std::string& way) {
    if (way == "_exit")
        _exit(finish());
    if (way == "_Exit")
        std::_Exit(finish());
    if (way == "quick_exit")
        std::quick_exit(finish());
    if (way == "abort") {
        finish();
        std::abort();
    }
    if (way == "execv") {
        finish();
        char name[] = "true";
        char* arguments[] = {name, nullptr};
        execv("/bin/true", arguments);
    }
    if (way == "execl") {
        finish();
        execl("/bin/sh", "sh", "-c", "exit 7", static_cast<char*>(nullptr));
    }
    if (way == "exec-fails") {
        execl("/no/such/program", "program", static_cast<char*>(nullptr));
        return true;
    }
    if (way == "reset")
        check(CALL_AS(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, 11000)(0), "reset");
    else if (way == "release")
        check(CALL_AS(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000)(0), "release");
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string way = argc > 1 ? argv[1] : "plain";
    const int launches = argc > 2 ? std::atoi(argv[2]) : 10;
    if (way == "cuda-11")
        open_driver_of_cuda_11();
    else
        open_driver();
    if (way == "per-thread")
        flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (way == "late-context") {
        // The library comes before any context: its copies have to wait for one.
        check(CALL(cuInit, 2000)(0), "cuInit");
        const CUfunction work = load_work_as_library();
        retain_and_set();
        launch(work, launches);
        synchronise();
        return finish();
    }
    retain_and_set();
    const CUfunction work = way == "library" ? load_work_as_library() : load_work();
    if (way == "static-destructor")
        last_wish.function = work;
    if (way == "captured")
        run_captured(work, launches);
    else
        launch(work, launches, way == "large-blocks" ? 1024 : 128);
    if (way == "fork" || way == "vfork")
        run_fork(way == "vfork");
    synchronise();
    if (way == "other-context") {
        CUcontext second = nullptr;
        check(CALL_AS(cuCtxCreate, cuCtxCreate_v2, 4000)(&second, 0, 0), "second context");
        launch(load_work(), launches);
    }
    if (way == "library-elsewhere") {
        CUcontext second = nullptr;
        const CUfunction kernel = load_work_as_library();
        launch(kernel, launches);
        check(CALL_AS(cuCtxCreate, cuCtxCreate_v2, 4000)(&second, 0, 0), "second context");
        launch(kernel, launches);
    }
    if (way == "unload") {
        CUmodule module = nullptr;
        CUfunction function = nullptr;
        check(CALL(cuModuleLoadData, 2000)(&module, kText), "load");
        check(CALL(cuModuleGetFunction, 2000)(&function, module, "work"), "function");
        launch(function, launches);
        check(CALL(cuModuleUnload, 2000)(module), "unload");
        launch(load_work(), launches);
    }
    if (way == "twice")  // the same image once more: new handles, the same kernels
        launch(load_work(), launches);
    for (int i = 0; way == "long" && i < 2000; ++i) {
        launch(work, 1);
        synchronise();
        usleep(5000);
        if (i == 0) {
            std::puts("running");
            std::fflush(stdout);
        }
    }
    if (way == "wait-for-input") {
        std::puts("running");
        std::fflush(stdout);
        (void)std::getchar();
        launch(work, launches);
    }
    end_in(way);
    return finish();
}
