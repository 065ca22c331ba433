// SPDX-License-Identifier: Apache-2.0
// Well where it is tried; in a run it ends egpu, or hinders it, in the way that ENDS_BY names.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <egpu/plugin.hpp>

#include "hello.bpf.h"

namespace {

const std::string way = std::getenv("ENDS_BY") != nullptr ? std::getenv("ENDS_BY") : "";

bool is_trial() {
    std::ifstream file("/proc/self/cmdline");
    std::string words;
    std::getline(file, words);
    return words.find("plugin-trial") != std::string::npos;
}

volatile int* volatile nowhere = nullptr;

void close_all() {
    for (int file = 0; file < 1024; ++file)
        ::close(file);
}

/// A process of its own that outlives this one by far; its number is in the file that FORK_IN names.
void fork_off() {
    if (const pid_t child = ::fork(); child != 0) {
        std::ofstream(std::getenv("FORK_IN")) << child << std::endl;
        return;
    }
    ::sleep(600);
    ::_exit(0);
}

const bool at_load = [] {
    if (way == "load" && !is_trial())
        ::_exit(0);
    return true;
}();

}  // namespace

class Bad : public egpu::Plugin {
    void on_snapshot(egpu::Host& host) override {
        if (host.kernels().empty() || done_)
            return;
        done_ = true;
        if (way == "exit")
            std::exit(0);
        if (way == "_exit")
            ::_exit(0);
        if (way == "crash")
            *nowhere = 0;  // a real one: signals that are sent are blocked here
        if (way == "print, abort")
            std::fputs("these words came before\n", stderr);
        if (way.ends_with("abort"))
            std::abort();
        if (way == "close stdout") {
            ::close(STDOUT_FILENO);
            ::close(STDERR_FILENO);
        }
        if (way == "kill")
            ::kill(::getpid(), SIGKILL);
        if (way == "pthread_exit")
            ::pthread_exit(nullptr);
        if (way == "fork" || way == "fork, close")
            fork_off();
        if (way == "close" || way == "fork, close")
            close_all();
        if (way == "stop")
            ::raise(SIGSTOP);
    }
    bool done_ = !at_load;
};
EGPU_PLUGIN(Bad, {.id = "ends-in-run", .version = "0.1.0", .object = hello_bpf, .object_end = hello_bpf_end});
