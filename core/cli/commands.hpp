// SPDX-License-Identifier: Apache-2.0
// The commands of egpu, one file each. Each adds itself to the command line and sets *exit_code when it has run.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace egpu::cli {

/// `program`: what stands behind "--" on the command line.
void add_run(CLI::App& app, const std::vector<std::string>& program, int* exit_code);
void add_demo(CLI::App& app, int* exit_code);
void add_kernels(CLI::App& app, const std::vector<std::string>& program, int* exit_code);
void add_probe(CLI::App& app, int* exit_code);
/// The commands of `egpu probe` that change a session.
void add_probe_changes(CLI::App& probe_command, int* exit_code);
void add_session(CLI::App& app, int* exit_code);
void add_top(CLI::App& app, int* exit_code);
void add_map(CLI::App& app, int* exit_code);
void add_probeset(CLI::App& app, int* exit_code);
void add_check(CLI::App& app, int* exit_code);
/// `egpu plugin` with its commands.
void add_plugin(CLI::App& app, int* exit_code);
/// What tries a plugin's code in a process of its own; hidden.
void add_plugin_trial(CLI::App& app);
void add_doctor(CLI::App& app, int* exit_code);
void add_inject(CLI::App& app, int* exit_code);
void add_conformance(CLI::App& app, int* exit_code);
/// Becomes egpu-ui, the program beside this one.
void add_ui(CLI::App& app, int* exit_code);

}  // namespace egpu::cli
