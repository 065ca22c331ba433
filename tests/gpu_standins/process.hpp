// SPDX-License-Identifier: Apache-2.0
// Runs a program to its end with variables added to the environment, and keeps what it wrote.
#pragma once

#include <map>
#include <string>
#include <vector>

struct ProcessResult {
    int exit_code = -1;  ///< -1: ended by a signal
    int signal = 0;
    std::string output;  ///< stdout
    std::string errors;  ///< stderr
};

ProcessResult run_process(const std::vector<std::string>& command,
                          const std::map<std::string, std::string>& environment);

/// LD_PRELOAD of both stand-ins of this build.
std::map<std::string, std::string> stand_ins();
