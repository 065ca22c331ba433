// SPDX-License-Identifier: Apache-2.0
// The application of the agent's tests: a CUDA program on the driver API, in the ways such programs get at it.
//   application WAY [LAUNCHES]
// Prints "originals N copies M" (what the mock driver ran) and, before it ends, "ok".
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "application.hpp"

using namespace application;

namespace {

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
    if (way == "per-thread" || way == "constants-per-thread")
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
    if (run_contexts(way, launches) || run_constants(way, launches) || run_overhead(way, launches))
        return finish();
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
