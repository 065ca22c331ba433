// SPDX-License-Identifier: Apache-2.0
// egpu ui: the window, which is a program of its own beside this one (ui/README.md).
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/terminal.hpp"

namespace egpu::cli {
namespace {

std::string window_program() {
    std::error_code ignored;
    return (std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / "egpu-ui").string();
}

/// Becomes the window; comes back only where it can't.
int become_window(const std::vector<std::string>& arguments) {
    const std::string program = window_program();
    std::vector<std::string> words = {program};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (auto& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv(program.c_str(), pointers.data());
    if (errno == ENOENT)
        print_errors({error("EGPU-X083", fmt::format("the window is not installed: there is no {}", program),
                            "install egpu-ebpf-ui, or build egpu where Qt 6 is found (qt6-base-dev); in a terminal: "
                            "egpu top")});
    else
        print_errors({error("EGPU-X083", fmt::format("{} can't be run: {}", program, std::strerror(errno)))});
    return kEnvironment;
}

}  // namespace

void add_ui(CLI::App& app, int* exit_code) {
    auto* command = app.add_subcommand("ui", "Open the window: egpu ui [SESSION|FILE], egpu ui --demo");
    // What stands behind is the window's to read, its help too.
    command->set_help_flag();
    command->prefix_command();
    command->callback([command, exit_code] { *exit_code = become_window(command->remaining()); });
}

}  // namespace egpu::cli
