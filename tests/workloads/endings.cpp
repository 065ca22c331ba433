// SPDX-License-Identifier: Apache-2.0
// Ways for a CUDA program to end, one a run: for tests of what observes it. Prints "launched" after its first launch.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "driver_api.hpp"
#include "ptx.hpp"
#include "workload.hpp"

using namespace workload;

namespace {

constexpr unsigned kElements = 1024;
constexpr const char* kStep = "_Z9loop_stepPjj";

/// One context, module and array for the life of the process: nothing is given back, whatever the end is.
struct Program {
    CUfunction step = nullptr;
    DeviceArray<unsigned>* values = nullptr;

    void start() {
        new Session;
        const auto* const module = new Module(ptx_loop);
        step = module->function(kStep);
        values = new DeviceArray<unsigned>(kElements);
        values->zero();
    }
    void launch_once() {
        unsigned n = kElements;
        const std::array<void*, 2> parameters{&values->address(), &n};
        launch(step, blocks_for(kElements, 256), 256, parameters);
        synchronize();
    }
    bool has(unsigned launches) const {
        for (const unsigned value : values->read()) {
            if (value != launches) {
                return false;
            }
        }
        return true;
    }
};

Program& program() {
    static Program* const the_program = new Program;
    return *the_program;
}

void say(const char* text) {
    std::printf("%s\n", text);
    std::fflush(stdout);
}

/// Launches after main has returned.
struct LateLauncher {
    bool armed = false;
    ~LateLauncher() {
        if (armed) {
            try {
                program().launch_once();
                say(program().has(2) ? "launched from a static destructor" : "wrong result in a static destructor");
            } catch (const Failure& error) {
                // NVIDIA's driver is closed by its own exit handler before this.
                std::printf("a static destructor: %s\n", error.what());
            }
        }
    }
};
LateLauncher late_launcher;

/// The child must get an error from the driver, never a crash; the parent goes on.
int fork_after_start() {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const unsigned zero = 0;
        const CUresult result = Api::get().cuMemcpyHtoD_v2(program().values->address(), &zero, sizeof zero);
        _exit(result == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    program().launch_once();
    say(program().has(2) ? "parent ok" : "parent wrong");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

/// A child that was forked before anything of CUDA happened may use it, and so may the parent.
int fork_before_start() {
    std::fflush(stdout);
    const pid_t child = fork();
    program().start();
    program().launch_once();
    if (child == 0) {
        _exit(program().has(1) ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    say(program().has(1) ? "launched" : "wrong");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

/// A kernel that writes to the lowest addresses, which belong to nobody (those behind an array may be mapped): the
/// error of the context is the result.
int fault() {
    unsigned n = kElements;
    CUdeviceptr nowhere = 256;
    const std::array<void*, 2> parameters{&nowhere, &n};
    const Api& api = Api::get();
    launch(program().step, blocks_for(n, 256), 256, parameters);
    const CUresult first = api.cuCtxSynchronize();
    const CUresult second = api.cuMemsetD32_v2(program().values->address(), 0, 1);
    const char* name = nullptr;
    api.cuGetErrorName(first, &name);
    say(name != nullptr ? name : "no error");
    if (second != first) {
        std::fprintf(stderr, "egpu-endings: the error of the next call is %d\n", static_cast<int>(second));
    }
    return first == CUDA_ERROR_ILLEGAL_ADDRESS && second == first ? 0 : 1;
}

int end_by(std::string_view way) {
    if (way == "fork-before") {
        return fork_before_start();
    }
    program().start();
    program().launch_once();
    say("launched");
    if (way == "return") {
        return 0;
    }
    if (way == "exit") {
        std::exit(3);
    }
    if (way == "_exit") {
        _exit(4);
    }
    if (way == "quick_exit") {
        std::quick_exit(5);
    }
    if (way == "abort") {
        std::abort();
    }
    if (way == "signal") {
        raise(SIGTERM);
    }
    if (way == "kill") {
        raise(SIGKILL);
    }
    if (way == "exec") {
        execl("/bin/echo", "echo", "executed", static_cast<char*>(nullptr));
        return 1;
    }
    if (way == "fork") {
        return fork_after_start();
    }
    if (way == "static-destructor") {
        late_launcher.armed = true;
        return 0;
    }
    if (way == "fault") {
        return fault();
    }
    std::fprintf(stderr,
                 "usage: egpu-endings return|exit|_exit|quick_exit|abort|signal|kill|exec|fork|fork-before|"
                 "static-destructor|fault\n");
    return 2;
}

}  // namespace

int main(int count, char** words) {
    try {
        return end_by(count == 2 ? words[1] : "");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "egpu-endings: %s\n", error.what());
        return 1;
    }
}
