// SPDX-License-Identifier: Apache-2.0
// Starting programs and reading what they write, by files so that no pipe can fill up.
#include "process.hpp"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace {

std::string temporary_file() {
    char name[] = "/tmp/egpu-test-XXXXXX";
    const int descriptor = mkstemp(name);
    if (descriptor >= 0) {
        close(descriptor);
    }
    return name;
}

std::string take_text(const std::string& path) {
    std::ostringstream text;
    {
        std::ifstream file(path, std::ios::binary);
        text << file.rdbuf();
    }
    unlink(path.c_str());
    return text.str();
}

[[noreturn]] void become(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment,
                         const std::string& output, const std::string& errors) {
    for (const auto& [name, value] : environment) {
        setenv(name.c_str(), value.c_str(), 1);
    }
    if (std::freopen(output.c_str(), "w", stdout) == nullptr || std::freopen(errors.c_str(), "w", stderr) == nullptr) {
        _exit(126);
    }
    std::vector<char*> words;
    for (const std::string& word : command) {
        words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(127);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command,
                          const std::map<std::string, std::string>& environment) {
    const std::string output = temporary_file();
    const std::string errors = temporary_file();
    const pid_t child = fork();
    if (child == 0) {
        become(command, environment, output, errors);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ProcessResult result;
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    result.output = take_text(output);
    result.errors = take_text(errors);
    return result;
}

std::map<std::string, std::string> stand_ins() {
    const std::string folder = std::string(EGPU_BINARY_DIR) + "/lib/egpu/simulated/";
    const std::string both = folder + "libcudart.so.13:" + folder + "libcuda.so.1";
#ifdef EGPU_ASAN_RUNTIME
    // Stand-ins built with AddressSanitizer in programs built without: the sanitizer has to come first.
    return {{"LD_PRELOAD", EGPU_ASAN_RUNTIME ":" + both}, {"ASAN_OPTIONS", "detect_leaks=0"}};
#else
    return {{"LD_PRELOAD", both}};
#endif
}
